/**
 * Speaking with a project's remote for as long as the activity lives. A remote may be silent for minutes; a run that is
 * cancelled and a server that stops do not wait for it. What it was told is told again under the same key, or is late.
 */
import type { PushResult, RemoteProject } from '../repository/repository.ts';
import type { ActivityContext } from '../workflow/activity.ts';
import type { BuildTools } from './build-tools.ts';

/** @throws {NeedsHuman} `remote_unavailable` or `auth_expired` */
export function fetchRemote(tools: BuildTools, { signal }: ActivityContext, project: RemoteProject): Promise<void> {
  return tools.repository.fetch(project, signal);
}

/** @throws {NeedsHuman} `auth_expired`, `push_rejected` or `remote_unavailable` */
export function pushRemote(
  tools: BuildTools,
  { signal }: ActivityContext,
  project: RemoteProject,
  branch: string,
  commit: string,
  expected: string | null,
): Promise<PushResult> {
  return tools.repository.push(project, branch, commit, expected, signal);
}
