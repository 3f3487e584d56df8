/** Replaying a run's inputs gives its state, and what they emit must equal what was stored: the determinism check. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import { type ContextHashes, findOtherChange } from './context-hash.ts';
import { advance, isFinal, takesCancellation } from './advance.ts';
import type { RunState, StartedActivity, StepResult } from './run-state.ts';
import type { WorkflowDefinition } from './definition.ts';
import { isInput } from './vocabulary.ts';

export type Replay =
  | {
      readonly ok: true;
      readonly state: RunState;
      /** The definition of the version that the run has after the last event. */
      readonly definition: WorkflowDefinition;
      /** Activities that are open after the last event and were started by one of these, by key. */
      readonly started: ReadonlyMap<string, StartedActivity & { readonly at: string }>;
    }
  | { readonly ok: false; readonly sequence: number; readonly message: string };

/**
 * The state of a run after these events.
 * @param start the definition of the version that the run has at the first of them
 * @param from the state before the first of them
 * @param events the run's events in order, without gaps
 * @param versions the workflow's definition of another version: with it a history is replayed through its migrations,
 *   each part under the version that made it; without it everything is replayed under one version
 * @param contexts hashes of what a step changed in the context, by the sequence of its last event; a step without them is
 *   not checked for that
 */
export function replay(
  start: WorkflowDefinition,
  from: RunState,
  events: readonly WorkflowEvent[],
  versions?: (version: number) => WorkflowDefinition | undefined,
  contexts?: ReadonlyMap<number, ContextHashes>,
): Replay {
  let definition = start;
  let state = from;
  const started = new Map<string, StartedActivity & { readonly at: string }>();
  /** Where the stored step began that the next input belongs to. */
  let base = from;
  /** Input of that stored step. */
  let given: JsonObject = {};
  let index = 0;
  while (index < events.length) {
    const input = events[index];
    if (input === undefined) break;
    if (input.type === 'RUN_MIGRATED' && versions) {
      const version = Number(input.payload['to']);
      const next = versions(version);
      if (!next) return mismatch(input, `version ${version} of workflow '${definition.name}' is not registered`);
      definition = next;
    }
    const taken = replayStep(definition, state, events, index);
    if (!taken.ok) return taken;
    // A run that goes to the queue by a step does so in the same stored step.
    if (input.type !== 'RUN_QUEUED' || contexts?.has(state.sequence)) {
      base = state;
      given = input.payload;
    }
    ({ state } = taken);
    index = taken.next;
    for (const activity of taken.step?.started ?? []) started.set(activity.key, { ...activity, at: input.timestamp });
    for (const key of taken.step?.ended ?? []) started.delete(key);
    const stored = contexts?.get(state.sequence);
    const field = stored === undefined ? null : findOtherChange(base, state, given, stored);
    if (field !== null) return mismatch(input, otherContext(field, input));
  }
  return { ok: true, state, definition, started };
}

/** The version that a run has before the first of these events; `undefined` where none of them migrates it. */
export function versionBefore(
  events: readonly Pick<WorkflowEvent, 'type' | 'origin' | 'payload'>[],
): number | undefined {
  const migrated = events.find(({ type, origin }) => type === 'RUN_MIGRATED' && origin === 'input');
  return migrated === undefined ? undefined : Number(migrated.payload['from']);
}

/** @returns with `next`, the index of the event after the step */
function replayStep(
  definition: WorkflowDefinition,
  before: RunState,
  events: readonly WorkflowEvent[],
  index: number,
): (ReplayedInput & { readonly next: number }) | Extract<Replay, { ok: false }> {
  const input = events[index] as WorkflowEvent; // The caller has it.
  const taken = replayInput(definition, before, input);
  if (!taken.ok) return taken;
  const emitted = taken.step?.emitted ?? [];
  for (const [offset, fact] of emitted.entries()) {
    const stored = events[index + 1 + offset];
    // The list may end within a step only when it was cut on purpose; a stored step is whole.
    if (stored === undefined) return mismatch(input, `${fact.type} follows from ${input.type} but was not stored`);
    if (stored.origin !== 'emitted' || stored.type !== fact.type || !isDeepStrictEqual(stored.payload, fact.payload)) {
      return mismatch(stored, difference(fact, stored));
    }
  }
  return { ...taken, next: index + 1 + emitted.length };
}

