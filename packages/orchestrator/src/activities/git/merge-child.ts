/**
 * Merges the result of a child run into its parent's branch, in the mirror alone. A parent invokes `integrateChild` for one child
 * after the other, in the order that it states, has the merged tree checked (evidence for the same tree of code is reused), and
 * moves its branch by `mergeChild` then. Both make the same commit however often they are repeated.
 */
import { NeedsHuman, TerminalFailure } from '@autonomous/shared';
import { firstLineOf } from '@autonomous/shared/presentation';
import { MEMORY_PATH } from '../../documents/memory/memory.ts';
import { ownedPaths } from '../../documents/owned-files.ts';
import { renumberedSpecPath, specsAmong } from '../../documents/plans/spec-path.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../../core/activity.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { childHead, effectKeyOfChild, type MergedChild, NUMBERING } from '../child-heads.ts';
import { commitOnBranch } from './commits.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';

export type MergeChildInput = RunHeader & {
  /** Head of the parent's branch, into which the child is merged. */
  readonly head: string;
  /** A child run of this run that has completed. */
  readonly childId: string;
};

export type ChildIntegrated = {
  /** The merge commit, to which the parent's branch is not moved yet. */
  readonly commit: string;
  readonly codeTree: string;
  /** The child began at `head`: the code is exactly that on which its own checks were run. */
  readonly fastForward: boolean;
};

export type ChildMerged = {
  /** New head of the parent's branch. */
  readonly commit: string;
  readonly codeTree: string;
};

/** Computes the merge of a child's result with the parent's head. Fails with `merge_conflict` where both changed the same lines. */
export function integrateChild(tools: ActivityTools): Activity<MergeChildInput, ChildIntegrated> {
  return {
    retry: THREE_TRIES,
    async perform(input) {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      const child = await childHead(tools, input.runId, input.childId);
      const commit = await repository.commit(project, {
        ...(await mergeOf(tools, project, input, child)),
        branch: `autonomous-merge/${input.runId}-${child.runId}-${input.head.slice(0, 12)}`,
        parent: input.head,
      });
      const codeTree = await repository.codeTree(project, commit);
      return { commit, codeTree, fastForward: child.baseCommit === input.head };
    },
  };
}

/** Moves the parent's branch from `head` to the merge that `integrateChild` gave. */
export function mergeChild(tools: ActivityTools): Activity<MergeChildInput, ChildMerged> {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const project = await tools.project(input.projectId, input.runId);
      const child = await childHead(tools, input.runId, input.childId);
      const { effectKey: key, at, ...merge } = await mergeOf(tools, project, input, child);
      // The same key and time as in `integrateChild` give the same commit.
      const as: ActivityContext = { ...context, key, startedAt: at };
      const commit = await commitOnBranch(tools, as, { ...merge, project, branch: input.branch, head: input.head });
      return { commit, codeTree: await tools.repository.codeTree(project, commit) };
    },
  };
}

interface Merge {
  readonly tree: string;
  readonly secondParent: string;
  readonly message: string;
  readonly effectKey: string;
  readonly at: string;
}

