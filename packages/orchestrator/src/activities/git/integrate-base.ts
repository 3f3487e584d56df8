/**
 * Taking in the latest base: it is merged into the run's branch before the result is published. After a pause the same is done
 * with conflicts, or with what others have pushed to the run's branch, where a person chose that.
 */
import { NeedsHuman } from '@autonomous/shared';
import { MEMORY_PATH } from '../../documents/memory/memory.ts';
import { renumberedSpecPath, specsAmong } from '../../documents/plans/spec-path.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../../core/activity.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { commitOnBranch } from './commits.ts';
import { takeMergeTurn } from './merge-turns.ts';
import { assertStands, findOwnMerge } from './own-merge.ts';
import { fetchRemote, remoteBranchHead } from './remote.ts';
import { conflictWithBase, othersOnBranch, withoutBase } from './ways-on.ts';
import { shareBranch } from './push-branch.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';

/** Input of `integrate`. */
export type IntegrateInput = RunHeader & {
  readonly head: string;
  readonly baseCommit: string;
  readonly baseBranch: string;
  /** Path of the run's own plan. Empty: it has none. Other specifications of the branch, such as those of child runs, move as well. */
  readonly planPath: string;
};

/** The base branch as it was brought into the run's branch. */
export type IntegratedBase =
  | { readonly moved: false }
  | { readonly moved: true; readonly baseCommit: string; readonly commit: string; readonly codeTree: string };

/** The base as it was integrated, and where the run's plan is then. */
export type Integrated =
  | Extract<IntegratedBase, { moved: false }>
  | (Extract<IntegratedBase, { moved: true }> & {
      /** Differs from the previous path if the base has meanwhile used the plan's number. */
      readonly planPath: string;
    });

export function integrate(tools: ActivityTools): Activity<IntegrateInput, Integrated> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Integrated> {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      await takeMergeTurn(tools, context, input);
      await fetchRemote(tools, context, project);
      const base = await remoteBranchHead(tools, project, input.baseBranch, {
        wayOut: 'Push it again and retry, or leave the result as its branch.',
        ways: [withoutBase(input, 'as it is', `${input.baseBranch} was not there.`)],
      });
      if (base === input.baseCommit) return { moved: false };
      await assertMovedOn(tools, project, input, base);
      const { runId, head, baseCommit: since } = input;
      const merged = await findOwnMerge(repository, project, { runId, head, since, base });
      if (merged !== null) {
        await assertStands(repository, project, input, { ...merged, base });
        // `merge` finds it, too.
        return { moved: false };
      }
      // The base may move once more between two attempts: each of its states is an effect of its own.
      const key = `${context.key}/${base.slice(0, 12)}`;
      const specs = await movedSpecs(tools, project, input, base);
      const planPath = specs.get(input.planPath) ?? input.planPath;
      const commit = await mergeBase(tools, { ...context, key }, project, input, base, specs);
      return { moved: true, baseCommit: base, commit, codeTree: await repository.codeTree(project, commit), planPath };
    },
  };
}

export type TakeInInput = IntegrateInput & {
  /** `base`: the latest base. `branch`: what others have pushed to the run's own branch. */
  readonly from: 'base' | 'branch';
  /** Commit that a person chose, the only one that is taken in. Absent: whatever is there. */
  readonly named?: string;
};

/** Commits that were taken in. Files with conflicts have git's markers and wait for an agent. */
export type TakenIn = {
  readonly commit: string;
  readonly codeTree: string;
  /** The base that the branch contains now. */
  readonly baseCommit: string;
  readonly planPath: string;
  readonly conflicts: readonly string[];
};

/** Merges as a person chose it at a pause. Its activities have the names of `TAKING_IN` in every machine. */
export function takeIn(tools: ActivityTools): Activity<TakeInInput, TakenIn> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<TakenIn> {
      const { repository } = tools;
      const { head, branch, baseBranch } = input;
      const project = await tools.project(input.projectId, input.runId);
      await fetchRemote(tools, context, project);
      const isBase = input.from === 'base';
      const from = isBase ? baseBranch : branch;
      const theirs = await remoteBranchHead(tools, project, from);
      if (isBase) await assertMovedOn(tools, project, input, theirs);
      if (input.named !== undefined && input.named !== theirs) throw othersOnBranch(branch, theirs);
      const unchanged = { commit: head, baseCommit: input.baseCommit, planPath: input.planPath };
      if (await repository.isAncestor(project, theirs, head))
        return { ...unchanged, codeTree: await repository.codeTree(project, head), conflicts: [] };
      const own = { ...context, key: `${context.key}/${theirs.slice(0, 12)}` };
      const specs = isBase ? await movedSpecs(tools, project, input, theirs) : new Map<string, string>();
      const planPath = specs.get(input.planPath) ?? input.planPath;
      const ready = isBase ? await prepared(tools, own, project, input, specs) : head;
      const merged = await repository.mergeTrees(project, ready, theirs);
      const conflicts = merged.ok ? [] : merged.conflicts;
      const commit = await commitOnBranch(tools, own, {
        project,
        branch,
        head: ready,
        tree: merged.tree,
        secondParent: theirs,
        message: `Take in ${from}${conflicts.length === 0 ? '' : ', with conflicts'}`,
      });
      // Commits of others may build on a newer base.
      const base = isBase ? theirs : await newerBase(tools, project, input, commit);
      const codeTree = await repository.codeTree(project, commit);
      return { commit, codeTree, baseCommit: base, planPath, conflicts };
    },
  };
}

