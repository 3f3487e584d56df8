/**
 * Grammar of all names that are passed to git: branches, file paths, object ids, project ids, exclude patterns. Git can
 * read an accepted name in one way only: never as an option, a range, a reflog entry or a path outside the tree.
 */
import { InvalidRequest, replaceHidden } from '@autonomous/shared';
import { isBranchName } from '../path-rules/branch-names.ts';

/** Longest path, bytes: half of what Linux takes, so that there is room for the folder in which the files lie. */
const MAX_PATH_BYTES = 2_048;

/** Files under this folder belong to the orchestrator; agents may read them and not write them. */
export const OWN_FOLDER = '.autonomous';

/** The tree with nothing in it; git knows it without storing it. */
export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** True for a full object id, as every answer of the repository port gives it. */
export function isObjectId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/** @throws {InvalidRequest} unless it is a full object id */
export function assertObjectId(text: string): string {
  if (!isObjectId(text))
    throw new InvalidRequest(`${quote(text)} is not a commit or tree id; use 40 hexadecimal digits`);
  return text;
}

/** @throws {InvalidRequest} unless it is a short branch name */
export function assertBranchName(name: string): string {
  if (!isBranchName(name)) {
    throw new InvalidRequest(
      `${quote(name)} is not a valid branch name; use letters, digits and . _ - + @ # = , in parts joined by /, none starting with . or - or ending in . or .lock`,
    );
  }
  return name;
}

/** @throws {InvalidRequest} unless the id can be the name of a folder */
export function assertProjectId(id: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(id))
    throw new InvalidRequest(`${quote(id)} is not a valid project id`);
  return id;
}

/**
 * Why a path is not taken into a tree; `null` when it is a good one: relative, `/` between its parts, and named
 * the same way on every system that may check it out.
 */
export function pathFault(path: string): string | null {
  if (path.length === 0) return 'the name is empty';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `the path is longer than ${MAX_PATH_BYTES} bytes`;
  if (!path.isWellFormed() || path.includes('\uFFFD')) return 'the name is not valid UTF-8';
  if (/[\u0000-\u001f\u007f]/.test(path)) return 'the name contains a control character';
  if (path.includes('\\')) return 'the name contains a backslash, which other systems read as a folder separator';
  for (const part of path.split('/')) {
    if (part === '') return 'the path is absolute or contains an empty part';
    if (part === '.' || part === '..') return 'the path contains . or ..';
    if (isDotGit(part)) return 'git keeps its own files under this name';
    if (Buffer.byteLength(part) > 255) return 'the name is longer than 255 bytes';
  }
  return null;
}

/** @throws {InvalidRequest} saying why the path is not taken */
export function assertFilePath(path: string): string {
  const fault = pathFault(path);
  if (fault !== null) throw new InvalidRequest(`${quote(path)} is not a valid file path: ${fault}`);
  return path;
}

/** Whether some file system would open this name as `.git`: other case, NTFS short names and streams, HFS+ ignorable characters. */
export function isDotGit(name: string): boolean {
  return /^(?:\.git|git~\d+)$/.test(plainName(name));
}

/** Whether some file system would open this path as the orchestrator's own folder, or as something in it. */
export function isOwnPath(path: string): boolean {
  const end = path.indexOf('/');
  return plainName(end === -1 ? path : path.slice(0, end)) === OWN_FOLDER;
}

/** A name as the file systems read it that make the least difference: no case, no ignorable characters, no streams, nothing at its end. */
export function plainName(name: string): string {
  const seen = replaceHidden(name, () => '').normalize('NFKC');
  const folded = seen.toUpperCase().toLowerCase().normalize('NFC');
  const [plain = ''] = folded.split(/[:/\\]/, 1);
  return plain.replace(/(?<![\s.])[\s.]+$/, '');
}

/** Whether a path is the folder or lies under it. */
export function isAtOrUnder(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Asks whether a path is one of these files and folders or lies under one. Its time does not depend on how many there are. */
export function atOrUnderAny(paths: readonly string[]): (path: string) => boolean {
  const named = new Set(paths);
  return onEachFolder<boolean>((above, path) => above === true || named.has(path));
}

/**
 * A value for each path from that of the folder that it lies in, asked once for each.
 * @param valueOf gets the value of the folder above, `null` at the top, the path and its last name
 */
export function onEachFolder<Value>(
  valueOf: (above: Value | null, path: string, name: string) => Value,
): (path: string) => Value {
  const values = new Map<string, Value>();
  return (wanted) => {
    const unknown: string[] = [];
    let path = wanted;
    while (path !== '' && !values.has(path)) {
      unknown.push(path);
      path = path.slice(0, Math.max(path.lastIndexOf('/'), 0));
    }
    let value = path === '' ? null : (values.get(path) as Value);
    for (const each of unknown.toReversed()) {
      value = valueOf(value, each, each.slice(each.lastIndexOf('/') + 1));
      values.set(each, value);
    }
    return value as Value;
  };
}

/**
 * gitignore patterns as the text of an excludes file.
 * @throws {InvalidRequest} for a pattern that is more than one line
 */
export function excludesFile(patterns: readonly string[]): string {
  for (const pattern of patterns) {
    if (/[\u0000\n\r]/.test(pattern))
      throw new InvalidRequest(`excludePaths contains ${quote(pattern)}; a pattern is one line`);
  }
  return patterns.map((pattern) => `${pattern}\n`).join('');
}

/** For messages: control characters made visible, long values cut. */
function quote(text: string): string {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return `'${JSON.stringify(shown).slice(1, -1)}'`;
}