/** @throws {NeedsHuman} `merge_conflict` @throws {TerminalFailure} where the child has no commit */
async function mergeOf(
  tools: ActivityTools,
  project: RemoteProject,
  { runId, head, branch }: MergeChildInput,
  child: MergedChild,
): Promise<Merge> {
  const { repository } = tools;
  if (!(await repository.isAncestor(project, child.baseCommit, head)))
    throw new TerminalFailure(
      `Child run ${child.runId} began at ${child.baseCommit}, which ${branch} does not contain at ${head}: it cannot be merged there. Start the child anew.`,
    );
  const theirHead = await withFreeNumbers(repository, project, runId, head, child);
  const merged = await repository.mergeTrees(project, head, theirHead);
  if (!merged.ok)
    throw new NeedsHuman(
      'merge_conflict',
      `Child run ${child.runId} and ${branch} changed the same lines of ${merged.conflicts.join(', ')}. Nothing was merged; cancel the run, or start the child anew from the present branch and retry.`,
    );
  const [base, mine, theirs] = await Promise.all(
    [child.baseCommit, head, child.head].map((commit) => repository.readFile(project, commit, MEMORY_PATH)),
  );
  const withOwned = await keepOwned(tools, project, head, merged.tree, child);
  // Git takes the child's file where both have changed it, and what an earlier child has added would be lost.
  const isBoth = typeof mine === 'string' && typeof theirs === 'string' && mine !== base && theirs !== base;
  const tree = isBoth
    ? await repository.writeFiles(project, withOwned, { [MEMORY_PATH]: withAddedLines(base ?? '', mine, theirs) })
    : withOwned;
  return {
    tree,
    secondParent: theirHead,
    message: `Merge child run ${child.runId}: ${firstLineOf(child.request).slice(0, 80)}`,
    effectKey: effectKeyOfChild(runId, child.runId),
    at: child.endedAt,
  };
}

/** Keeps the parent's engine-owned files as they are at `head`, except those that the child's own workflow declares. */
async function keepOwned(
  tools: ActivityTools,
  project: RemoteProject,
  head: string,
  merged: string,
  child: MergedChild,
): Promise<string> {
  if (project.ownedFiles === undefined) return merged;
  const [ofParent, ofChild] = [ownedPaths(project.ownedFiles), ownedPaths(child.ownedPaths)];
  const changed = (await tools.repository.changes(project, head, merged)).map(({ path }) => path);
  const kept = changed.filter((path) => ofParent.has(path) && !ofChild.has(path));
  return kept.length === 0 ? merged : tools.repository.restorePaths(project, merged, head, kept);
}

/**
 * Gives plans that a child has added other numbers where plans of its siblings have taken theirs: children that run at the
 * same time count from the same base.
 * @returns a commit to merge in place of the child's head; that head where no number is taken
 */
async function withFreeNumbers(
  repository: ActivityTools['repository'],
  project: RemoteProject,
  runId: string,
  head: string,
  child: MergedChild,
): Promise<string> {
  const [before, ours, theirs] = await Promise.all(
    [child.baseCommit, head, child.head].map(async (commit) => specsAmong(await repository.listFiles(project, commit))),
  );
  const added = (paths: readonly string[] | undefined): readonly string[] =>
    (paths ?? []).filter((path) => before?.includes(path) === false);
  const siblings = added(ours);
  const taken = [...siblings, ...(theirs ?? [])];
  const moved: Record<string, string | null> = {};
  for (const path of added(theirs)) {
    if (renumberedSpecPath(path, siblings) === path) continue;
    const free = renumberedSpecPath(path, taken);
    moved[free] = await repository.readFile(project, child.head, path);
    moved[path] = null;
    taken.push(free);
  }
  if (Object.keys(moved).length === 0) return child.head;
  return repository.commit(project, {
    branch: `autonomous-merge/${runId}-${child.runId}-${head.slice(0, 12)}-numbers`,
    tree: await repository.writeFiles(project, await repository.treeOf(project, child.head), moved),
    parent: child.head,
    message: `Number the plans of child run ${child.runId} after those of its siblings`,
    effectKey: `${child.runId}/${head}/${NUMBERING}`,
    at: child.endedAt,
  });
}

/** One text with the lines that another one has added, each after the line that it follows there. */
export function withAddedLines(base: string, mine: string, theirs: string): string {
  const known = new Set([...base.split('\n'), ...mine.split('\n')]);
  const lines = mine.split('\n');
  let place = 0;
  for (const line of theirs.split('\n')) {
    if (!known.has(line)) lines.splice(place++, 0, line);
    else if (lines.includes(line, place)) place = lines.indexOf(line, place) + 1;
  }
  return lines.join('\n');
}
