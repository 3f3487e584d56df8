/** Finds files that code names, by its text alone: by imports, by paths in strings, by modules of Python. */

const MAX_LINE = 2_000;
/** Most strings of one line that are tried as the parts of one path. */
const MAX_PARTS = 6;
const STRING = /"([^"\\\n]{1,300})"|'([^'\\\n]{1,300})'|`([^`\\\n]{1,300})`/g;
/** Folders that Python, and tools of JavaScript, look for modules in. */
export const MODULE_FOLDERS = ['', 'src', 'lib', 'python'] as const;

/** Lines, as tools of any language and system end them: with CR, LF or both. */
export function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|\r|\n/);
}

/** A path without `.` and `..`, from the project's root. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return parts.join('/');
}

export function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}

/** Strings of code, line by line, and the paths that several strings of a line form together. */
export function stringsOf(text: string): readonly (readonly string[])[] {
  return linesOf(text).flatMap((line) => {
    if (line.length > MAX_LINE) return [];
    // A template names a folder, as far as it says.
    const strings = [...line.matchAll(STRING)].map(
      (match) => (match[1] ?? match[2] ?? match[3] ?? '').split(/\$?\{/)[0] ?? '',
    );
    const parts = strings.slice(0, MAX_PARTS);
    const joined = parts.flatMap((_, from) =>
      parts.slice(from + 1).map((__, more) => parts.slice(from, from + more + 2).join('/')),
    );
    return strings.length === 0 ? [] : [[...strings, ...joined]];
  });
}

/** Modules that Python code imports, with dots; a relative one begins with them. */
export function pythonModulesOf(text: string): readonly string[] {
  const found: string[] = [];
  for (const line of linesOf(text)) {
    if (line.length > MAX_LINE) continue;
    const from = /^\s*from\s+([.\w]+)\s+import\s+\(?([\w\s,*]*)/.exec(line);
    if (from !== null) {
      const module = from[1] ?? '';
      const joint = module.endsWith('.') ? '' : '.';
      found.push(module, ...namesIn(from[2] ?? '').map((name) => `${module}${joint}${name}`));
    }
    const plain = /^\s*import\s+([\w\s.,]+)/.exec(line);
    if (plain !== null) found.push(...namesIn(plain[1] ?? ''));
  }
  return found;
}

function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((each) => each.trim().split(/\s+/)[0] ?? '')
    .filter((name) => name !== '');
}

/** Paths by the words that name them. */
export class NamedPaths {
  readonly #byPath = new Map<string, Set<string>>();
  readonly #byFolder = new Map<string, Set<string>>();
  readonly #byEnd = new Map<string, Set<string>>();

  /** @param foldersOf folders that name a path too, where a line names no path itself */
  constructor(paths: Iterable<string>, foldersOf: (path: string) => readonly string[] = () => []) {
    for (const path of paths) {
      const plain = path.replace(/[.]\w+$/, '');
      const keys = [path, plain, plain.replace(/\/(index|__init__|mod)$/, '')];
      for (const key of keys) add(this.#byPath, key, path);
      for (const key of keys) add(this.#byEnd, key.slice(key.lastIndexOf('/') + 1), path);
      for (const folder of foldersOf(path)) add(this.#byFolder, folder, path);
    }
  }

  /** Those that a file's text names; a file does not name itself. */
  namedBy(file: string, text: string): ReadonlySet<string> {
    const found = new Set<string>();
    const folder = folderOf(file);
    const above = folder.split('/').map((_, index, all) => all.slice(0, index).join('/'));
    for (const words of stringsOf(text)) {
      const keys = new Set(
        words.flatMap((word) =>
          (word.startsWith('.') ? [folder, ''] : [folder, ...above, '']).map((from) => normalPath(`${from}/${word}`)),
        ),
      );
      const named = [...keys]
        .flatMap((key) => [key, key.replace(/[.][cm]?jsx?$/, '')])
        .flatMap((key) => [...(this.#byPath.get(key) ?? [])]);
      const whole = named.length > 0 ? [] : [...keys].flatMap((key) => [...(this.#byFolder.get(key) ?? [])]);
      for (const path of [...named, ...whole]) found.add(path);
      // An alias of the project's own stands for a folder: the rest of the path is as it is.
      for (const word of words) {
        const aliased = /^[@~#$][\w-]*\/(.+)$/.exec(word)?.[1];
        if (aliased !== undefined) for (const path of this.#endingLike(aliased)) found.add(path);
      }
    }
    if (/[.]pyi?$/.test(file))
      for (const key of pythonModulesOf(text).flatMap((module) => keysOfModule(module, folder)))
        for (const path of this.#byPath.get(key) ?? []) found.add(path);
    found.delete(file);
    return found;
  }

  #endingLike(word: string): readonly string[] {
    const plain = normalPath(word).replace(/[.][cm]?[jt]sx?$/, '');
    const last = plain.slice(plain.lastIndexOf('/') + 1);
    return [...(this.#byEnd.get(last) ?? [])].filter((path) =>
      `/${path.replace(/[.]\w+$/, '').replace(/\/index$/, '')}`.endsWith(`/${plain}`),
    );
  }
}

function keysOfModule(module: string, folder: string): readonly string[] {
  const dots = /^[.]*/.exec(module)?.[0].length ?? 0;
  const path = module.slice(dots).replaceAll('.', '/');
  if (dots > 0) return [normalPath(`${folder}/${'../'.repeat(dots - 1)}${path}`)];
  const above = folder.split('/').map((_, index, all) => all.slice(0, index + 1).join('/'));
  return [...MODULE_FOLDERS, ...above].map((from) => normalPath(`${from}/${path}`));
}

function add(map: Map<string, Set<string>>, key: string, path: string): void {
  const there = map.get(key);
  if (there === undefined) map.set(key, new Set([path]));
  else there.add(path);
}
