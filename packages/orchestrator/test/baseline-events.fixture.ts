/** Events of a run's baseline, which come when its checks end and not where the story of the run has them. */
import { isEvent, type WorkflowEvent } from '@autonomous/shared';
import { statePath } from './run-under-test.fixture.ts';

/** The checks of the base commit go on beside the rest: when they end is no part of the story. */
export function isOfTheBaseline(event: WorkflowEvent): boolean {
  if (isEvent(event, 'ACTIVITY_COMPLETED')) return event.payload.activity === 'baseline';
  if (isEvent(event, 'STATE_CHANGED')) return statePath(event.payload.state) === 'awaitingBaseline';
  return event.type === 'BASELINE_RECORDED';
}
