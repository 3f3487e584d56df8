/** Finds the concerns about a run's whole result that nobody has accepted yet, neither in this run nor in a child run. */
import { type Concern, openConcerns, type WorkflowEvent } from '@autonomous/shared';
import { type Activity, THREE_TRIES } from '../../core/activity.ts';
import { acceptedConcernsOf } from '../child-heads.ts';
import { concernsOf } from './concerns.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';

export type FindConcernsInput = RunHeader & { readonly baseCommit: string; readonly head: string };

/** @param followed path of the file in the project that the run followed. Default: none */
export function findConcerns(
  tools: ActivityTools,
  followed: (events: readonly WorkflowEvent[]) => string | null = () => null,
): Activity<FindConcernsInput, { readonly concerns: readonly Concern[] }> {
  return {
    retry: THREE_TRIES,
    async perform({ runId, projectId, baseCommit, head }, { signal }) {
      const project = await tools.project(projectId, runId);
      const view = await tools.view(runId);
      const result = { project, view, baseCommit, head, signal, followed: followed(await tools.events(runId)) };
      const accepted = await acceptedConcernsOf(tools, project, view.acceptedConcerns ?? [], result);
      return { concerns: openConcerns(await concernsOf(tools, result), accepted) };
    },
  };
}
