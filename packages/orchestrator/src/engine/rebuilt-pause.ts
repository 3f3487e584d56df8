/** The pause of a run that this server did not make, as it is stored: at an import, and for a fork of what was imported. */
import type { JsonObject, RunView } from '@autonomous/shared';
import type { ForkedRun } from '../core/fork.ts';

/** Fields of the pause of a run. */
export interface PauseText {
  readonly reason: 'rebuilt' | 'poisoned';
  /** One line. */
  readonly message: string;
  /** As a gate of kind `pause` shows them. */
  readonly details: JsonObject;
  /** More applies than a person can be shown: the run cannot go on, only be cancelled. Absent: it can. */
  readonly isTooLong?: true;
}

/** The pause for a run and the context of its machine; `null` where the context cannot be had. */
export type PauseOf = (view: RunView, context: JsonObject | null) => Promise<PauseText>;

export function pausePayload(
  { currentStage }: RunView,
  { reason, message, details, isTooLong }: PauseText,
): JsonObject {
  const decisions = isTooLong === true ? [] : ['retry'];
  return { gate: 'pause', stage: currentStage, decisions, summary: message, details, reason, message };
}

/** The fork, paused after its last event: none of its activities begins before a person has it go on. */
export function pausedFork(run: ForkedRun, view: RunView, pause: PauseText, timestamp: string): ForkedRun {
  const event = { type: 'RUN_PAUSED', origin: 'input', payload: pausePayload(view, pause), timestamp } as const;
  const { state } = run;
  return {
    ...run,
    state: { ...state, sequence: state.sequence + 1, parked: pause.message },
    events: [...run.events, event],
  };
}
