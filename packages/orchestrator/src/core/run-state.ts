/** The state of a run between two inputs, the input that is next, and the result of one step. Types only. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import type { AnyMachineSnapshot } from 'xstate';
import type { Fact, StateView } from './view.ts';

/** An input event about to be stored: what happened outside, and when (ISO 8601). */
export interface RunInput {
  readonly type: string;
  readonly payload: JsonObject;
  readonly timestamp: string;
}

export interface ArmedTimer {
  readonly key: string;
  readonly event: string;
  /** Fields of the event beside its type. Absent: none. */
  readonly data?: JsonObject;
  readonly dueAt: string;
}

/** A run between two inputs. Everything but `snapshot` is plain JSON. */
export interface RunState {
  readonly runId: string;
  /** Sequence of the last event, input or emitted. */
  readonly sequence: number;
  /** `null` while a new run waits in the queue. */
  readonly snapshot: AnyMachineSnapshot | null;
  readonly view: StateView | null;
  /** Open activities: XState id → activation key. */
  readonly activities: Readonly<Record<string, string>>;
  /** Ids of the open activities that are child runs. None: absent. */
  readonly children?: readonly string[] | undefined;
  /** Armed timers: XState send id → timer. */
  readonly timers: Readonly<Record<string, ArmedTimer>>;
  /** Since when the run waits for a run slot although its machine could run; `null` while it does not. ISO 8601. */
  readonly queuedAt: string | null;
  /**
   * Reason why the run is quarantined; `null`: it is not. Such a run accepts only a retry, a migration and its cancellation.
   * The name is stored in snapshots.
   */
  readonly parked: string | null;
  /** Outcomes that the machine could not take when they came: XState id → payload of ACTIVITY_COMPLETED. None: absent. */
  readonly undelivered?: Readonly<Record<string, JsonObject>> | undefined;
}

export interface StartedActivity {
  readonly key: string;
  readonly activity: string;
  readonly src: string;
  readonly input: JsonValue;
}

export interface StepResult {
  readonly ok: true;
  readonly state: RunState;
  /** Facts that follow from the input, in order; they are stored right after it. */
  readonly emitted: readonly Fact[];
  readonly started: readonly StartedActivity[];
  readonly ended: readonly string[];
  readonly armed: readonly ArmedTimer[];
  readonly disarmed: readonly string[];
}

export type Step =
  | StepResult
  /** The input is for an activation or timer that is no longer open: nothing happens. */
  | { readonly ok: false; readonly reason: 'late' }
  /** The machine cannot take this step; the run must be quarantined. */
  | { readonly ok: false; readonly reason: 'poisoned'; readonly message: string };
