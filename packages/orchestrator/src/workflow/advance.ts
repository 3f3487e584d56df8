/**
 * The single pure step of a run: a state and one input give the next state and everything that the engine must store.
 * Uses XState's pure transitions alone; no actor is ever started.
 */
import type { JsonObject, JsonValue, RunStatus } from '@autonomous/shared';
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import type { WorkflowDefinition } from './definition.ts';
import { isEngineFact } from './durability.ts';
import { migrateState } from './migration.ts';
import { describeError, plain, restoreSnapshot } from './persisted-state.ts';
import { findNonJson } from './plain-json.ts';
import { initialStep, nextStep, type RequestedAction } from './pure-transition.ts';
import { type Fact, factsBetween, type StateView, viewOf } from './view.ts';

/** An input event about to be stored: what happened outside, and when (ISO 8601). */
export interface RunInput {
  readonly type: string;
  readonly payload: JsonObject;
  readonly timestamp: string;
}

export interface ArmedTimer {
  readonly key: string;
  readonly event: string;
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
  /** Armed timers: XState send id → timer. */
  readonly timers: Readonly<Record<string, ArmedTimer>>;
  /** Since when the run waits for a place although its machine could run; `null` while it does not. ISO 8601. */
  readonly queuedAt: string | null;
  /** Why the engine set the run aside; such a run takes no input but its cancellation. */
  readonly parked: string | null;
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
  /** The machine cannot take this step; the run has to be parked. */
  | { readonly ok: false; readonly reason: 'poisoned'; readonly message: string };

/** A run that has had no input yet. */
export function newRun(runId: string): RunState {
  return { runId, sequence: 0, snapshot: null, view: null, activities: {}, timers: {}, queuedAt: null, parked: null };
}

/** True when the run's status holds a place under the limit of concurrent runs. */
export function holdsPlace(state: RunState): boolean {
  return state.queuedAt === null && state.parked === null && state.view?.status === 'running';
}

export function statusOf(state: RunState): RunStatus {
  if (state.view && isFinal(state.view.status)) return state.view.status;
  if (state.parked !== null) return 'paused';
  if (state.queuedAt !== null || state.view === null) return 'queued';
  return state.view.status;
}

export function isFinal(status: RunStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** One step. The input gets the sequence after the state's; what it emits gets the following ones. */
export function advance(definition: WorkflowDefinition, state: RunState, input: RunInput): Step {
  const sequence = state.sequence + 1;
  if (input.type === 'RUN_MIGRATED') return migrateState(definition, state, input);
  // What is spent changes what people see of a run, and nothing of where it is.
  if (input.type === 'CALL_BOOKED' || input.type === 'CALL_SETTLED') return unchanged({ ...state, sequence });
  if (state.parked !== null && input.type !== 'RUN_CANCELLED') return unpark(state, input, sequence);
  switch (input.type) {
    case 'RUN_QUEUED':
      return unchanged({ ...state, sequence, queuedAt: input.timestamp });
    case 'RUN_ADMITTED':
      return admit({ ...state, sequence, queuedAt: null }, Number(input.payload['waitedMs'] ?? 0));
    case 'ACTIVITY_COMPLETED':
    case 'ACTIVITY_FAILED': {
      const activity = String(input.payload['activity']);
      if (state.activities[activity] !== input.payload['key']) return { ok: false, reason: 'late' };
      break;
    }
    case 'TIMER_FIRED':
      if (!Object.values(state.timers).some((timer) => timer.key === input.payload['key']))
        return { ok: false, reason: 'late' };
      break;
    default:
  }
  try {
    return input.type === 'RUN_FORKED'
      ? takeFork(definition.machine, { ...state, queuedAt: null }, input, sequence)
      : step(definition.machine, state, input, sequence);
  } catch (error) {
    return { ok: false, reason: 'poisoned', message: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Would the machine take this signal now?
 * @throws what a guard throws
 */
export function canTake(state: RunState, type: string, payload: JsonObject): boolean {
  return state.snapshot?.can({ type, ...payload }) ?? false;
}

function step(machine: AnyStateMachine, state: RunState, input: RunInput, sequence: number): Step {
  const settled = settle(state, input);
  const [snapshot, actions] =
    state.snapshot === null
      ? initialStep(machine, { ...input.payload, runId: state.runId, startedAt: input.timestamp })
      : nextStep(machine, state.snapshot, toMachineEvent(input));
  if (snapshot.status === 'error') {
    return {
      ok: false,
      reason: 'poisoned',
      message: `the machine does not handle ${input.type}: ${describeError(snapshot.error)}`,
    };
  }

  // What JSON does not keep would be another value after the next start: nothing of such a step is stored.
  const unfit = findNonJson(snapshot.context, state.snapshot?.context);
  if (unfit) return { ok: false, reason: 'poisoned', message: `context${unfit.path} ${unfit.what}` };

  const changes = new Changes(state.runId, sequence, input.timestamp, settled);
  for (const action of actions) changes.take(action);
  if (changes.fault) return { ok: false, reason: 'poisoned', message: changes.fault };

  const view = viewOf(snapshot);
  const emitted = [...changes.facts, ...factsBetween(state.view, view)];
  return {
    ok: true,
    state: {
      ...state,
      sequence: sequence + emitted.length,
      snapshot,
      view,
      activities: Object.fromEntries(changes.activities),
      timers: Object.fromEntries(changes.timers),
      // Whoever leaves the running states while it waits for its place leaves the queue too.
      parked: null,
      queuedAt: input.type !== 'RUN_STARTED' && view.status === 'running' ? state.queuedAt : null,
    },
    emitted,
    started: changes.started.filter((started) => changes.activities.get(started.activity) === started.key),
    ended: [...changes.ended],
    armed: changes.armed.filter((timer) => [...changes.timers.values()].includes(timer)),
    disarmed: [...changes.disarmed],
  };
}

/** Collects what the actions of one step mean for activities, timers and facts. */
class Changes {
  readonly facts: Fact[] = [];
  readonly started: StartedActivity[] = [];
  readonly ended = new Set<string>();
  readonly armed: ArmedTimer[] = [];
  readonly disarmed = new Set<string>();
  readonly activities: Map<string, string>;
  readonly timers: Map<string, ArmedTimer>;
  fault: string | null = null;
  readonly #runId: string;
  readonly #sequence: number;
  readonly #timestamp: string;

  constructor(runId: string, sequence: number, timestamp: string, settled: Settled) {
    this.#runId = runId;
    this.#sequence = sequence;
    this.#timestamp = timestamp;
    this.activities = new Map(Object.entries(settled.activities));
    this.timers = new Map(Object.entries(settled.timers));
    if (settled.endedActivity) this.ended.add(settled.endedActivity);
    if (settled.firedTimer) this.disarmed.add(settled.firedTimer);
  }

  take(action: RequestedAction): void {
    const params = (action.params ?? {}) as Record<string, unknown>;
    switch (action.type) {
      case 'xstate.spawnChild':
        return this.#start(params);
      case 'xstate.stopChild':
        return this.#stop(childId(action.params));
      case 'xstate.raise':
        return this.#arm(params);
      case 'xstate.cancel':
        return this.#disarm(String(params['sendId']));
      case 'xstate.emit': {
        const { type, ...payload } = params['event'] as JsonObject & { type: string };
        if (isEngineFact(type)) this.fault ??= `${type} was emitted, which only the engine writes`;
        this.facts.push({ type, payload: plain(payload) });
        return;
      }
      default:
        this.fault ??= `action '${action.type}' cannot be made durable`;
    }
  }

  #start(params: Record<string, unknown>): void {
    const { id, src } = params;
    if (typeof src !== 'string' || typeof id !== 'string') {
      this.fault ??=
        typeof src === 'string'
          ? `activity '${src}' was spawned without an explicit id`
          : `activity '${String(id)}' has no named source`;
      return;
    }
    const key = `${this.#runId}/${this.#sequence}/${id}`;
    // A second activation within one step replaces the first, which nobody has seen.
    this.#stop(id);
    this.activities.set(id, key);
    this.started.push({ key, activity: id, src, input: plain((params['input'] ?? null) as JsonValue) });
  }

  #stop(id: string): void {
    const key = this.activities.get(id);
    if (key === undefined) return;
    this.activities.delete(id);
    if (!key.startsWith(`${this.#runId}/${this.#sequence}/`)) this.ended.add(key);
  }

  #arm(params: Record<string, unknown>): void {
    const delayMs = Number(params['delay'] ?? 0);
    const sendId = params['id'];
    const event = params['event'] as { type: string };
    if (typeof sendId !== 'string') {
      this.fault ??= `${event.type} was raised with a delay and without an explicit id`;
      return;
    }
    if (Object.keys(event).length > 1) {
      this.fault ??= `${event.type} was raised with a delay and with data, which a timer does not keep; put it into the context`;
      return;
    }
    if (!Number.isFinite(delayMs)) {
      this.fault ??= `the delay of ${event.type} is ${delayMs}, which is no number of milliseconds`;
      return;
    }
    this.#disarm(sendId);
    const timer: ArmedTimer = {
      key: `${this.#runId}/${this.#sequence}/${sendId}`,
      event: event.type,
      dueAt: new Date(Date.parse(this.#timestamp) + delayMs).toISOString(),
    };
    this.timers.set(sendId, timer);
    this.armed.push(timer);
  }

  #disarm(sendId: string): void {
    const timer = this.timers.get(sendId);
    if (timer === undefined) return;
    this.timers.delete(sendId);
    if (!timer.key.startsWith(`${this.#runId}/${this.#sequence}/`)) this.disarmed.add(timer.key);
  }
}

interface Settled {
  readonly activities: Readonly<Record<string, string>>;
  readonly timers: Readonly<Record<string, ArmedTimer>>;
  readonly endedActivity: string | null;
  readonly firedTimer: string | null;
}

/** The activity or timer that the input itself closes. */
function settle(state: RunState, input: RunInput): Settled {
  const key = String(input.payload['key']);
  if (input.type === 'ACTIVITY_COMPLETED' || input.type === 'ACTIVITY_FAILED') {
    const { [String(input.payload['activity'])]: _ended, ...activities } = state.activities;
    return { activities, timers: state.timers, endedActivity: key, firedTimer: null };
  }
  if (input.type === 'TIMER_FIRED') {
    const timers = Object.fromEntries(Object.entries(state.timers).filter(([, timer]) => timer.key !== key));
    return { activities: state.activities, timers, endedActivity: null, firedTimer: key };
  }
  return { activities: state.activities, timers: state.timers, endedActivity: null, firedTimer: null };
}

function toMachineEvent(input: RunInput): never {
  const { payload } = input;
  switch (input.type) {
    case 'ACTIVITY_COMPLETED':
      return {
        type: `xstate.done.actor.${String(payload['activity'])}`,
        output: payload['output'],
        actorId: payload['activity'],
      } as never;
    case 'ACTIVITY_FAILED':
      return {
        type: `xstate.error.actor.${String(payload['activity'])}`,
        error: payload['error'],
        actorId: payload['activity'],
      } as never;
    case 'TIMER_FIRED':
      return { type: payload['event'] } as never;
    default:
      return { ...payload, type: input.type } as never;
  }
}

/** A run that got its place back: its timers are moved by the time that it waited. */
function admit(state: RunState, waitedMs: number): StepResult {
  const timers = movedTimers(state, waitedMs);
  return { ...unchanged({ ...state, timers }), armed: Object.values(timers) };
}

/**
 * A run that begins where another was: its timers are moved by the time since then, and a machine that wants to know of it
 * is told. A wildcard is not meant for it.
 */
function takeFork(machine: AnyStateMachine, state: RunState, input: RunInput, sequence: number): Step {
  const timers = movedTimers(state, Number(input.payload['waitedMs'] ?? 0));
  const moved = { ...state, timers };
  if (!(machine.events as readonly string[]).includes(input.type)) {
    return { ...unchanged({ ...moved, sequence }), armed: Object.values(timers) };
  }
  const taken = step(machine, moved, input, sequence);
  return taken.ok ? { ...taken, armed: Object.values(taken.state.timers) } : taken;
}

function movedTimers(state: RunState, ms: number): RunState['timers'] {
  return Object.fromEntries(
    Object.entries(state.timers).map(([sendId, timer]) => [
      sendId,
      { ...timer, dueAt: new Date(Date.parse(timer.dueAt) + ms).toISOString() },
    ]),
  );
}

/** A run that the engine set aside goes on where its machine is; anything but a retry has to wait for that. */
function unpark(state: RunState, input: RunInput, sequence: number): Step {
  if (input.type !== 'RETRY_REQUESTED' || state.view === null) return { ok: false, reason: 'late' };
  const emitted = factsBetween(null, state.view).filter((fact) => fact.type !== 'STAGE_STARTED');
  return { ...unchanged({ ...state, sequence: sequence + emitted.length, parked: null }), emitted };
}

function unchanged(state: RunState): StepResult {
  return { ok: true, state, emitted: [], started: [], ended: [], armed: [], disarmed: [] };
}

/** `stopChild` carries the actor's reference or its id. */
function childId(params: unknown): string {
  if (typeof params === 'string') return params;
  return String((params as { id?: unknown } | undefined)?.id);
}

/** A run's state as plain JSON, for a snapshot. */
export function dehydrate(machine: AnyStateMachine, state: RunState): JsonObject {
  return {
    ...state,
    snapshot: state.snapshot === null ? null : machine.getPersistedSnapshot(state.snapshot),
  } as unknown as JsonObject;
}

/**
 * The state that was dehydrated. Nothing is started.
 * @throws when the snapshot names a state that the machine does not have
 */
export function rehydrate(machine: AnyStateMachine, data: JsonValue): RunState {
  const state = data as unknown as RunState;
  if (state.snapshot === null) return state;
  return { ...state, snapshot: restoreSnapshot(machine, state.snapshot) };
}
