/** The push of a run's own branch to its project's remote. */
import { NeedsHuman, type RunView, TerminalFailure } from '@autonomous/shared';
import { type Activity, type ActivityContext, FORGE_TRIES, THREE_TRIES } from '../../core/activity.ts';
import { isBranchOfRun } from '../../documents/run-branch.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { outgoingCommit } from './outgoing.ts';
import { type Branch, openPullRequest } from '../pull-request/open-pull-request.ts';
import { fetchRemote, pushRemote } from './remote.ts';
import type { ActivityTools } from '../tools.ts';
import type { Published, RunHeader } from '../types.ts';
import { besideOf, othersOnBranch } from './ways-on.ts';

export type PushInput = RunHeader & {
  readonly commit: string;
  /** The run's commits go to a branch beside its own, which others use. */
  readonly beside?: true;
  /** A pull request that is opened is a draft, for which nobody is asked for a review. */
  readonly isDraft?: true;
  /** The branch is pushed once more before it is published: no pull request is opened yet. */
  readonly isEarly?: true;
};

/**
 * @param documentOf Markdown that a pull request shows as the plan, for a workflow whose runs have no specification; `null`: none.
 *   By default it is the run's last specification.
 */
export function pushBranch(
  tools: ActivityTools,
  documentOf: (view: RunView, commit: string) => Promise<string | null> = () => Promise.resolve(null),
): Activity<PushInput, Published> {
  return {
    retry: FORGE_TRIES,
    async perform(input, context) {
      // The branch of a child run is for its parent, which has it in the mirror.
      const view = await tools.view(input.runId);
      if (view.parent !== undefined) return { commit: input.commit, pushed: false };
      const published = await pushedForPeople(tools, context, input).catch((error: unknown) => {
        throw input.isDraft === true ? withoutWays(error) : error;
      });
      if (!view.config.git.createPR || input.isEarly === true) return published;
      const document = await documentOf(view, published.commit);
      return withPullRequest(tools, context, { view, published, document, isDraft: input.isDraft === true });
    },
  };
}

/** Before there is a result, a way on from its publication would lead past the implementation. */
function withoutWays(error: unknown): unknown {
  if (!(error instanceof NeedsHuman) || error.reason !== 'push_rejected') return error;
  return new NeedsHuman(error.reason, error.message, { cause: error });
}

async function withPullRequest(
  tools: ActivityTools,
  context: ActivityContext,
  { view, published, ...rest }: Pick<Branch, 'view' | 'document' | 'isDraft'> & { readonly published: Published },
): Promise<Published> {
  const project = await tools.project(view.projectId, view.id);
  const { branch = view.branch, commit } = published;
  const opened = await openPullRequest(tools, context, { project, view, branch, commit, ...rest });
  if (opened === null) return published;
  const { number, url, notices } = opened;
  return {
    ...published,
    pullRequest: { number, url },
    note: [`${rest.isDraft ? 'Draft pull' : 'Pull'} request ${number}: ${url}`, ...notices].join('\n'),
  };
}

/** The same for a run whose work a person has to see on the remote, a child run included. */
export function shareBranch(tools: ActivityTools): Activity<RunHeader & { readonly commit: string }, Published> {
  return { retry: THREE_TRIES, perform: (input, context) => pushedForPeople(tools, context, input) };
}

/** @throws {NeedsHuman} `secret_found`, `push_rejected`, `remote_unavailable` or `auth_expired` */
async function pushedForPeople(tools: ActivityTools, context: ActivityContext, input: PushInput): Promise<Published> {
  const project = await tools.project(input.projectId, input.runId);
  const commit = await outgoingCommit(tools, context, { ...input, project });
  const branch = input.beside === true ? besideOf(input.branch) : input.branch;
  if (!isBranchOfRun(branch, input.runId))
    throw new TerminalFailure(`Run ${input.runId} may not push to ${branch}, which is no branch of its own.`);
  await pushOwn(tools, context, project, branch, commit);
  return { commit, pushed: true, ...(input.beside === true ? { branch } : {}) };
}

/** Pushes to the run's own branch; what is there must be an earlier state of it. A branch that was deleted is made again. */
async function pushOwn(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  branch: string,
  commit: string,
): Promise<void> {
  const { repository } = tools;
  const contains = async (there: string | null): Promise<boolean> =>
    there === null || (await repository.isAncestor(project, there, commit).catch(() => false));
  let there = await repository.remoteHead(project, branch);
  if (!(await contains(there))) {
    // Somebody may have moved the branch out of the way since the last fetch.
    await fetchRemote(tools, context, project);
    there = await repository.remoteHead(project, branch);
  }
  for (let tries = 1; tries <= PUSH_TRIES && (await contains(there)); tries++) {
    const pushed = await pushRemote(tools, context, project, branch, commit, there);
    if (pushed.ok) return;
    there = pushed.remoteCommit;
  }
  throw othersOnBranch(branch, there);
}

/** The remote's branch may have moved since the last fetch, and may move once more. */
const PUSH_TRIES = 3;
