/**
 * Patterns of repository paths. A pattern is a path from the root of the repository; `*` stands for any characters of one name, and
 * one name may be `**`, any number of folders. Paths match as file systems that fold names read them. Pure.
 */
import { folded } from './folded-path.ts';

/** The name that stands for any number of folders. A pattern has it once at most. */
export const EVERY = '**';

/** The folded names of a path, the topmost first. */
export function namesOf(path: string): readonly string[] {
  return folded(path).split('/');
}

/** A pattern, taken apart once for many paths. */
export interface PathPattern {
  /** The parts of each name between its `*`. */
  readonly names: readonly (readonly string[])[];
  /** Index of the name `**`; -1: there is none. */
  readonly every: number;
}

export function patternOf(pattern: string): PathPattern {
  const names = namesOf(pattern);
  return { names: names.map((name) => name.split('*')), every: names.indexOf(EVERY) };
}

/** Does the pattern match the names, or the beginning of them: what lies under a name that matches does so as well. */
export function matches({ names: wanted, every }: PathPattern, names: readonly string[]): boolean {
  const isAt = (parts: readonly (readonly string[])[], from: number): boolean =>
    names.length >= from + parts.length && parts.every((part, index) => isName(part, names[from + index] ?? ''));
  if (every === -1) return isAt(wanted, 0);
  const [before, after] = [wanted.slice(0, every), wanted.slice(every + 1)];
  if (!isAt(before, 0)) return false;
  if (after.length === 0) return names.length > before.length;
  for (let from = before.length; from + after.length <= names.length; from++) if (isAt(after, from)) return true;
  return false;
}

/** Do the names lead to a folder in which the pattern finds files? Below a `**` only names that it has before it are known. */
export function matchesAbove({ names: wanted, every }: PathPattern, names: readonly string[]): boolean {
  const folders = wanted.slice(0, every);
  return names.length <= folders.length && names.every((name, index) => isName(folders[index] ?? [], name));
}

/** One name, with any characters between the parts. */
function isName(parts: readonly string[], name: string): boolean {
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (parts.length < 2) return name === first;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  const end = name.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
