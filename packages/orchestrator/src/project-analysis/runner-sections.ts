/**
 * Files that hold both product and tests, such as package.json and pyproject.toml: a check with the base commit's tests has the
 * base's sections of runners in them, and keeps the rest, such as dependencies, as the result has it.
 */
import { parse as parseJsonc, type ParseError } from 'jsonc-parser';
import { parse, stringify } from 'smol-toml';
import { linesOf } from './named-paths.ts';

/** Keys of package.json that test runners take their configuration from. */
const RUNNER_KEYS = [
  'scripts',
  'jest',
  'vitest',
  'mocha',
  'ava',
  'tap',
  'jasmine',
  'c8',
  'nyc',
  'cypress',
  'playwright',
  'babel',
  'nx',
  'uvu',
];

/** Keys of deno.json that decide what `deno test` and `deno task` do. */
const DENO_KEYS = ['tasks', 'test'];

/** Paths within a TOML file. */
const TOML_SECTIONS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'pyproject.toml': [
    ['tool', 'pytest'],
    ['tool', 'coverage'],
    ['tool', 'tox'],
    ['tool', 'nox'],
    ['tool', 'hatch', 'envs'],
    ['tool', 'pdm', 'scripts'],
    ['tool', 'poe'],
    ['tool', 'taskipy'],
    ['tool', 'rye', 'scripts'],
    ['tool', 'unittest'],
  ],
  'Cargo.toml': [['lib'], ['test'], ['bench'], ['profile'], ['package', 'autotests']],
};

/** Sections of setup.cfg. */
const SETUP_SECTIONS = /^(tool:pytest|pytest|coverage:.*|tox.*|nosetests|unittest|aliases|test)$/;

/** Does a file hold sections of runners beside others? */
export function hasRunnerSections(path: string): boolean {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return file === 'package.json' || /^deno[.]jsonc?$/.test(file) || file === 'setup.cfg' || file in TOML_SECTIONS;
}

/**
 * The result's file with the base's sections of runners. Given back as it is when none differs.
 * @param base `null` where the base has no such file
 * @param result `null` where the result has none
 * @returns `null` where the file is to be absent
 */
export function restoreRunnerSections(path: string, base: string | null, result: string | null): string | null {
  const file = path.slice(path.lastIndexOf('/') + 1);
  // Without the file runners take their configuration from elsewhere.
  if (result === null) return base;
  if (file === 'package.json') return base === null ? result : restoreScripts(base, result);
  if (file.startsWith('deno.json')) return base === null ? result : restoreDeno(base, result);
  if (file === 'setup.cfg') return restoreSetup(base ?? '', result);
  return restoreToml(TOML_SECTIONS[file] ?? [], base ?? '', result);
}

/**
 * The result's package.json with the base's `scripts` and test-runner keys; everything else, dependencies among them,
 * stays. Indentation, line ends and the order of keys are the result's. Given back as it is when nothing differs, or
 * when either text is not a JSON object, which no tool could run either.
 */
export function restoreScripts(basePackageJson: string, resultPackageJson: string): string {
  const base = parseManifest(basePackageJson);
  const result = parseManifest(resultPackageJson);
  return base === null || result === null
    ? resultPackageJson
    : restoreKeys(base, result, RUNNER_KEYS, resultPackageJson);
}

/** Deno reads comments and commas at the end; they are lost where a section differs. */
function restoreDeno(baseText: string, resultText: string): string {
  const base = parseCommented(baseText);
  const result = parseCommented(resultText);
  return base === null || result === null ? baseText : restoreKeys(base, result, DENO_KEYS, resultText);
}

type Keys = Map<string, unknown>;

function restoreKeys(base: Keys, result: Keys, keys: readonly string[], resultText: string): string {
  const differs = keys.some((key) => JSON.stringify(base.get(key)) !== JSON.stringify(result.get(key)));
  if (!differs) return resultText;

  for (const key of keys) {
    const value = base.get(key);
    if (value === undefined) result.delete(key);
    else result.set(key, value);
  }
  return formatLike(resultText, Object.fromEntries(result));
}