/** `step` is `null` for a quarantine, and for the cancellation of a run that never began. */
interface ReplayedInput {
  readonly ok: true;
  readonly state: RunState;
  readonly step: StepResult | null;
}

/** Replays one stored input. */
export function replayInput(
  definition: WorkflowDefinition,
  state: RunState,
  input: WorkflowEvent,
): ReplayedInput | Extract<Replay, { ok: false }> {
  if (input.sequence !== state.sequence + 1) return mismatch(input, `event ${state.sequence + 1} is missing`);
  if (input.origin !== 'input') return mismatch(input, `${input.type} was stored but does not follow from the inputs`);
  if (!isInput(input.type, definition.signals))
    return mismatch(input, `${input.type} is no input of workflow '${definition.name}'`);
  if (isQuarantine(input)) return { ok: true, state: quarantinedAt(state, input), step: null };
  // Said of the run from outside; its machine is not told.
  if (input.type === 'NOTICE') return { ok: true, state: { ...state, sequence: input.sequence }, step: null };
  // A run that never began has no machine to tell that it ended, and some machines are not told.
  if (input.type === 'RUN_CANCELLED' && !takesCancellation(definition, state, input.payload))
    return { ok: true, state: endedUnheard(state, input), step: null };
  const step = advance(definition, state, input);
  if (step.ok) return { ok: true, state: step.state, step };
  if (step.reason === 'poisoned') return mismatch(input, step.message);
  const hasEnded = state.view !== null && isFinal(state.view.status);
  return mismatch(input, `${input.type} ${hasEnded ? 'came after the end' : 'names an activation that is not open'}`);
}

/** Cancelled without the machine, which rests where it was. */
function endedUnheard(state: RunState, { sequence }: WorkflowEvent): RunState {
  const view = state.view && { ...state.view, status: 'cancelled' as const };
  return { ...state, sequence, view, queuedAt: null };
}

/** A pause that the engine itself wrote: the machine knows nothing of it. */
export function isQuarantine(event: { readonly type: string; readonly origin: string }): boolean {
  return event.type === 'RUN_PAUSED' && event.origin === 'input';
}

function quarantinedAt(state: RunState, event: WorkflowEvent): RunState {
  const quarantined = { ...state, sequence: event.sequence, parked: String(event.payload['message'] ?? 'quarantined') };
  const outcome = event.payload['undelivered'] as JsonObject | undefined;
  if (outcome === undefined) return quarantined;
  return { ...quarantined, undelivered: { ...state.undelivered, [String(outcome['activity'])]: outcome } };
}

function otherContext(field: string, { type }: WorkflowEvent): string {
  return `replay changes context.${field} in another way than ${type} did when it was stored; an assign, or what it calls, depends on chance, the clock or something else outside. The author of the workflow can take such values from an event, the input or an activity in a new version, and the run be migrated to it`;
}

/** Most characters that are shown of a value: enough to recognise it. */
const MOST_TOLD = 80;

/** First difference between a replayed and a stored event, shortened: payloads can hold a whole plan. */
function difference(replayed: Pick<WorkflowEvent, 'type' | 'payload'>, stored: WorkflowEvent): string {
  if (stored.origin !== 'emitted') return `replay gives ${replayed.type}, stored is the input ${stored.type}`;
  if (replayed.type !== stored.type) return `replay gives ${replayed.type}, stored is ${stored.type}`;
  const place: string[] = [];
  let values: readonly [unknown, unknown] = [replayed.payload, stored.payload];
  for (;;) {
    const [one, other] = values;
    if (!isObject(one) || !isObject(other)) break;
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
    const name = names.find((key) => !isDeepStrictEqual(one[key], other[key]));
    if (name === undefined) break;
    place.push(name);
    values = [one[name], other[name]];
  }
  const [given, kept] = values.map(told);
  return `replay gives ${replayed.type} with ${place.join('.')} ${given}, stored is ${kept}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function told(value: unknown): string {
  if (value === undefined) return 'absent';
  const text = canonical(value);
  return text.length > MOST_TOLD ? `${text.slice(0, MOST_TOLD)}…` : text;
}

function mismatch(event: WorkflowEvent, message: string): Extract<Replay, { ok: false }> {
  return { ok: false, sequence: event.sequence, message };
}

/** JSON with sorted keys: the same text for the same value. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    field !== null && typeof field === 'object' && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );
}
