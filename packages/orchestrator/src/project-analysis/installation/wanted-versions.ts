/** Versions of languages that a project's own files ask for, compared with those that a sandbox has. Pure. */
import { linesOf } from '../named-paths.ts';
import { fieldOf, parseJson } from '../project-tree.ts';

export interface WantedVersion {
  readonly program: 'node' | 'python3' | 'go' | 'cargo';
  /** As the file says it. */
  readonly wanted: string;
  readonly source: string;
}

/** Files that `wantedVersions` reads. */
export const VERSION_FILES: readonly string[] = [
  '.nvmrc',
  '.node-version',
  'package.json',
  '.python-version',
  'pyproject.toml',
  'go.mod',
  'rust-toolchain',
  'rust-toolchain.toml',
  'Cargo.toml',
];

/** @param texts texts of `VERSION_FILES` by path, as far as there are any */
export function wantedVersions(texts: ReadonlyMap<string, string>): readonly WantedVersion[] {
  const first = (source: string): string =>
    linesOf(texts.get(source) ?? '')
      .find((line) => line.trim() !== '')
      ?.trim() ?? '';
  const found = (program: WantedVersion['program'], source: string, wanted: string | undefined): WantedVersion[] =>
    wanted === undefined || !/^[\w.<>=^~|* ,-]{1,60}$/.test(wanted) ? [] : [{ program, wanted, source }];
  const engine = fieldOf(fieldOf(parseJson(texts.get('package.json') ?? ''), 'engines'), 'node');
  return [
    ...['.nvmrc', '.node-version'].flatMap((file) => found('node', file, first(file))),
    ...found('node', 'package.json', typeof engine === 'string' ? engine : undefined),
    ...found('python3', '.python-version', first('.python-version')),
    ...found('python3', 'pyproject.toml', valueOf(texts.get('pyproject.toml'), 'requires-python')),
    ...found('go', 'go.mod', atLeast(/^go (\d+\.\d+(?:\.\d+)?)$/, texts.get('go.mod'))),
    ...found('cargo', 'rust-toolchain.toml', valueOf(texts.get('rust-toolchain.toml'), 'channel')),
    ...found('cargo', 'rust-toolchain', valueOf(texts.get('rust-toolchain'), 'channel') ?? first('rust-toolchain')),
    ...found('cargo', 'Cargo.toml', atLeast(/^rust-version\s*=\s*"(\d+\.\d+(?:\.\d+)?)"$/, texts.get('Cargo.toml'))),
  ].filter(({ wanted }) => wanted !== '');
}

/**
 * Whether a version is one of those that are wanted. Words without a number, such as `lts/*` or `stable`, are always met, and so
 * is what cannot be read.
 * @param version such as `24.21.0`
 */
export function isWanted(version: string, wanted: string): boolean {
  const have = numbersOf(version);
  if (have === null) return true;
  return wanted.split('||').some((alternative) => {
    const words = alternative.split(/[\s,]/).filter((word) => word !== '');
    // A sign may stand apart from its number.
    return words.every((word, index) => SIGN.test(word) || meets(have, `${signBefore(words, index)}${word}`));
  });
}

const SIGN = /^[<>=^~]{1,2}$/;

function signBefore(words: readonly string[], index: number): string {
  const before = words[index - 1] ?? '';
  return SIGN.test(before) ? before : '';
}

function meets(have: readonly number[], part: string): boolean {
  const found = /^(>=|<=|>|<|\^|~=|~|==|=)?\s*v?(\d+(?:\.\d+){0,2})(?:\.[x*])*$/.exec(part);
  const [, sign = '', number = ''] = found ?? [];
  const wanted = numbersOf(number);
  if (wanted === null) return true;
  const order = compare(have, wanted);
  switch (sign) {
    case '>=':
      return order >= 0;
    case '>':
      return order > 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0 || startsWith(have, wanted);
    case '^':
      return order >= 0 && have[0] === wanted[0];
    case '~':
    case '~=':
      return order >= 0 && startsWith(have, wanted.slice(0, 2));
    default:
      return startsWith(have, wanted);
  }
}

function numbersOf(version: string): readonly number[] | null {
  const found = /(\d+)(?:\.(\d+))?(?:\.(\d+))?/.exec(version);
  return found === null ? null : found.slice(1).flatMap((part) => (part === undefined ? [] : [Number(part)]));
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < 3; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function startsWith(have: readonly number[], wanted: readonly number[]): boolean {
  return wanted.every((part, index) => have[index] === part);
}

/** The value of `key = "value"`, in whatever table it stands. */
function valueOf(text: string | undefined, key: string): string | undefined {
  for (const line of linesOf(text ?? '')) {
    const [name = '', ...rest] = line.split('=');
    if (name.trim() !== key) continue;
    return /^"([^"]{1,60})"|^'([^']{1,60})'/
      .exec(rest.join('=').trim())
      ?.slice(1)
      .find((part) => part !== undefined);
  }
  return undefined;
}

function atLeast(pattern: RegExp, text: string | undefined): string | undefined {
  for (const line of linesOf(text ?? '')) {
    const version = pattern.exec(line.trim())?.[1];
    if (version !== undefined) return `>=${version}`;
  }
  return undefined;
}
