/**
 * Asserts before a merge that the base branch gets only the run's own changes. They are recomputed from the commits of the
 * run's branch and not read from the run's state.
 */
import { NeedsHuman } from '@autonomous/shared';
import { MEMORY_PATH } from '../../documents/memory/memory.ts';
import { type OwnedPaths, ownedPaths } from '../../documents/owned-files.ts';
import { SPECS } from '../../documents/plans/spec-path.ts';
import { RecentAnswers } from '../../repository/recent-answers.ts';
import type { BranchCommit, RemoteProject, TreeChange } from '../../repository/repository.ts';
import { childTakenInBy, NUMBERING, OWNED } from '../child-heads.ts';
import type { ActivityTools } from '../tools.ts';
import { TAKING_IN } from './ways.ts';

export interface Change {
  readonly project: RemoteProject;
  readonly branch: string;
  readonly head: string;
  readonly baseBranch: string;
  /** Contained in `head`. */
  readonly baseCommit: string;
}

/** Activities whose commits are the server's own records: they leave the code and the records of others as they are. */
const RECORDING: ReadonlySet<string> = new Set([
  'commitPlan',
  'revisePlan',
  'report',
  'copyRecord',
  'integrate',
  NUMBERING,
]);
const TAKEN_IN: ReadonlySet<string> = new Set(Object.values(TAKING_IN));
/** Paths that a message names. */
const PATHS_NAMED = 5;

/**
 * Each commit after the base either takes the base in, exactly as git merges the two, or is of an activity of the run that
 * may change what it changes. All that differs from the base is of the latter.
 * @throws {NeedsHuman} `merge_conflict`
 */
export async function assertOwnChanges(tools: ActivityTools, change: Change): Promise<void> {
  const { project, baseCommit, head } = change;
  const { own, undone } = await pathsOf(tools, project, change);
  const changes = await tools.repository.changes(project, baseCommit, head);
  const changed = changes.map(({ path }) => path).filter((path) => undone.has(path) || !own.has(path));
  if (changed.length > 0) throw notOwn(change, changed.sort());
}

interface Paths {
  /** Changed by the run itself, or by a child run that was merged into it. */
  readonly own: ReadonlySet<string>;
  readonly undone: ReadonlySet<string>;
}

async function pathsOf(
  tools: ActivityTools,
  project: RemoteProject,
  { baseCommit, head }: Pick<Change, 'baseCommit' | 'head'>,
): Promise<Paths> {
  const commits = (await tools.repository.commitsBetween(project, baseCommit, head)).toReversed();
  const steps = await stepsOf(tools, project, commits, baseCommit);
  const owned = ownedPaths(project.ownedFiles);
  const own = new Set<string>();
  const undone = new Set<string>();
  for (const [index, commit] of commits.entries()) {
    const step = steps[index] ?? { undone: [], changed: [] };
    const child = await childTakenInBy(tools, project, commit);
    if (child === null) {
      for (const path of undoneBy(commit, step, own, owned)) undone.add(path);
      continue;
    }
    const ofChild = await pathsOf(tools, await tools.project(project.id, child.runId), child);
    for (const path of ofChild.own) own.add(path);
    // The memory file has the lines of both, and engine-owned files stay as they were.
    for (const path of [...ofChild.undone, ...step.undone])
      if (path !== MEMORY_PATH && !owned.has(path)) undone.add(path);
  }
  return { own, undone };
}

/** A commit of the run's branch. It never changes, so that each is looked at once however often its run comes to a merge. */
interface Step {
  /** Of a commit that takes the base in: paths in which it differs from git's own merge. */
  readonly undone: readonly string[];
  /** Of any other: what it changes. */
  readonly changed: readonly { readonly path: string; readonly isNew: boolean }[];
}

const PATHS_KEPT = 200_000;
const known = new RecentAnswers<Step>(PATHS_KEPT, ({ undone, changed }) => 1 + undone.length + changed.length);

