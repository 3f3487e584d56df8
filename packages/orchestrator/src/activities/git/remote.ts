/**
 * Calls a project's remote while the activity runs. A remote can be silent for minutes. Cancelled runs and a stopping server do
 * not wait for it. A repeated call has the same key.
 */
import { NeedsHuman, type WayOn } from '@autonomous/shared';
import type { PushResult, RemoteProject } from '../../repository/repository.ts';
import type { ActivityContext } from '../../core/activity.ts';
import type { ActivityTools } from '../tools.ts';

/** @throws {NeedsHuman} `remote_unavailable` or `auth_expired` */
export async function fetchRemote(
  tools: ActivityTools,
  { runId, signal }: ActivityContext,
  project: RemoteProject,
): Promise<void> {
  await tools.repository.fetch(project, signal);
  await tools.assertRecordKnown(project, runId, signal);
}

/**
 * Head of a branch of the remote as last fetched.
 * @param wayOut sentence for a person, where another one than to push it fits
 * @throws {NeedsHuman} `missing_at_remote` when the remote has no such branch any more
 */
export async function remoteBranchHead(
  { repository }: Pick<ActivityTools, 'repository'>,
  project: RemoteProject,
  branch: string,
  { wayOut = 'Push it, then retry.', ways }: { readonly wayOut?: string; readonly ways?: readonly WayOn[] } = {},
): Promise<string> {
  const head = await repository.remoteHead(project, branch);
  if (head !== null) return head;
  const message = `The remote has no branch '${branch}' any more. ${wayOut}`;
  throw new NeedsHuman('missing_at_remote', message, ways === undefined ? {} : { ways });
}

/** @throws {NeedsHuman} `auth_expired`, `push_rejected` or `remote_unavailable` */
export async function pushRemote(
  tools: ActivityTools,
  { runId, signal }: ActivityContext,
  project: RemoteProject,
  branch: string,
  commit: string,
  expected: string | null,
): Promise<PushResult> {
  // An older copy of a database would do once more what the run has done since.
  await tools.assertRecordKnown(project, runId, signal);
  return tools.repository.push(project, branch, commit, expected, signal);
}
