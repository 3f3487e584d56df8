/** Commits on a run's branch that recognise their own repetition. */
import { Conflict } from '@autonomous/shared';
import type { RemoteProject } from '../repository/repository.ts';
import type { ActivityContext } from '../workflow/activity.ts';
import type { BuildTools } from './build-tools.ts';

export interface BranchCommit {
  readonly project: RemoteProject;
  readonly branch: string;
  /** Head of the branch as the run knows it. */
  readonly head: string;
  readonly tree: string;
  readonly message: string;
  readonly secondParent?: string;
}

/** @returns the commit; the same one when the activity is repeated */
export async function commitOnBranch(
  tools: BuildTools,
  context: ActivityContext,
  commit: BranchCommit,
): Promise<string> {
  const { project, branch, head, tree, message, secondParent } = commit;
  return tools.repository.commit(project, {
    branch,
    tree,
    parent: await currentHead(tools, project, branch, head),
    ...(secondParent === undefined ? {} : { secondParent }),
    message,
    effectKey: context.key,
    at: context.startedAt,
  });
}

/**
 * Where the run's branch is: at the head that the run knows, or beyond it by a commit whose activation was left before
 * its outcome was heard.
 * @throws {Conflict} when the branch is somewhere else altogether
 */
async function currentHead(tools: BuildTools, project: RemoteProject, branch: string, head: string): Promise<string> {
  const at = await tools.repository.branchHead(project, branch);
  if (at === null || at === head) return head;
  if (await tools.repository.isAncestor(project, head, at)) return at;
  throw new Conflict(`Branch ${branch} is at ${at}, which does not descend from ${head}.`);
}
