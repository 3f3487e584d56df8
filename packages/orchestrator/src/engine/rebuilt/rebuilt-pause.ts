/** The pause of a run that this server did not make, as it is stored: at an import, and for a fork of what was imported. */
import { isDeepStrictEqual } from 'node:util';
import type { Gate, JsonObject, JsonValue, RunView, WorkflowEvent } from '@autonomous/shared';
import type { ForkedRun } from '../../core/fork.ts';
import type { RunState } from '../../core/run-state.ts';
import { isOwnEvent } from '../../core/vocabulary.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import { historyOf } from '../../roles/run-history.ts';

/** Fields of the pause of a run. */
export interface PauseText {
  readonly reason: 'rebuilt' | 'poisoned';
  /** One line. */
  readonly message: string;
  /** As a gate of kind `pause` shows them. */
  readonly details: JsonObject;
  /** More applies than a person can be shown: the run cannot go on, only be cancelled. Absent: it can. */
  readonly isTooLong?: true;
  /** Commits of the record that are not here: nobody can have seen what they change, and the run does not go on before. Absent: none. */
  readonly missing?: readonly string[];
}

/** The state of a run as its record gives it: all data that act when it goes on. */
export interface RecordedState {
  /** The start of the run, as its first event has it. */
  readonly start: JsonObject;
  /** Of the run's machine; `null` where it cannot be had. */
  readonly context: JsonObject | null;
  /** Inputs of the open activities, outcomes that its machine has not taken yet, and data of its timers. */
  readonly inputs: readonly JsonValue[];
  /** Lines of its log that agents are told. */
  readonly told: readonly string[];
  /** Events of its log that its activities may read as they are. */
  readonly events: readonly LoggedEvent[];
  /** Keys of the open activities. A child run is started under the key of the one that waits for it. */
  readonly open: readonly string[];
}

/** @param log events of the run, from its first */
export function recordedState(
  log: readonly LoggedEvent[],
  { snapshot, undelivered, timers }: RunState,
  open: readonly { readonly key: string; readonly input: JsonValue }[],
): RecordedState {
  // Plain JSON, as each step was found to be.
  const context = (snapshot?.context ?? null) as JsonObject | null;
  const data = Object.values(timers).flatMap((timer) => (timer.data === undefined ? [] : [timer.data]));
  const inputs = [...open.map(({ input }) => input), ...Object.values(undelivered ?? {}), ...data];
  return { ...ofLog(log), context, inputs, open: open.map(({ key }) => key) };
}

/** The fields of a recorded state that do not need its machine. */
export function ofLog(log: readonly LoggedEvent[]): Pick<RecordedState, 'start' | 'told' | 'events'> {
  return { start: startOf(log[0]), told: toldTo(log), events: log.filter(mayBeRead) };
}

/** Messages reach agents at work, and the workflow's own events its activities. */
const mayBeRead = ({ type }: LoggedEvent): boolean => type === 'MESSAGE_SENT' || isOwnEvent(type);

export type LoggedEvent = { readonly type: string; readonly payload: JsonObject };

/** Lines of the log that agents of the run are told, as they get them. */
function toldTo(log: readonly LoggedEvent[]): readonly string[] {
  const events = log.map((event, index) => ({ ...event, sequence: index + 1 }) as WorkflowEvent); // No other field is read.
  return [...new Set(historyOf(events, Infinity))];
}

/** A run that was queued begins with what its first event has as `start`. */
export function startOf(first: LoggedEvent | undefined): JsonObject {
  if (first === undefined) return {};
  return first.type === 'RUN_QUEUED' ? ((first.payload['start'] ?? {}) as JsonObject) : first.payload;
}

/** The pause for a run and its recorded state. */
export type PauseOf = (view: RunView, state: RecordedState) => Promise<PauseText>;

/** Whether a gate shows what applies as it does now. */
export const showsPause = (gate: Gate | null, { reason, details }: PauseText): boolean =>
  gate?.reason === reason && isDeepStrictEqual(applyingIn(gate.details), applyingIn(details));

/** In an order of their own: that of a state's fields says nothing. */
function applyingIn({ applies }: JsonObject): readonly string[] | null {
  return Array.isArray(applies) ? applies.map((row) => JSON.stringify(row)).toSorted() : null;
}

/** Whether nobody has had a rebuilt run go on: a retry that was refused may have paused it anew. */
export async function isUnreleased(
  store: Pick<EventStore, 'readRun'>,
  { id, gate, rebuiltUpTo }: RunView,
): Promise<boolean> {
  if (gate?.kind !== 'pause' || rebuiltUpTo === undefined) return false;
  if (gate.reason === 'rebuilt') return true;
  return (await store.readRun(id, rebuiltUpTo)).every(({ type }) => type === 'RUN_PAUSED');
}

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
