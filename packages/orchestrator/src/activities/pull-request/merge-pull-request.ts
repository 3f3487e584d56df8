/** The merge of a run's pull request by the forge, which holds all rules of the base branch. */
import { NeedsHuman, NotFound, RetryableFailure, type RunConfig, TerminalFailure } from '@autonomous/shared';
import { type Activity, type ActivityContext, FORGE_TRIES } from '../../core/activity.ts';
import { MERGE_METHODS, type MergeMethod, type PullRequest } from '../../forges/forge.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { assertAccepted } from '../evidence/concerns.ts';
import { mergeOf, type MergedThere, ownPullRequest, placeOf } from './follow-pull-request.ts';
import { assertOwnChanges } from '../git/own-changes.ts';
import { fetchRemote } from '../git/remote.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';
import { othersOnBranch } from '../git/ways-on.ts';

export type MergePullRequestInput = RunHeader & {
  readonly number: number;
  /** Commit that the run has published. The forge merges no other one. */
  readonly head: string;
  readonly baseCommit: string;
  /** Code tree that was validated; another one is never merged. */
  readonly codeTree: string;
  readonly strategy: RunConfig['git']['mergeStrategy'];
};

export type MergedPullRequest =
  | (MergedThere & {
      /** Absent where people merged it. */
      readonly method?: string;
      readonly notices: readonly string[];
    })
  | { readonly kind: 'closed' }
  /** The base has moved, and must come into the branch first. */
  | { readonly kind: 'outdated'; readonly message: string }
  /** A rule of the forge is not met. The message is for a person. */
  | { readonly kind: 'refused'; readonly message: string };

const WISHED: Readonly<Record<RunConfig['git']['mergeStrategy'], MergeMethod>> = {
  squash: 'squash',
  merge: 'merge',
  ff: 'rebase',
};

function otherBase(number: number, { base }: PullRequest, wanted: string): string {
  return `Pull request ${number} leads to '${base.branch}' now, and the result was checked for '${wanted}': it was not merged. Set its base back to '${wanted}' at the forge, or leave it open and merge it there.`;
}

function othersBeside(number: number, { branch, commit }: PullRequest['head']): string {
  return `Others pushed to '${branch}', which is at ${commit.slice(0, 10)} now: pull request ${number} was not merged, since nobody has checked that commit here. Merge it at the forge, or set the branch back there.`;
}

/** Whether an earlier attempt of this activity made a merge and its answer was lost, such as by the end of the server. */
async function isOfEarlierAttempt(
  { forge }: ActivityTools,
  { attempt, signal }: ActivityContext,
  { by, head }: MergedThere,
  wanted: string,
): Promise<boolean> {
  if (attempt === 1 || head !== wanted || by === null) return false;
  const account = (await forge?.examine(null, signal))?.account ?? null;
  return account?.toLowerCase() === by.toLowerCase();
}

/**
 * Whether the merge brought exactly the tree that was checked. The forge takes the base as it is in that moment.
 * @returns `null` where the merge cannot be read
 */
async function isAsChecked(
  tools: ActivityTools,
  context: ActivityContext,
  { project, head, commit }: { readonly project: RemoteProject; readonly head: string; readonly commit: string },
): Promise<boolean | null> {
  const { repository } = tools;
  try {
    await fetchRemote(tools, context, project);
    const [merged, checked] = await Promise.all([commit, head].map((each) => repository.treeOf(project, each)));
    return merged === checked;
  } catch (error) {
    context.signal.throwIfAborted();
    // The merge itself is done, whatever cannot be read now: somebody may have moved the base back by force.
    if (error instanceof NeedsHuman || error instanceof RetryableFailure || error instanceof NotFound) return null;
    throw error;
  }
}

