/**
 * The assertion before a merge: what the base branch would get is what the run itself changed. Recomputed from the commits of
 * the run's branch, whatever the run holds to be true of them.
 */
import { NeedsHuman } from '@autonomous/shared';
import { MEMORY_PATH } from '../artifacts/memory.ts';
import type { BranchCommit, RemoteProject } from '../repository/repository.ts';
import type { BuildTools } from './build-tools.ts';

export interface Change {
  readonly project: RemoteProject;
  readonly branch: string;
  readonly head: string;
  readonly baseBranch: string;
  /** Contained in `head`. */
  readonly baseCommit: string;
}

/** Activities whose commits are the server's own records: they leave the code and the records of others as they are. */
const RECORDING: ReadonlySet<string> = new Set(['commitPlan', 'revisePlan', 'report', 'copyRecord', 'integrate']);
const SPECS = '.autonomous/specs/';
/** Paths that a message names. */
const PATHS_NAMED = 5;

/**
 * Each commit after the base either takes the base in, exactly as git merges the two, or is of an activity of the run that
 * may change what it changes. All that differs from the base is of the latter.
 * @throws {NeedsHuman} `merge_conflict`
 */
export async function assertOwnChanges(tools: BuildTools, change: Change): Promise<void> {
  const { repository } = tools;
  const { project, baseCommit, head } = change;
  const commits = (await repository.commitsBetween(project, baseCommit, head)).toReversed();
  const own = new Set<string>();
  const undone = new Set<string>();
  for (const commit of commits) {
    for (const path of await undoneBy(tools, project, commit, own)) undone.add(path);
  }
  const { files } = await repository.diff(project, baseCommit, head);
  const changed = files.map(({ path }) => path).filter((path) => undone.has(path) || !own.has(path));
  if (changed.length > 0) throw notOwn(change, changed.sort());
}

/**
 * What a commit changes that is not its to change.
 * @param own paths that the run has changed so far; those of this commit are added
 */
async function undoneBy(
  { repository }: BuildTools,
  project: RemoteProject,
  commit: BranchCommit,
  own: Set<string>,
): Promise<readonly string[]> {
  const [parent = '', taken] = commit.parents;
  if (taken !== undefined) {
    const merged = await repository.mergeTrees(project, parent, taken);
    if (!merged.ok) return merged.conflicts;
    return (await repository.diff(project, merged.tree, commit.tree)).files.map(({ path }) => path);
  }
  const [runId = '', , activity = ''] = commit.effectKey?.split('/') ?? [];
  const { files } = await repository.diff(project, parent, commit.tree);
  const undone = files.filter(({ path, status }) => {
    if (!RECORDING.has(activity) || path === MEMORY_PATH) return false;
    if (path.startsWith(`.autonomous/runs/${runId}/`)) return false;
    return !(path.startsWith(SPECS) && (status === 'added' || own.has(path)));
  });
  for (const { path } of files) own.add(path);
  return undone.map(({ path }) => path);
}

function notOwn({ branch, baseBranch }: Change, paths: readonly string[]): NeedsHuman {
  const more = paths.length > PATHS_NAMED ? ` and ${paths.length - PATHS_NAMED} more` : '';
  return new NeedsHuman(
    'merge_conflict',
    `Merging ${branch} would undo work of others in ${baseBranch}: ${paths.slice(0, PATHS_NAMED).join(', ')}${more} would change, and this run did not change that. Nothing was merged; fork the run from its plan, or cancel it and start anew.`,
  );
}
