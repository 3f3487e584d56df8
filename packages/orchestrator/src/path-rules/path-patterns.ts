/**
 * Patterns of repository paths. A pattern is a path from the root of the repository; `*` stands for any characters of one name, and
 * one name may be `**`, any number of folders. Paths match as file systems that fold names read them. Pure.
 */
import { folded } from './folded-path.ts';

/** The name that stands for any number of folders. A pattern has it once at most. */
export const EVERY = '**';

/** The folded names of a path or pattern, the topmost first. */
export function namesOf(path: string): readonly string[] {
  return folded(path).split('/');
}

/**
 * Does the pattern match the names, or the beginning of them: what lies under a name that matches does so as well.
 * @param pattern from `namesOf`, and so are the names
 */
export function matches(pattern: readonly string[], names: readonly string[]): boolean {
  const every = pattern.indexOf(EVERY);
  if (every === -1)
    return names.length >= pattern.length && pattern.every((name, index) => isName(name, names[index] ?? ''));
  const [before, after] = [pattern.slice(0, every), pattern.slice(every + 1)];
  if (names.length < before.length || !before.every((name, index) => isName(name, names[index] ?? ''))) return false;
  const rest = names.slice(before.length);
  if (after.length === 0) return rest.length > 0;
  for (let from = 0; from + after.length <= rest.length; from++)
    if (after.every((name, index) => isName(name, rest[from + index] ?? ''))) return true;
  return false;
}

/** Do the names lead to a folder in which the pattern finds files? Below a `**` only names that it has before it are known. */
export function matchesAbove(pattern: readonly string[], names: readonly string[]): boolean {
  const every = pattern.indexOf(EVERY);
  const folders = every === -1 ? pattern.slice(0, -1) : pattern.slice(0, every);
  return names.length <= folders.length && names.every((name, index) => isName(folders[index] ?? '', name));
}

/** One name, in which each `*` of the pattern stands for any characters. */
function isName(pattern: string, name: string): boolean {
  const [first = '', ...more] = pattern.split('*');
  const last = more.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  const end = name.length - last.length;
  for (const part of more) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