function restoreToml(sections: readonly (readonly string[])[], baseText: string, resultText: string): string {
  const base = parseToml(baseText);
  const result = parseToml(resultText);
  // A file that cannot be read is none that a tool could read either.
  if (base === null || result === null) return baseText === '' ? resultText : baseText;
  const differs = sections.filter((keys) => JSON.stringify(at(base, keys)) !== JSON.stringify(at(result, keys)));
  if (differs.length === 0) return resultText;
  for (const keys of differs) put(result, keys, at(base, keys));
  return stringify(result);
}

type Table = { [key: string]: unknown };

function parseToml(text: string): Table | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function at(table: Table, keys: readonly string[]): unknown {
  let value: unknown = table;
  for (const key of keys) value = isTable(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function put(table: Table, keys: readonly string[], value: unknown): void {
  const [first = '', ...rest] = keys;
  if (rest.length === 0) {
    if (value === undefined) delete table[first];
    else table[first] = value;
    return;
  }
  const inner = table[first];
  if (isTable(inner)) put(inner, rest, value);
  else if (value !== undefined) {
    const made: Table = {};
    table[first] = made;
    put(made, rest, value);
  }
}

interface Section {
  readonly name: string | null;
  readonly lines: string[];
}

/** Line ends for `str.splitlines`, which pytest takes, and none for configparser. */
const UNSURE_ENDS = /[\v\f\x1c-\x1e\x85\u2028\u2029]/;
/** A header that is indented, by any space of Python's, may be a value. */
const INDENTED_HEADER = /^[\s\x1c-\x1f\x85]+\[/;

/** By lines, as Python's configparser finds sections. Where its readers may differ, only the base's file is sure. */
function restoreSetup(baseText: string, resultText: string): string {
  if (UNSURE_ENDS.test(resultText) || linesOf(resultText).some((line) => INDENTED_HEADER.test(line))) return baseText;
  const base = sectionsOf(baseText).filter(isOfRunner);
  const result = sectionsOf(resultText);
  const own = result.filter(isOfRunner);
  if (textOf(base) === textOf(own)) return resultText;
  return textOf([...result.filter((section) => !isOfRunner(section)), ...base]);
}

function isOfRunner({ name }: Section): boolean {
  return name !== null && SETUP_SECTIONS.test(name);
}

function sectionsOf(text: string): readonly Section[] {
  const sections: Section[] = [{ name: null, lines: [] }];
  for (const line of linesOf(text.replace(/(\r\n|\r|\n)$/, ''))) {
    const end = line.startsWith('[') ? line.indexOf(']') : -1;
    if (end > 0) sections.push({ name: line.slice(1, end).trim(), lines: [] });
    sections.at(-1)?.lines.push(line);
  }
  return sections;
}

function textOf(sections: readonly Section[]): string {
  return sections
    .flatMap(({ lines }) => lines)
    .map((line) => `${line}\n`)
    .join('');
}

function parseCommented(text: string): Keys | null {
  const errors: ParseError[] = [];
  const value: unknown = parseJsonc(text.replace(/^\ufeff/, ''), errors, { allowTrailingComma: true });
  return errors.length === 0 && isTable(value) ? new Map(Object.entries(value)) : null;
}

function parseManifest(text: string): Keys | null {
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return isTable(value) ? new Map(Object.entries(value)) : null;
  } catch {
    return null;
  }
}

function formatLike(model: string, value: object): string {
  const indent = /^[ \t]+(?=")/m.exec(model)?.[0] ?? (model.includes('\n') ? '  ' : '');
  const end = model.endsWith('\n') ? '\n' : '';
  const text = JSON.stringify(value, null, indent) + end;
  return model.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text;
}
