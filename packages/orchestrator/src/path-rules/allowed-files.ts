/** The files that a run may change, where it may not change all. Pure. */
import type { AllowedFiles } from '@autonomous/shared';
import { EVERY, matches, namesOf, type PathPattern, patternOf } from './path-patterns.ts';

/** Most patterns of one request, and most characters of one. */
export const MAX_ALLOWED_PATTERNS = 500;
const MAX_LENGTH = 500;

/** Asks of paths whether agents of a run may change them. */
export interface AllowedPaths {
  /** The path may be changed, removed or made. What lies under such a path may be as well, save for that of a pattern such as `src/*`. */
  has(path: string): boolean;
}

const EVERYTHING: AllowedPaths = { has: () => true };

/** @param lists a path has to be allowed by each; none: all paths are allowed */
export function allowedPaths(lists: readonly AllowedFiles[] = []): AllowedPaths {
  if (lists.length === 0) return EVERYTHING;
  const known = lists.map(({ changes, newFiles, forbidden = [] }) => ({
    allowed: [...changes, ...newFiles].map(patternOf),
    forbidden: forbidden.map(patternOf),
  }));
  return {
    has: (path) => {
      const names = namesOf(path);
      const isIn = (patterns: readonly PathPattern[]) =>
        patterns.some((pattern) => matches(pattern, names) && !isDeeper(pattern, names));
      return known.every(({ allowed, forbidden }) => isIn(allowed) && !isIn(forbidden));
    },
  };
}

/** `src/*` means the files of one folder, and not what lies below them. */
function isDeeper(pattern: PathPattern, names: readonly string[]): boolean {
  const isOneFolder = (pattern.names.at(-1)?.length ?? 0) > 1 && pattern.every === -1;
  return isOneFolder && names.length > pattern.names.length;
}

/** Why no path could match a pattern as it is meant; `null` for a good one. To be read after the pattern. */
export function allowedPathFault(pattern: string): string | null {
  if (pattern === '' || pattern.length > MAX_LENGTH) return `a path has 1 to ${MAX_LENGTH} characters`;
  if (pattern.startsWith('/') || /^[a-z]:/i.test(pattern)) return 'a path is relative to the root of the repository';
  if (pattern.includes('\\')) return "names are separated by '/'";
  const names = pattern.split('/');
  if (names.includes('')) return 'it has an empty name; leave out // and a slash at its end';
  if (names.includes('.') || names.includes('..')) return "it must not lead out of its folder by '.' or '..'";
  const every = names.filter((name) => name.includes(EVERY));
  if (every.some((name) => name !== EVERY)) return "'**' stands for whole folders and is a name of its own";
  return every.length > 1 ? "'**' may stand in it once" : null;
}
