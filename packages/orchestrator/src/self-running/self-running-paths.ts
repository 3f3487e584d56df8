/**
 * Paths of files that can run code by themselves. The table names those that can whatever their content is; of others the content
 * has to be read. Pure.
 */
import { folded } from '../path-rules/folded-path.ts';
import { SELF_RUNNING_PATHS } from './self-running-table.ts';

/** Files of which only parts can run code by themselves, by their names. */
const FORMATS_BY_NAME = [
  'package.json',
  'composer.json',
  'deno.json',
  'deno.jsonc',
  'app.json',
  'pyproject.toml',
  'setup.cfg',
  'cargo.toml',
  'go.mod',
  'go.work',
  'gemfile',
  'gems.rb',
  'podfile',
  'mix.exs',
  'package.swift',
  'gradle.properties',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'composer.lock',
  'deno.lock',
  'pipfile.lock',
  'packages.lock.json',
  'package.resolved',
  'flake.lock',
  'conan.lock',
  'bun.lock',
  'cargo.lock',
  'poetry.lock',
  'pdm.lock',
  'uv.lock',
  'pipfile',
  'pnpm-lock.yaml',
  'yarn.lock',
  'gemfile.lock',
  'gems.locked',
  'mix.lock',
  'pubspec.lock',
  'podfile.lock',
  'go.sum',
  'bun.lockb',
] as const;
const KNOWN_NAMES: ReadonlySet<string> = new Set(FORMATS_BY_NAME);

/** The format of a file of which only parts can run code by themselves: its name, or a kind of files. */
export type PartlyRunningFormat = (typeof FORMATS_BY_NAME)[number] | '*.gemspec' | 'requirements';

/** `null` for a file that is not read for such parts. */
export function partlyRunningFormat(path: string): PartlyRunningFormat | null {
  const parts = folded(path).split('/');
  const name = parts.at(-1) ?? '';
  if (isKnown(name)) return name;
  if (name.endsWith('.gemspec')) return '*.gemspec';
  const isText = name.endsWith('.txt') || name.endsWith('.in') || name.endsWith('.pip');
  const isRequirements =
    name.includes('requirements') || name.startsWith('constraints') || parts.at(-2) === 'requirements';
  return isText && isRequirements ? 'requirements' : null;
}

function isKnown(name: string): name is (typeof FORMATS_BY_NAME)[number] {
  return KNOWN_NAMES.has(name);
}

/** The patterns of rows, ready to be asked for many paths. */
interface Patterns {
  /** Row by a file's name, or by a folder's. */
  readonly files: ReadonlyMap<string, number>;
  readonly folders: ReadonlyMap<string, number>;
  /** Those with `*`, or of more than one name. */
  readonly others: readonly {
    readonly names: readonly (readonly string[])[];
    readonly isFolder: boolean;
    readonly row: number;
  }[];
}

const TABLE = patternsOf(SELF_RUNNING_PATHS.map(({ patterns }) => patterns));

/** The table's word on a path, then the project's; `null` where neither has one. */
export function reasonsBy(more: readonly string[]): (path: string) => string | null {
  const own = patternsOf([more]);
  return (path) => {
    const parts = folded(path).split('/');
    const row = rowOf(TABLE, parts);
    if (row !== null) return SELF_RUNNING_PATHS[row]?.reason ?? null;
    return rowOf(own, parts) === null ? null : 'the project or the server wants to see it';
  };
}

function patternsOf(rows: readonly (readonly string[])[]): Patterns {
  const files = new Map<string, number>();
  const folders = new Map<string, number>();
  const others: Patterns['others'][number][] = [];
  for (const [row, patterns] of rows.entries()) {
    for (const pattern of patterns.map(folded)) {
      const isFolder = pattern.endsWith('/');
      const names = pattern.split('/').filter((name) => name !== '');
      const [first = ''] = names;
      const exact = isFolder ? folders : files;
      if (names.length !== 1 || first.includes('*'))
        others.push({ names: names.map((name) => name.split('*')), isFolder, row });
      else if (!exact.has(first)) exact.set(first, row);
    }
  }
  return { files, folders, others };
}

/** The first row that has a pattern for a path. */
function rowOf({ files, folders, others }: Patterns, parts: readonly string[]): number | null {
  const rows = [
    ...parts.slice(0, -1).map((part) => folders.get(part)),
    files.get(parts.at(-1) ?? ''),
    others.find((pattern) => isMatch(parts, pattern))?.row,
  ].filter((row) => row !== undefined);
  return rows.length === 0 ? null : Math.min(...rows);
}

function isMatch(parts: readonly string[], { names, isFolder }: Patterns['others'][number]): boolean {
  // Most patterns end here.
  if (!isFolder && !isName(parts.at(-1) ?? '', names.at(-1) ?? [])) return false;
  // A folder: some part above the last is it. A file: the last parts are it.
  const [from, last] = isFolder ? [names.length, parts.length - 1] : [parts.length, parts.length];
  for (let end = from; end <= last; end++) {
    if (end >= names.length && names.every((name, index) => isName(parts[end - names.length + index] ?? '', name)))
      return true;
  }
  return false;
}

/** A pattern by what stands between its `*`: the parts are looked for from left to right, so that time is linear. */
function isName(name: string, pattern: readonly string[]): boolean {
  const first = pattern[0] ?? '';
  if (pattern.length === 1) return name === first;
  if (!name.startsWith(first)) return false;
  const last = pattern.at(-1) ?? '';
  let at = first.length;
  for (const part of pattern.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - at >= last.length && name.endsWith(last);
}
