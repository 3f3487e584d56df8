/** The push of a run's own branch to its project's remote. */
import { NeedsHuman } from '@autonomous/shared';
import { type Activity, type ActivityContext, THREE_TRIES } from '../core/activity.ts';
import type { RemoteProject } from '../repository/repository.ts';
import { outgoingCommit } from './outgoing.ts';
import { fetchRemote, pushRemote } from './remote.ts';
import type { ActivityTools } from './tools.ts';
import type { Published, RunHeader } from './types.ts';

export function pushBranch(tools: ActivityTools): Activity<RunHeader & { readonly commit: string }, Published> {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      // The branch of a child run is for its parent, which has it in the mirror.
      if ((await tools.view(input.runId)).parent !== undefined) return { commit: input.commit, pushed: false };
      return pushedForPeople(tools, context, input);
    },
  };
}

/** The same for a run whose work a person has to see on the remote, a child run included. */
export function shareBranch(tools: ActivityTools): Activity<RunHeader & { readonly commit: string }, Published> {
  return { retry: THREE_TRIES, perform: (input, context) => pushedForPeople(tools, context, input) };
}

/** @throws {NeedsHuman} `secret_found`, `push_rejected`, `remote_unavailable` or `auth_expired` */
async function pushedForPeople(
  tools: ActivityTools,
  context: ActivityContext,
  input: RunHeader & { readonly commit: string },
): Promise<Published> {
  const project = await tools.project(input.projectId);
  const commit = await outgoingCommit(tools, context, { ...input, project });
  await pushOwn(tools, context, project, input.branch, commit);
  return { commit, pushed: true };
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
  throw new NeedsHuman(
    'push_rejected',
    `The remote branch ${branch} is at ${there ?? 'no commit'}, which this run did not push. Move it out of the way, then retry.`,
  );
}

/** The remote's branch may have moved since the last fetch, and may move once more. */
const PUSH_TRIES = 3;
