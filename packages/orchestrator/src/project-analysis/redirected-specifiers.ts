/**
 * Resolves import specifiers of tests: `imports`, `exports` and entry points of package.json, and aliases of tsconfig
 * files. A result that redirects one can make the base's tests run, or be judged by, other code. Pure.
 */
import { parse as parseJsonc } from 'jsonc-parser';

/** Does a file say where specifiers lead, and is it none that is put back as a whole? */
export function redirectsSpecifiers(path: string): boolean {
  return /(^|\/)(package[.]json|[jt]sconfig([.][\w-]+)*[.]json)$/.test(path);
}

/**
 * Does the result's file lead a specifier elsewhere that the base's tests import?
 * @param specifiers what they import, as it is written
 */
export function redirects(
  path: string,
  base: string | null,
  result: string | null,
  specifiers: ReadonlySet<string>,
): boolean {
  const before = tableOf(base);
  const after = tableOf(result);
  return path.endsWith('package.json')
    ? packageRedirects(before, after, specifiers)
    : aliasesRedirect(before, after, specifiers);
}

type Table = Readonly<Record<string, unknown>>;

function packageRedirects(before: Table, after: Table, specifiers: ReadonlySet<string>): boolean {
  if (mapRedirects(tableIn(before, 'imports'), tableIn(after, 'imports'), specifiers)) return true;
  const { name } = before;
  if (typeof name !== 'string') return false;
  const own = [...specifiers].filter((each) => each === name || each.startsWith(`${name}/`));
  if (own.length === 0) return false;
  if (after['name'] !== name) return true;
  if (['main', 'module', 'browser'].some((key) => differ(before[key], after[key]))) return true;
  const subpaths = new Set(own.map((each) => `.${each.slice(name.length)}`));
  return mapRedirects(exportsOf(before), exportsOf(after), subpaths);
}

/** `exports` by subpath, where the one of the package itself may stand alone. */
function exportsOf(manifest: Table): Table {
  const { exports } = manifest;
  if (exports === undefined) return {};
  const isMap = isTable(exports) && Object.keys(exports).every((key) => key.startsWith('.'));
  return isMap ? exports : { '.': exports };
}

function aliasesRedirect(before: Table, after: Table, specifiers: ReadonlySet<string>): boolean {
  const plain = new Set([...specifiers].filter((each) => !/^(?:[./]|node:)/.test(each)));
  if (plain.size === 0) return false;
  const [was, is] = [tableIn(before, 'compilerOptions'), tableIn(after, 'compilerOptions')];
  if (mapRedirects(tableIn(was, 'paths'), tableIn(is, 'paths'), plain)) return true;
  // The file that `extends` names is not read: a changed value counts by itself.
  return (
    differ(before['extends'], after['extends']) || ['baseUrl', 'rootDirs'].some((key) => differ(was[key], is[key]))
  );
}

/** Whether a key that stands for a specifier was added, removed or given another target. Keys may hold one `*`. */
function mapRedirects(before: Table, after: Table, specifiers: ReadonlySet<string>): boolean {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].some(
    (key) => differ(before[key], after[key]) && [...specifiers].some((specifier) => standsFor(key, specifier)),
  );
}

function standsFor(key: string, specifier: string): boolean {
  const star = key.indexOf('*');
  if (star < 0) return key === specifier;
  return (
    specifier.length >= key.length - 1 &&
    specifier.startsWith(key.slice(0, star)) &&
    specifier.endsWith(key.slice(star + 1))
  );
}

function differ(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}

function tableOf(text: string | null): Table {
  if (text === null) return {};
  const value: unknown = parseJsonc(text.replace(/^\ufeff/, ''), [], { allowTrailingComma: true });
  return isTable(value) ? value : {};
}

function tableIn(table: Table, key: string): Table {
  const value = table[key];
  return isTable(value) ? value : {};
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
