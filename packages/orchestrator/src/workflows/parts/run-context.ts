/** Context that every run of a project has, and inputs of activities that are made of it. */
import type { RunHeader } from '../../activities/types.ts';

/** The header that each activity takes of its run. */
export function headerOf({ runId, projectId, request, branch, startedAt }: RunHeader): RunHeader {
  return { runId, projectId, request, branch, startedAt };
}

/** The title under which a run is committed and merged: that of its document, or the beginning of its request. */
export function titleOf(title: string | undefined, { request }: Pick<RunHeader, 'request'>): string {
  return title ?? request.slice(0, 80);
}
