/** Commits to a run's branch. A repeated commit is recognised by its effect key. */
import { Conflict, NeedsHuman } from '@autonomous/shared';
import { harmlessMessage } from '../../documents/pull-request-text.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import type { ActivityContext } from '../../core/activity.ts';
import type { ActivityTools } from '../tools.ts';

export interface OnBranch {
  readonly project: RemoteProject;
  readonly branch: string;
  /** Head of the branch as the run knows it. */
  readonly head: string;
}

export interface NewCommit extends OnBranch {
  /** Made from the tree of `head`. */
  readonly tree: string;
  readonly message: string;
  readonly secondParent?: string;
}

/** Attempts that were aborted may still commit while a later one does. */
const MAX_TRIES = 3;

/**
 * Commits a tree on top of `head`, and of nothing else: what an attempt left there whose outcome was never stored gives way.
 * @returns the commit; the same one when the activity is repeated with the same content
 * @throws {NeedsHuman} `merge_conflict` when the branch holds commits that this run did not make
 */
export async function commitOnBranch(
  tools: ActivityTools,
  context: ActivityContext,
  commit: NewCommit,
): Promise<string> {
  const { project, branch, head, tree, message, secondParent } = commit;
  for (let tries = 1; ; tries++) {
    const leftOver = await leftOverOn(tools, context.runId, commit);
    try {
      return await tools.repository.commit(project, {
        branch,
        tree,
        parent: head,
        ...(leftOver === null ? {} : { replaces: leftOver }),
        ...(secondParent === undefined ? {} : { secondParent }),
        message: harmlessMessage(message),
        effectKey: context.key,
        at: context.startedAt,
      });
    } catch (error) {
      if (!(error instanceof Conflict) || tries === MAX_TRIES) throw error;
    }
  }
}

/** The commit that an earlier attempt of this activity made on top of `head`; `null` when it made none. */
export async function committedBefore(
  tools: ActivityTools,
  context: ActivityContext,
  { project, branch, head }: OnBranch,
): Promise<string | null> {
  const commits = (await tools.repository.commitsAfter(project, branch, head)) ?? [];
  return commits.find(({ effectKey, parents }) => effectKey === context.key && parents[0] === head)?.id ?? null;
}

/**
 * Where the branch is when it is not at `head`: beyond it by commits of this run that it does not know of, or behind it in a
 * mirror that is older than the log. `null` when it is at `head` or does not exist.
 */
async function leftOverOn(
  tools: ActivityTools,
  runId: string,
  { project, branch, head }: OnBranch,
): Promise<string | null> {
  const { repository } = tools;
  const at = await repository.branchHead(project, branch);
  if (at === null || at === head) return null;
  const commits = await repository.commitsAfter(project, branch, head);
  if (commits === null && (await repository.isAncestor(project, at, head))) return at;
  const foreign = commits === null ? { id: at } : commits.find(({ effectKey }) => !effectKey?.startsWith(`${runId}/`));
  if (foreign === undefined) return at;
  throw new NeedsHuman(
    'merge_conflict',
    `The mirror's branch ${branch} holds the commit ${foreign.id}, which this run did not make. Nothing was committed: move the branch back to ${head} in the server's mirror of the project, then retry.`,
  );
}
