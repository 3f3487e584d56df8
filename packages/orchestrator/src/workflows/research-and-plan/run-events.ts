/** The events from which findings and sources of a plan are read. */
import type { WorkflowEvent } from '@autonomous/shared';
import type { ActivityTools } from '../../activities/tools.ts';

/** Those of the research run, then those of the run itself, whose researchers looked into new claims. */
export async function eventsOfBoth(
  tools: Pick<ActivityTools, 'events'>,
  { runId, researchRun }: { readonly runId: string; readonly researchRun: string },
): Promise<readonly WorkflowEvent[]> {
  return [...(await tools.events(researchRun)), ...(await tools.events(runId))];
}
