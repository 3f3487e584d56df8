/**
 * Speaking with a project's remote for as long as the activity lives. A remote may be silent for minutes; a run that is
 * cancelled and a server that stops do not wait for it. What it was told is told again under the same key, or is late.
 */
import type { PushResult, RemoteProject } from '../repository/repository.ts';
import type { ActivityContext } from '../core/activity.ts';
import type { ActivityTools } from './tools.ts';

/** @throws {NeedsHuman} `remote_unavailable` or `auth_expired` */
export async function fetchRemote(
  tools: ActivityTools,
  { runId, signal }: ActivityContext,
  project: RemoteProject,
): Promise<void> {
  await tools.repository.fetch(project, signal);
  await tools.assertRecordKnown(project, runId, signal);
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