/**
 * @param commits along the first parents, oldest first
 * @param base what is in it was taken from the base branch
 */
async function stepsOf(
  { repository }: ActivityTools,
  project: RemoteProject,
  commits: readonly BranchCommit[],
  base: string,
): Promise<readonly Step[]> {
  const steps = new Map<string, Step>();
  const compared: { readonly commit: BranchCommit; readonly from: string }[] = [];
  for (const [index, commit] of commits.entries()) {
    const before = known.get(commit.id);
    if (before !== undefined) {
      steps.set(commit.id, before);
      continue;
    }
    const [parent = '', taken] = commit.parents;
    if (taken === undefined) {
      const previous = commits[index - 1];
      const from = previous?.id === parent ? previous.tree : await repository.treeOf(project, parent);
      compared.push({ commit, from });
      continue;
    }
    const merged = await repository.mergeTrees(project, parent, taken);
    const isTakenIn = TAKEN_IN.has(activityOf(commit) ?? '');
    // Commits of people that one of them had the run take in are of the run from then on.
    if (isTakenIn && !(await repository.isAncestor(project, taken, base))) {
      const [changes = []] = await repository.changesOfTrees(project, [
        [await repository.treeOf(project, parent), commit.tree],
      ]);
      steps.set(commit.id, {
        undone: [],
        changed: changes.map(({ path, before: was }) => ({ path, isNew: was === null })),
      });
    } else if (merged.ok || isTakenIn) compared.push({ commit, from: merged.tree });
    else steps.set(commit.id, { undone: merged.conflicts, changed: [] });
  }
  const found = await repository.changesOfTrees(
    project,
    compared.map(({ commit, from }) => [from, commit.tree]),
  );
  for (const [index, { commit }] of compared.entries()) steps.set(commit.id, stepOf(commit, found[index] ?? []));
  for (const [id, step] of steps) known.keep(id, step);
  return commits.flatMap(({ id }) => steps.get(id) ?? []);
}

function activityOf({ effectKey }: BranchCommit): string | undefined {
  return effectKey?.split('/')[2];
}

function stepOf({ parents }: BranchCommit, changes: readonly TreeChange[]): Step {
  if (parents.length > 1) return { undone: changes.map(({ path }) => path), changed: [] };
  return { undone: [], changed: changes.map(({ path, before }) => ({ path, isNew: before === null })) };
}

/**
 * Paths that a commit changes and may not.
 * @param own paths that the run has changed so far; those of this commit are added
 * @param owned engine-owned files, which only commits of them change
 */
function undoneBy({ effectKey }: BranchCommit, step: Step, own: Set<string>, owned: OwnedPaths): readonly string[] {
  const [runId = '', kind, activity = ''] = effectKey?.split('/') ?? [];
  const undone = step.changed.filter(({ path, isNew }) => {
    if (owned.has(path) || kind === OWNED) return !owned.has(path) || kind !== OWNED;
    if (!RECORDING.has(activity) || path === MEMORY_PATH) return false;
    if (path.startsWith(`.autonomous/runs/${runId}/`)) return false;
    return !(path.startsWith(SPECS) && (isNew || own.has(path)));
  });
  for (const { path } of step.changed) own.add(path);
  return [...step.undone.filter((path) => !owned.has(path)), ...undone.map(({ path }) => path)];
}

function notOwn({ branch, baseBranch }: Change, paths: readonly string[]): NeedsHuman {
  const more = paths.length > PATHS_NAMED ? ` and ${paths.length - PATHS_NAMED} more` : '';
  return new NeedsHuman(
    'merge_conflict',
    `Merging ${branch} would undo work of others in ${baseBranch}: ${paths.slice(0, PATHS_NAMED).join(', ')}${more} would change, and this run did not change that. Nothing was merged; fork the run from its plan, or cancel it and start a new run.`,
  );
}
