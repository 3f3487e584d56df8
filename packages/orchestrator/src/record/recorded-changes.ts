/** The changes that a record makes to a project: of every commit that the state of its run names, whatever a field calls it. */
import { type JsonValue, NeedsHuman, type Project, type RunView } from '@autonomous/shared';
import type { RecordedState } from '../engine/rebuilt/rebuilt-pause.ts';
import { isOwnBranch } from '../path-rules/branch-names.ts';
import type { Repository, TreeChange } from '../repository/repository.ts';

/** Commits of one run that are looked at. More cannot be shown. */
const MOST_COMMITS = 1_000;
/** Characters of the paths of all changes. More cannot be shown. */
const MOST_PATHS = 500_000;

export interface RecordedChanges {
  /** Branch of the project that the result is for. */
  readonly baseBranch: string;
  /** The run's base commit is not in that branch: it is no state of the project that people know. */
  readonly isBesideBase: boolean;
  /** Changes from that branch, by path. */
  readonly files: readonly TreeChange[];
  /** Commits that are not here. */
  readonly missing: readonly string[];
  /** There are more changes than can be shown. Absent: these are all. */
  readonly isTooMuch?: true;
}

/** A run with those that it started. */
export interface RecordedFamily {
  readonly view: RunView;
  readonly children: readonly Pick<RunView, 'headCommit' | 'status'>[];
  readonly state: RecordedState;
  /** Commits at which the run and those above it started. Default: none beside its base. */
  readonly starts?: readonly string[];
}

type Reads = Pick<Repository, 'changes' | 'isAncestor' | 'mergeBase' | 'missingCommits' | 'remoteHead'>;

export async function recordedChanges(
  repository: Reads,
  project: Project,
  { view, children, state, starts = [] }: RecordedFamily,
): Promise<RecordedChanges> {
  const { baseCommit, headCommit, config } = view;
  // A child run begins at the branch of its parent, whose commits are of the record, too.
  const named = config.git.baseBranch;
  const baseBranch = named === '' || isOwnBranch(named) ? project.baseBranch : named;
  const base =
    (await repository.remoteHead(project, baseBranch)) ?? (await repository.remoteHead(project, project.baseBranch));
  // A child run that failed or was cancelled is not merged.
  const merged = children.filter(({ status }) => status !== 'failed' && status !== 'cancelled');
  // These are commits for certain; of the others, trees and digests look the same.
  const certain = [baseCommit, headCommit, ...starts, ...merged.map((child) => child.headCommit)].filter(
    (id) => id !== undefined,
  );
  const ids = new Set([
    ...certain.filter(isCommitId),
    ...[...textsIn(state as unknown as JsonValue)].filter(isCommitId),
  ]);
  const absent = await repository.missingCommits(project, [...ids]);
  const known = [...ids].filter((commit) => !absent.has(commit));
  const missing = certain.filter((id) => !isCommitId(id) || absent.has(id));
  const files = new Map<string, TreeChange>();
  let length = 0;
  let isTooMuch = known.length > MOST_COMMITS || base === null;
  for (const commit of isTooMuch ? [] : known) {
    const changes = await changesFrom(repository, project, base ?? '', commit);
    for (const change of changes ?? []) {
      length += change.path.length;
      files.set(`${change.path}\0${change.after?.oid ?? ''}\0${change.after?.mode ?? ''}`, change);
    }
    isTooMuch ||= changes === null || length > MOST_PATHS;
    if (isTooMuch) break;
  }
  const isKnown = isCommitId(baseCommit) && !absent.has(baseCommit);
  return {
    baseBranch,
    isBesideBase: isKnown && base !== null && !(await repository.isAncestor(project, baseCommit, base)),
    files: [...files.values()],
    missing,
    ...(isTooMuch ? { isTooMuch } : {}),
  };
}

/** Changes of a commit since it left the base; `null`: there are more than are listed. */
async function changesFrom(
  repository: Reads,
  project: Project,
  base: string,
  commit: string,
): Promise<readonly TreeChange[] | null> {
  const from = (await repository.mergeBase(project, base, commit)) ?? base;
  if (from === commit) return [];
  try {
    return await repository.changes(project, from, commit);
  } catch (error) {
    if (error instanceof NeedsHuman) return null;
    throw error;
  }
}

const isCommitId = (id: string | undefined): id is string => id !== undefined && /^[0-9a-f]{40}$/.test(id);

/** All texts and names of fields, in the order in which they stand. */
export function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value)) {
      if (!Array.isArray(value)) yield name;
      if (each !== undefined) yield* textsIn(each);
    }
}
