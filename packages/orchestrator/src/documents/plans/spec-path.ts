/** Paths of plans in the repository, `.autonomous/specs/NNN-slug.md`, and their numbers. Pure. */
import { pathsIn } from '../../path-rules/sorted-paths.ts';
import { slugOf } from '../slug.ts';

/** Folder of plans in the repository. */
export const SPECS = '.autonomous/specs/';

/** Path of a plan: `.autonomous/specs/001-login-flow.md`. */
export function specPath(number: number, title: string): string {
  return `${SPECS}${String(number).padStart(3, '0')}-${slugOf(title)}.md`;
}

/** Of all paths of a repository, sorted, those in the folder of plans. */
export function specsAmong(sorted: readonly string[]): readonly string[] {
  return pathsIn(sorted, SPECS.slice(0, -1));
}

/**
 * The number after the highest that is taken; 1 where there is none.
 * @param paths paths in the repository; those outside `.autonomous/specs/` are passed over
 */
export function nextSpecNumber(paths: readonly string[]): number {
  const numbers = paths
    .filter((path) => path.startsWith(SPECS))
    .map((path) => /^(\d{1,9})-[^/]*\.md$/.exec(path.slice(SPECS.length))?.[1])
    .map((digits) => (digits === undefined ? 0 : Number(digits)));
  return numbers.reduce((highest, number) => Math.max(highest, number), 0) + 1;
}

/**
 * Path of a plan whose number another plan has taken meanwhile: the same name with the next free number. A free one stays.
 * @param others paths of a repository that has not got this plan; those outside `.autonomous/specs/` are passed over
 */
export function renumberedSpecPath(path: string, others: readonly string[]): string {
  const [, number = '', name = ''] = /^(\d{1,9})-(.*)$/.exec(path.slice(SPECS.length)) ?? [];
  if (number === '' || !others.some((other) => other.startsWith(`${SPECS}${number}-`))) return path;
  return `${SPECS}${String(nextSpecNumber(others)).padStart(3, '0')}-${name}`;
}