/** The base branch's head where the commit contains it, else the base as before. */
async function newerBase(
  { repository }: ActivityTools,
  project: RemoteProject,
  { baseBranch, baseCommit }: IntegrateInput,
  commit: string,
): Promise<string> {
  const base = await repository.remoteHead(project, baseBranch);
  return base !== null && (await repository.isAncestor(project, base, commit)) ? base : baseCommit;
}

/** What was taken out of the base branch on purpose must not come back with a run that began before. */
async function assertMovedOn(
  tools: ActivityTools,
  project: RemoteProject,
  input: IntegrateInput,
  base: string,
): Promise<void> {
  if (await tools.repository.isAncestor(project, input.baseCommit, base)) return;
  throw new NeedsHuman(
    'merge_conflict',
    `The history of ${input.baseBranch} was rewritten: it no longer contains ${input.baseCommit}, where this run began. Nothing was merged. Cancel the run and start a new one, or restore that commit and retry.`,
    {
      ways: [
        withoutBase(
          input,
          `with the commits that ${input.baseBranch} no longer has`,
          `The history of ${input.baseBranch} was rewritten; this branch has commits that were taken out there.`,
        ),
      ],
    },
  );
}

/**
 * New paths of the specifications that the run's branch has added, by their present paths. Runs that began at the same time may have
 * given the same number; a number that the new base has not used stays.
 */
async function movedSpecs(
  { repository }: ActivityTools,
  project: RemoteProject,
  { head, baseCommit }: IntegrateInput,
  base: string,
): Promise<ReadonlyMap<string, string>> {
  const [before, ours, theirs] = await Promise.all(
    [baseCommit, head, base].map(async (commit) => specsAmong(await repository.listFiles(project, commit))),
  );
  const added = (ours ?? []).filter((path) => before?.includes(path) !== true);
  const taken = [...(theirs ?? []), ...added];
  const moved = new Map<string, string>();
  for (const path of added) {
    if (renumberedSpecPath(path, theirs ?? []) === path) continue;
    const [own, other] = await Promise.all([head, base].map((commit) => repository.readFile(project, commit, path)));
    // Somebody may have merged the run's pushed branch by hand.
    if (own === other) continue;
    const free = renumberedSpecPath(path, taken);
    moved.set(path, free);
    taken.push(free);
  }
  return moved;
}

async function mergeBase(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: IntegrateInput,
  base: string,
  specs: ReadonlyMap<string, string>,
): Promise<string> {
  const head = await prepared(tools, context, project, input, specs);
  const merged = await tools.repository.mergeTrees(project, head, base);
  if (!merged.ok) {
    // For a person who resolves the conflict by hand.
    await shareBranch(tools).perform({ ...input, commit: input.head }, context);
    throw conflictWithBase(input, merged.conflicts);
  }
  return commitOnBranch(tools, context, {
    project,
    branch: input.branch,
    head,
    tree: merged.tree,
    secondParent: base,
    message: `Take in ${input.baseBranch}`,
  });
}

/**
 * Prepares the run's head for a merge with the new base. The memory file is restored to its state at the run's start:
 * it is never text-merged, but written again on the latest base. Specifications move to paths whose numbers are free.
 * @param specs new paths by present path, see `movedSpecs`
 * @returns the new commit, or the head where nothing had to change
 */
async function prepared(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: IntegrateInput,
  specs: ReadonlyMap<string, string>,
): Promise<string> {
  const { repository } = tools;
  const before = await repository.treeOf(project, input.head);
  let tree = await repository.restorePaths(project, before, input.baseCommit, [MEMORY_PATH]);
  const files: Record<string, string | null> = {};
  for (const [path, free] of specs) {
    files[path] = null;
    files[free] = await repository.readFile(project, input.head, path);
  }
  if (specs.size > 0) tree = await repository.writeFiles(project, tree, files);
  if (tree === before) return input.head;
  const message = `Make room for what ${input.baseBranch} has brought`;
  return commitOnBranch(
    tools,
    { ...context, key: `${context.key}/room` },
    { project, branch: input.branch, head: input.head, tree, message },
  );
}
