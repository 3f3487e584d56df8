/**
 * Foreseen conflicts: files in which a merge of a live run would conflict now. The server computes them from git; they are not
 * part of the log.
 */

/** Conflict of a live run with another live run of its project, or with its base branch. */
export interface ForeseenConflict {
  readonly projectId: string;
  readonly runId: string;
  readonly with:
    | { readonly kind: 'run'; readonly runId: string }
    /** As it was when the server last fetched it. */
    | { readonly kind: 'base'; readonly branch: string };
  /** Paths, sorted; at most 20. */
  readonly files: readonly string[];
  /** Number of all files, those that `files` leaves out included. */
  readonly fileCount: number;
}

/** Filter of foreseen conflicts. Absent fields: all. */
export interface ForeseenConflictFilter {
  readonly projectId?: string | undefined;
  readonly runId?: string | undefined;
}

/** The conflicts of one run, or of all runs, as they are from now on. */
export interface ForeseenConflictsChange {
  /** Absent: `conflicts` are those of all runs. */
  readonly runId?: string | undefined;
  readonly conflicts: readonly ForeseenConflict[];
}

/** Files that a line names before it counts the others. */
const NAMED = 3;
/** Characters of a path in a line. */
const PATH_LENGTH = 60;

/**
 * One line about a conflict, such as `Conflicts with run r-2: src/a.ts, src/b.ts and 3 more files`.
 * @param nameOf the name of a run. Default: `run` and its id
 */
export function foreseenConflictText(
  conflict: ForeseenConflict,
  nameOf: (runId: string) => string = (runId) => `run ${runId}`,
): string {
  const { with: other, files, fileCount } = conflict;
  const named = files.slice(0, NAMED).map((path) => clippedPath(path));
  const more = fileCount - named.length;
  const all = [named.join(', '), ...(more === 0 ? [] : [`${more} more ${more === 1 ? 'file' : 'files'}`])];
  return `Conflicts with ${other.kind === 'base' ? other.branch : nameOf(other.runId)}: ${all.join(' and ')}`;
}

/** Words for a list of runs, such as `conflicts with main and 2 runs`. `null` where a run has no conflict. */
export function foreseenConflictsBrief(conflicts: readonly ForeseenConflict[]): string | null {
  const bases = conflicts.flatMap(({ with: other }) => (other.kind === 'base' ? [other.branch] : []));
  const runs = conflicts.length - bases.length;
  const parts = [...bases, ...(runs === 0 ? [] : [`${runs} ${runs === 1 ? 'run' : 'runs'}`])];
  return parts.length === 0 ? null : `conflicts with ${parts.join(' and ')}`;
}

/**
 * Shortens a path in its middle: its beginning and the name of its file remain.
 * @param length maximum number of characters
 */
export function clippedPath(path: string, length = PATH_LENGTH): string {
  const characters = Array.from(path);
  if (characters.length <= length) return path;
  const name = characters.length - characters.lastIndexOf('/');
  const end = Math.min(Math.max(name, Math.ceil(length / 2)), length - Math.ceil(length / 4));
  return `${characters.slice(0, length - end - 1).join('')}…${characters.slice(-end).join('')}`;
}
