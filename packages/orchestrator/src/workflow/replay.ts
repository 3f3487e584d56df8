/** Replaying a run's inputs gives its state, and what they emit must equal what was stored: the determinism check. */
import type { WorkflowEvent } from '@autonomous/shared';
import { advance, type RunState } from './advance.ts';
import type { WorkflowDefinition } from './definition.ts';

export type Replay =
  | { readonly ok: true; readonly state: RunState }
  | { readonly ok: false; readonly sequence: number; readonly message: string };

/**
 * The state of a run after these events.
 * @param from the state before the first of them
 * @param events the run's events in order, without gaps
 */
export function replay(definition: WorkflowDefinition, from: RunState, events: readonly WorkflowEvent[]): Replay {
  let state = from;
  let index = 0;
  while (index < events.length) {
    const input = events[index];
    if (input === undefined) break;
    if (input.sequence !== state.sequence + 1) return mismatch(input, `event ${state.sequence + 1} is missing`);
    if (input.origin !== 'input')
      return mismatch(input, `${input.type} was stored but does not follow from the inputs`);
    if (isPark(input)) {
      state = parkedAt(state, input);
      index += 1;
      continue;
    }
    const step = advance(definition, state, input);
    if (!step.ok) {
      return mismatch(
        input,
        step.reason === 'late' ? `${input.type} names an activation that is not open` : step.message,
      );
    }
    for (const [offset, fact] of step.emitted.entries()) {
      const stored = events[index + 1 + offset];
      // The list may end within a step only when it was cut on purpose; a stored step is whole.
      if (stored === undefined) return mismatch(input, `${fact.type} follows from ${input.type} but was not stored`);
      if (
        stored.origin !== 'emitted' ||
        stored.type !== fact.type ||
        canonical(stored.payload) !== canonical(fact.payload)
      ) {
        return mismatch(
          stored,
          `replay gives ${fact.type} ${canonical(fact.payload)}, stored is ${stored.type} ${canonical(stored.payload)}`,
        );
      }
    }
    state = step.state;
    index += 1 + step.emitted.length;
  }
  return { ok: true, state };
}

/** A pause that the engine itself wrote: the machine knows nothing of it. */
export function isPark(event: { readonly type: string; readonly origin: string }): boolean {
  return event.type === 'RUN_PAUSED' && event.origin === 'input';
}

function parkedAt(state: RunState, event: WorkflowEvent): RunState {
  return { ...state, sequence: event.sequence, parked: String(event.payload['message'] ?? 'parked') };
}

function mismatch(event: WorkflowEvent, message: string): Replay {
  return { ok: false, sequence: event.sequence, message };
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    field !== null && typeof field === 'object' && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );
}
