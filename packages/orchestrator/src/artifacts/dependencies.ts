/**
 * Which packages a result depends on that its base did not, read from lockfiles: what a person should see before a name that a
 * model made up, or misspelt, comes into their project. Pure, and no judge: it reads what package managers write.
 */
import type { NewDependency } from '@autonomous/shared';

/** Text of files by path; a file that is absent is not there. */
export type Files = ReadonlyMap<string, string>;

interface Package {
  readonly name: string;
  readonly version: string;
  readonly hasInstallScript?: boolean;
}

/** A person reads the list; what is beyond it is in the diff. */
const LISTED = 200;

const READERS: readonly (readonly [pattern: RegExp, read: (text: string) => readonly Package[]])[] = [
  [/(^|\/)(package-lock|npm-shrinkwrap)\.json$/, npmLock],
  [/(^|\/)pnpm-lock\.yaml$/, pnpmLock],
  [/(^|\/)yarn\.lock$/, yarnLock],
  [/(^|\/)bun\.lock$/, (text) => matches(text, /^\s+"[^"]+": \["((?:@[^/@"]+\/)?[^@"]+)@([^"]+)"/gm)],
  [
    /(^|\/)(Cargo|poetry|uv)\.lock$/,
    (text) => matches(text, /^\[\[package\]\]\s+name = "([^"]+)"\s+version = "([^"]+)"/gm),
  ],
  [
    /requirements[^/]*\.txt$/,
    (text) => matches(text, /^\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*([=<>!~][^;#\n]*)?/gm),
  ],
  [/(^|\/)go\.mod$/, (text) => matches(text, /^\s*(?:require\s+)?([\w.-]+\.[\w-]+\/[^\s]+)\s+(v\d[^\s]*)/gm)],
  [/(^|\/)Gemfile\.lock$/, (text) => matches(text, /^ {4}(\S+) \(([^)]+)\)/gm)],
  [/(^|\/)(composer|Pipfile)\.lock$/, jsonLock],
  // The last resort: a project that keeps no lockfile.
  [/(^|\/)package\.json$/, manifest],
];

/** Lockfiles, and manifests that stand in for one. */
export function namesDependencies(path: string): boolean {
  return !/(^|\/)node_modules\//.test(path) && READERS.some(([pattern]) => pattern.test(path));
}

/** Packages of the result that are not in the base in that version, in the order of their names; the first 200. */
export function newDependencies(base: Files, result: Files): readonly NewDependency[] {
  const found: NewDependency[] = [];
  for (const [file, text] of result) {
    if (file.endsWith('package.json') && hasLockfile(result, file)) continue;
    const before = packagesOf(file, base.get(file) ?? '');
    const versions = Map.groupBy(before, ({ name }) => name);
    for (const { name, version, hasInstallScript } of packagesOf(file, text)) {
      const was = versions.get(name)?.map((older) => older.version) ?? [];
      if (was.includes(version)) continue;
      found.push({
        name,
        version,
        file,
        ...(was.length === 0 ? {} : { was: was.join(', ') }),
        ...(hasInstallScript === true ? { hasInstallScript } : {}),
      });
    }
  }
  const seen = new Set<string>();
  const isFirst = ({ name, version, file }: NewDependency): boolean => {
    const key = `${file} ${name} ${version}`;
    return !seen.has(key) && seen.add(key).size > 0;
  };
  return found.filter(isFirst).sort(byName).slice(0, LISTED);
}

function byName(a: NewDependency, b: NewDependency): number {
  return a.name < b.name ? -1 : Number(a.name > b.name);
}

function packagesOf(file: string, text: string): readonly Package[] {
  try {
    return READERS.find(([pattern]) => pattern.test(file))?.[1](text.replaceAll('\r\n', '\n')) ?? [];
  } catch {
    // A lockfile that cannot be read is one that its package manager will complain of.
    return [];
  }
}

function hasLockfile(files: Files, manifestPath: string): boolean {
  const folder = manifestPath.slice(0, -'package.json'.length);
  return [...files.keys()].some(
    (path) =>
      !path.endsWith('package.json') &&
      /\.json$|\.lock$|pnpm-lock/.test(path) &&
      (path.startsWith(folder) || !path.includes('/')),
  );
}

/** An entry of a lockfile in JSON, as a stranger may have written it. */
interface Entry {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly hasInstallScript?: unknown;
  readonly link?: unknown;
}
type Entries = Readonly<Record<string, Entry>>;

function npmLock(text: string): readonly Package[] {
  const { packages, dependencies } = JSON.parse(text) as {
    readonly packages?: Entries;
    readonly dependencies?: Entries;
  };
  if (packages === undefined) return Object.entries(dependencies ?? {}).map(([name, entry]) => named(name, entry));
  return Object.entries(packages).flatMap(([path, entry]) => {
    const at = path.lastIndexOf('node_modules/');
    return at < 0 || entry.link === true ? [] : [named(entry.name ?? path.slice(at + 'node_modules/'.length), entry)];
  });
}

function named(name: unknown, { version, hasInstallScript }: Entry): Package {
  return { name: word(name), version: word(version), hasInstallScript: hasInstallScript === true };
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : 'any';
}

function pnpmLock(text: string): readonly Package[] {
  const [, section = ''] = /^packages:\n((?:(?: .*)?\n)*)/m.exec(`${text}\n`) ?? [];
  const entries = section.split(/^(?= {2}\S)/m);
  return entries.flatMap((entry) => {
    const [, name, version] = /^ {2}['"]?\/?((?:@[^/@\s]+\/)?[^@/\s]+)[@/]([^('":\s]+)/.exec(entry) ?? [];
    if (name === undefined || version === undefined) return [];
    return [{ name, version, hasInstallScript: /^ {4}requiresBuild: true$/m.test(entry) }];
  });
}

function yarnLock(text: string): readonly Package[] {
  return text.split(/\n(?=\S)/).flatMap((entry) => {
    const name = /^"?((?:@[^/@"]+\/)?[^@"\s,]+)@/.exec(entry)?.[1];
    const version = /^ {2}version:? "?([^"\n]+)"?$/m.exec(entry)?.[1];
    const isOwn = /@workspace:/.test(entry.split('\n')[0] ?? '');
    return name === undefined || version === undefined || isOwn ? [] : [{ name, version }];
  });
}

function jsonLock(text: string): readonly Package[] {
  const lock = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const lists = ['packages', 'packages-dev'].flatMap((key) => (lock[key] ?? []) as readonly Entry[]);
  const maps = ['default', 'develop'].flatMap((key) => Object.entries((lock[key] ?? {}) as Entries));
  return [...lists.map((entry) => named(entry.name, entry)), ...maps.map(([name, entry]) => named(name, entry))];
}

function manifest(text: string): readonly Package[] {
  const parsed = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies'];
  return groups
    .flatMap((group) => Object.entries((parsed[group] ?? {}) as Readonly<Record<string, unknown>>))
    .map(([name, version]) => ({ name, version: word(version) }));
}

function matches(text: string, pattern: RegExp): readonly Package[] {
  return [...text.matchAll(pattern)].map(([, name = '', version]) => ({ name, version: version?.trim() || 'any' }));
}
