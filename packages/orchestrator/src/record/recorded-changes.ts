/** The changes that a record makes to a project: of every commit that the state of its run names, whatever a field calls it. */
import type { JsonValue, Project, RunView } from '@autonomous/shared';
import type { RecordedState } from '../engine/rebuilt-pause.ts';
import { isOwnBranch } from '../path-rules/branch-names.ts';
import type { Repository, TreeChange } from '../repository/repository.ts';

/** Commits of one run that are looked at. */
const MOST_COMMITS = 2_000;

export interface RecordedChanges {
  /** Branch of the project that the result is for. */
  readonly baseBranch: string;
  /** The run's base commit is not in that branch: it is no state of the project that people know. */
  readonly isBesideBase: boolean;
  /** Changes from that branch, by path. */
  readonly files: readonly TreeChange[];
  /** Commits that are not here. */
  readonly missing: readonly string[];
}

/** A run with those that it started. */
export interface RecordedFamily {
  readonly view: RunView;
  readonly children: readonly Pick<RunView, 'headCommit'>[];
  readonly state: RecordedState;
}

type Reads = Pick<Repository, 'changes' | 'isAncestor' | 'mergeBase' | 'missingCommits' | 'remoteHead'>;

export async function recordedChanges(
  repository: Reads,
  project: Project,
  { view, children, state }: RecordedFamily,
): Promise<RecordedChanges> {
  const { baseCommit, headCommit, config } = view;
  // A child run begins at the branch of its parent, whose commits are of the record, too.
  const named = config.git.baseBranch;
  const baseBranch = named === '' || isOwnBranch(named) ? project.baseBranch : named;
  const base = await repository.remoteHead(project, baseBranch);
  // These are commits for certain; of the others, trees and digests look the same.
  const certain = [baseCommit, headCommit, ...children.map((child) => child.headCommit)].filter(isCommitId);
  const known = [...new Set([...certain, ...commitIdsIn(state as unknown as JsonValue)])].slice(0, MOST_COMMITS);
  const absent = await repository.missingCommits(project, known);
  const missing = certain.filter((commit) => absent.has(commit));
  const files = new Map<string, TreeChange>();
  for (const commit of known) {
    if (absent.has(commit) || base === null) continue;
    const from = (await repository.mergeBase(project, base, commit)) ?? base;
    if (from === commit) continue;
    for (const change of await repository.changes(project, from, commit))
      files.set(`${change.path}\0${change.after?.oid ?? ''}\0${change.after?.mode ?? ''}`, change);
  }
  const isKnown = isCommitId(baseCommit) && !absent.has(baseCommit);
  return {
    baseBranch,
    isBesideBase: isKnown && base !== null && !(await repository.isAncestor(project, baseCommit, base)),
    files: [...files.values()],
    missing,
  };
}

const isCommitId = (id: string | undefined): id is string => id !== undefined && /^[0-9a-f]{40}$/.test(id);

/** All texts of the form of a commit's id, in the order in which they stand. */
function* commitIdsIn(value: JsonValue): Generator<string> {
  if (typeof value === 'string') {
    if (isCommitId(value)) yield value;
  } else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) if (each !== undefined) yield* commitIdsIn(each);
}