export function mergePullRequest(tools: ActivityTools): Activity<MergePullRequestInput, MergedPullRequest> {
  return {
    retry: FORGE_TRIES,
    async perform(input, context): Promise<MergedPullRequest> {
      const { number, head, branch, baseCommit } = input;
      const { repository, project } = await placeOf(tools, context, input);
      const codeTree = await tools.repository.codeTree(project, head);
      if (codeTree !== input.codeTree)
        throw new TerminalFailure(
          `The branch ${branch} holds the code tree ${codeTree}, validated was ${input.codeTree}.`,
        );
      const view = await tools.view(input.runId);
      const baseBranch = view.config.git.baseBranch || project.baseBranch;
      const there = await ownPullRequest(tools, repository, input);
      const before = mergeOf(there);
      // A merge into another branch is one of people, with whatever account: the run makes none.
      const isOwn = before?.baseBranch === baseBranch && (await isOfEarlierAttempt(tools, context, before, head));
      if (before !== null && !isOwn) return { ...before, notices: [] };
      const { mergeMethods } = await repository.facts();
      const wished = WISHED[input.strategy];
      const method = mergeMethods.includes(wished) ? wished : MERGE_METHODS.find((each) => mergeMethods.includes(each));
      const mergedByRun = async (commit: string, into: string): Promise<MergedPullRequest> => {
        const notices =
          method === wished || method === undefined
            ? []
            : [`The repository does not allow ${wished}: pull request ${number} was merged by ${method}.`];
        const isSame = await isAsChecked(tools, context, { project, head, commit });
        if (isSame === null)
          notices.push(
            `Pull request ${number} was merged into '${into}' as commit ${commit.slice(0, 10)}, which could not be read afterwards: nobody has compared it with what was checked. Look at '${into}'.`,
          );
        if (isSame === false)
          notices.push(
            `Other commits came to '${into}' in the moment of the merge: pull request ${number} was merged with them, and nobody has checked both together. Run the checks on '${into}'.`,
          );
        return { kind: 'merged', commit, by: null, baseBranch: into, head, ...(method ? { method } : {}), notices };
      };
      if (before !== null) return mergedByRun(before.commit, before.baseBranch);
      if (there.base.branch !== baseBranch) return { kind: 'refused', message: otherBase(number, there, baseBranch) };
      await fetchRemote(tools, context, project);
      const base = await tools.repository.remoteHead(project, baseBranch);
      // The forge would merge onto it all the same, where no rule of the branch forbids that.
      if (base !== null && !(await tools.repository.isAncestor(project, base, head)))
        return { kind: 'outdated', message: `The branch '${baseBranch}' has moved since the result was checked.` };
      await assertOwnChanges(tools, { project, branch, head, baseBranch, baseCommit });
      await assertAccepted(tools, { project, view, baseCommit, head, signal: context.signal });
      if (method === undefined)
        return {
          kind: 'refused',
          message: `Pull request ${number} was not merged: the repository allows no way of merging. Allow one in its settings.`,
        };
      const outcome = await repository.merge({ number, method, head });
      // Somebody may have given it another base since it was read; the request for a merge cannot name one.
      if (outcome.merged) return mergedByRun(outcome.commit, (await repository.pullRequest(number)).base.branch);
      const { refusal, message } = outcome;
      switch (refusal) {
        case 'head_moved': {
          const moved = (await repository.pullRequest(number)).head;
          if (moved.branch === branch) throw othersOnBranch(branch, moved.commit);
          // Commits are taken in from the run's own branch alone.
          return { kind: 'refused', message: othersBeside(number, moved) };
        }
        case 'conflict':
        case 'base_moved':
          return { kind: 'outdated', message };
        case 'closed': {
          const merged = mergeOf(await repository.pullRequest(number));
          return merged === null ? { kind: 'closed' } : { ...merged, notices: [] };
        }
        case 'blocked': {
          const { mergeability } = await repository.pullRequest(number);
          return { kind: mergeability === 'behind' ? 'outdated' : 'refused', message };
        }
        case 'draft':
        case 'method_not_allowed':
          return { kind: 'refused', message };
        default:
          return refusal satisfies never;
      }
    },
  };
}
