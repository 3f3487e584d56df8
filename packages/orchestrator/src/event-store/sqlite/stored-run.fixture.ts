/** Runs in a store as their events tell them, each event with a time of its own. */
import { foldRun, type JsonObject, type RunView, type WorkflowEvent } from '@autonomous/shared';
import type { EventStore } from '../event-store.ts';
import { anEvent, aStart, aView } from './steps.fixture.ts';

/** When, what, and what it says. Times are those of `Date`: `2026-03-01T12:00Z`. */
export type Told = readonly [at: string, type: string, payload?: JsonObject];

/** Stores a run that begins at a time and goes on as told, an event a step. @returns its view at the end */
export async function tell(
  store: Pick<EventStore, 'append'>,
  runId: string,
  given: Partial<RunView> & { readonly createdAt: string },
  told: readonly Told[],
): Promise<RunView> {
  const begun = aView(runId, given);
  const events = [
    aStart(begun),
    ...told.map(([at, type, payload]) => anEvent(type, payload, new Date(at).toISOString())),
  ];
  let view: RunView | null = null;
  for (const [index, event] of events.entries()) {
    view = foldRun(view, asStored(runId, index + 1, event));
    if (view === null) throw new Error(`event ${index + 1} of ${runId} begins no run`);
    await store.append({
      runId,
      expectedSequence: index,
      events: [event],
      startActivities: [],
      endActivities: [],
      setTimers: [],
      clearTimers: [],
      clarifications: [],
      view,
    });
  }
  return view as RunView; // There is one event at least.
}

function asStored(runId: string, sequence: number, event: ReturnType<typeof anEvent>): WorkflowEvent {
  const { type, origin, payload, timestamp } = event;
  return {
    id: `${runId}.${sequence}`,
    position: sequence,
    workflowRunId: runId,
    sequence,
    type,
    origin,
    payload,
    timestamp,
  };
}

/** A gate of a kind opens. */
export function opens(at: string, gate: string, stage = 'planning'): Told {
  return [at, 'APPROVAL_REQUESTED', { gate, stage, decisions: ['approve', 'reject'], summary: 'Look', details: {} }];
}

/** A call of a model that is booked and comes to this; `null` where its price is not known. */
export function calls(at: string, stage: string, model: string, costUsd: number | null, tokens = 100): readonly Told[] {
  const charge = { call: `${stage}/${model}@${at}`, stage, role: 'planner', model };
  const most = { inputTokens: 5_000, outputTokens: 5_000, costUsd: costUsd === null ? null : 9 };
  const came = { inputTokens: tokens, outputTokens: tokens / 10, costUsd };
  return [
    [at, 'CALL_BOOKED', { ...charge, ...most }],
    [at, 'CALL_SETTLED', { ...charge, ...came, booked: most, toolCalls: 0 }],
  ];
}
