/**
 * The single pure step of a run: a state and one input give the next state and everything that the engine must store.
 * Uses XState's pure transitions alone; no actor is ever started.
 */
import type { JsonObject, JsonValue, RunStatus } from '@autonomous/shared';
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { awaitingChildren, openChildren } from './child-runs.ts';
import type { WorkflowDefinition } from './definition.ts';
import { hasEventless, immediateRaises, RESERVED_NAME } from './machine-nodes.ts';
import { migrateState } from './migration.ts';
import { asReopened, describeError, plain, restoreSnapshot } from './persisted-state.ts';
import { asStored, findNonJson, freezeJson } from './plain-json.ts';
import { initialStep, nextStep, type RequestedAction, implicitlySpawnedChildren } from './pure-transition.ts';
import type { ArmedTimer, RunInput, RunState, StartedActivity, Step, StepResult } from './run-state.ts';
import { type Fact, factsBetween, needsRunSlot, restatedFacts, type StateView, viewOf } from './view.ts';
import { changesViewOnly, emissionFault } from './vocabulary.ts';

/** The last millisecond that dates of four digits a year can say: times are compared as texts. */
const LAST_DUE_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A run that has had no input yet. */
export function newRun(runId: string): RunState {
  return { runId, sequence: 0, snapshot: null, view: null, activities: {}, timers: {}, queuedAt: null, parked: null };
}

/** True for a run that counts against the limit of concurrent runs: one of its activities is open, and not a child run alone. */
export function holdsRunSlot(state: RunState): boolean {
  return (
    state.queuedAt === null && state.parked === null && needsRunSlot(state.view, Object.keys(state.activities).length)
  );
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
  // No input brings an ended run back; what its last calls came to may be known only now.
  if (state.view !== null && isFinal(state.view.status))
    return input.type === 'CALL_SETTLED' ? unchanged({ ...state, sequence }) : { ok: false, reason: 'late' };
  if (input.type === 'RUN_MIGRATED') return migrateState(definition, state, input);
  // Spending and review comments change what people see of a run, but not its state.
  if (changesViewOnly(input.type)) return unchanged({ ...state, sequence });
  if (state.parked !== null && input.type !== 'RUN_CANCELLED') return releaseQuarantined(state, input, sequence);
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
    return poisoned(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Would the machine react to this signal now? One that no transition names may still be the event that an `always` waits
 * for. A guard that throws fails the step, as it ends an actor of XState: the signal is taken and its run is quarantined.
 * Only a cancellation is not, so that such a run can still be ended.
 */
export function canTake({ snapshot }: RunState, type: string, payload: JsonObject): boolean {
  if (snapshot === null) return false;
  const event = { ...payload, type };
  try {
    if (snapshot.can(event)) return true;
    const machine: AnyStateMachine = snapshot.machine;
    if (!hasEventless(machine)) return false;
    const [next, actions] = nextStep(machine, snapshot, event);
    return next.status === 'active' ? next !== snapshot || actions.length > 0 : true;
  } catch {
    return type !== 'RUN_CANCELLED';
  }
}

/** Whether the machine is told of a cancellation. One that does not say how it is cancelled is ended without being asked. */
export function takesCancellation({ signals }: WorkflowDefinition, state: RunState, payload: JsonObject): boolean {
  return Object.hasOwn(signals, 'RUN_CANCELLED') && canTake(state, 'RUN_CANCELLED', payload);
}

function step(machine: AnyStateMachine, state: RunState, input: RunInput, sequence: number): Step {
  const settled = settle(state, input);
  // The stored payload must be the one that the machine got, even if its functions try to change it.
  freezeJson(input.payload);
  const taken =
    state.snapshot === null
      ? initialStep(machine, { ...input.payload, runId: state.runId, startedAt: input.timestamp })
      : nextStep(machine, state.snapshot, toMachineEvent(input, state));
  const [made, actions] = taken;
  if (made.status === 'error') {
    const what = state.snapshot === null ? 'its first step fails' : `the machine does not handle ${input.type}`;
    return poisoned(`${what}: ${describeError(made.error)}`);
  }

  // A value that JSON does not preserve would differ after the next start: such a step is not stored.
  const context = asStored(made.context, state.snapshot?.context);
  if ('what' in context) return poisoned(`context${context.path} ${context.what}`);
  const [unasked] = implicitlySpawnedChildren(state.snapshot, taken);
  if (unasked !== undefined)
    return poisoned(
      `activity '${unasked}' was spawned within assign, where the engine does not perform it; use spawnChild`,
    );

  const snapshot = asReopened(machine, made, context.value);
  const told = viewOf(snapshot);
  if ((snapshot.status === 'active') === isFinal(told.status)) return poisoned(unclearEnd(snapshot, told));
  // A run that needs no run slot any more while it waits for one leaves the queue.
  const queuedBefore = input.type !== 'RUN_STARTED' && told.status === 'running' ? state.queuedAt : null;
  const collect = (queuedAt: string | null): Changes => {
    // While a run is queued its clock stands still: what is armed then counts from when it came into the queue.
    const changes = new Changes(machine, state.runId, sequence, queuedAt ?? input.timestamp, settled);
    if (state.queuedAt !== null && queuedAt === null && input.type !== 'RUN_STARTED')
      changes.move(Math.max(0, Date.parse(input.timestamp) - Date.parse(state.queuedAt)));
    for (const action of actions) changes.take(action);
    if (changes.fault === null && snapshot.status !== 'active') changes.endAll();
    return changes;
  };
  let changes = collect(queuedBefore);
  if (changes.fault) return poisoned(changes.fault);
  const children = openChildren(machine, state.children, changes);
  const view = awaitingChildren(told, changes.activities.size, children);
  const queuedAt = needsRunSlot(view, changes.activities.size) ? queuedBefore : null;
  if (queuedAt !== queuedBefore) changes = collect(queuedAt);

  const leftQueue = state.queuedAt !== null && queuedAt === null && input.type !== 'RUN_STARTED';
  const restated = restatedFacts(state.view, view, input.type, leftQueue);
  const emitted = [...changes.facts, ...factsBetween(state.view, view), ...restated];
  return {
    ok: true,
    state: {
      ...state,
      sequence: sequence + emitted.length,
      snapshot,
      view,
      activities: Object.fromEntries(changes.activities),
      timers: Object.fromEntries(changes.timers),
      parked: null,
      queuedAt,
      ...(children === undefined && state.children === undefined ? {} : { children }),
      ...(state.undelivered === undefined ? {} : { undelivered: stillOpen(state.undelivered, changes.activities) }),
    },
    emitted,
    started: changes.started.filter((started) => changes.activities.get(started.activity) === started.key),
    ended: [...changes.ended],
    armed: changes.armed.filter((timer) => [...changes.timers.values()].includes(timer)),
    disarmed: [...changes.disarmed],
  };
}

function poisoned(message: string): Step {
  return { ok: false, reason: 'poisoned', message };
}

function unclearEnd({ status }: AnyMachineSnapshot, view: StateView): string {
  const where = `state ${JSON.stringify(view.state)}`;
  return status === 'active'
    ? `${where} has the status '${view.status}' and is not a final state of the machine`
    : `the machine ended in ${where}, whose meta.status is '${view.status}'; use completed, failed or cancelled`;
}

function stillOpen(
  outcomes: Readonly<Record<string, JsonObject>>,
  activities: ReadonlyMap<string, string>,
): RunState['undelivered'] {
  const open = Object.entries(outcomes).filter(([id, { key }]) => activities.get(id) === key);
  return open.length === 0 ? undefined : Object.fromEntries(open);
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
  readonly #machine: AnyStateMachine;

  /** @param timestamp from when delays count */
  constructor(machine: AnyStateMachine, runId: string, sequence: number, timestamp: string, settled: Settled) {
    this.#machine = machine;
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
        return this.#raise(params);
      case 'xstate.cancel':
        return this.#disarm(String(params['sendId']));
      case 'xstate.emit': {
        return this.#emit(params['event']);
      }
      default:
        this.fault ??= `action '${action.type}' cannot be made durable`;
    }
  }

  /** The run's clock stood still for so long. */
  move(ms: number): void {
    for (const [sendId, timer] of this.timers) {
      const moved = { ...timer, dueAt: new Date(Date.parse(timer.dueAt) + ms).toISOString() };
      this.timers.set(sendId, moved);
      this.armed.push(moved);
    }
  }

  /** Nothing outlives the machine. */
  endAll(): void {
    for (const id of this.activities.keys()) this.#stop(id);
    for (const sendId of this.timers.keys()) this.#disarm(sendId);
  }

  #emit(event: unknown): void {
    const { type, ...rest } = (event ?? {}) as JsonObject;
    if (typeof type !== 'string' || type === '') {
      this.fault ??= 'an event without a type was emitted';
      return;
    }
    const payload = plain(rest);
    const fault = emissionFault(type, payload);
    if (fault !== null) this.fault ??= `${type} ${fault}`;
    this.facts.push({ type, payload });
  }

  #start(params: Record<string, unknown>): void {
    const { src, actorRef } = params;
    // An id that is a function stands in the child alone.
    const id = typeof params['id'] === 'function' ? (actorRef as { readonly id?: unknown }).id : params['id'];
    if (params['systemId'] !== undefined) {
      this.fault ??= `activity '${String(src)}' was spawned with a systemId, which has no use here; leave it out`;
      return;
    }
    if (typeof src !== 'string' || typeof id !== 'string') {
      this.fault ??=
        typeof src === 'string'
          ? `activity '${src}' was spawned without an explicit id`
          : `activity '${String(id)}' has no named source`;
      return;
    }
    if (id === RESERVED_NAME) {
      this.fault ??= `activity '${src}' was spawned with the id '${RESERVED_NAME}', which no object can hold`;
      return;
    }
    const key = `${this.#runId}/${this.#sequence}/${id}`;
    // A second activation within one step replaces the first, which nobody has seen.
    this.#stop(id);
    const replaced = this.started.findIndex((started) => started.activity === id);
    if (replaced >= 0) this.started.splice(replaced, 1);
    this.activities.set(id, key);
    this.started.push({ key, activity: id, src, input: plain((params['input'] ?? null) as JsonValue) });
  }

  #stop(id: string | null): void {
    if (id === null) return;
    const key = this.activities.get(id);
    if (key === undefined) return;
    this.activities.delete(id);
    if (!key.startsWith(`${this.#runId}/${this.#sequence}/`)) this.ended.add(key);
  }

  /** XState has taken what was raised without a number as its delay already, within this step. */
  #raise({ delay, id: sendId, event: raised }: Record<string, unknown>): void {
    const event = raised as JsonObject & { type: string };
    // Only what is delayed needs an id: one without a delay comes from a delay that gives nothing.
    const isDelayed = event.type.startsWith('xstate.after.') || typeof sendId === 'string';
    if (delay === undefined && !(isDelayed && !immediateRaises(this.#machine).has(String(sendId)))) return;
    if (typeof delay !== 'number' || !Number.isFinite(delay)) {
      this.fault ??= `the delay of ${event.type} is ${typeof delay === 'string' ? `'${delay}'` : String(delay)}, which is not a number of milliseconds`;
      return;
    }
    if (typeof sendId !== 'string') {
      this.fault ??= `${event.type} was raised with a delay and without an explicit id`;
      return;
    }
    if (sendId === RESERVED_NAME) {
      this.fault ??= `${event.type} was raised with the id '${RESERVED_NAME}', which no object can hold`;
      return;
    }
    const { type: _type, ...data } = event;
    const unfit = findNonJson(data);
    if (unfit) {
      this.fault ??= `${event.type} was raised with a delay, and ${unfit.path.slice(1)} of it ${unfit.what}`;
      return;
    }
    const dueAtMs = Date.parse(this.#timestamp) + delay;
    if (dueAtMs > LAST_DUE_MS) {
      this.fault ??= `the delay of ${event.type} is ${delay}, which reaches beyond the year 9999`;
      return;
    }
    this.#disarm(sendId);
    const timer: ArmedTimer = {
      key: `${this.#runId}/${this.#sequence}/${sendId}`,
      event: event.type,
      ...(Object.keys(data).length === 0 ? {} : { data: freezeJson(plain(data)) }),
      dueAt: new Date(dueAtMs).toISOString(),
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

function toMachineEvent(input: RunInput, { timers }: RunState): never {
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
      return {
        ...(payload['during'] === undefined ? {} : { during: payload['during'] }),
        ...dataOf(timers, payload['key']),
        type: payload['event'],
      } as never;
    default:
      return { ...payload, type: input.type } as never;
  }
}

function dataOf(timers: RunState['timers'], key: JsonValue | undefined): JsonObject | undefined {
  for (const timer of Object.values(timers)) if (timer.key === key) return timer.data;
  return undefined;
}

/** A run that was admitted from the queue: its timers are moved by the time that it waited. */
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

/** Releases a quarantined run, which continues in its machine's state. Accepts only a retry. */
function releaseQuarantined(state: RunState, input: RunInput, sequence: number): Step {
  if (input.type !== 'RETRY_REQUESTED') return { ok: false, reason: 'late' };
  // One that never began has nothing to tell; it goes back to where it waited.
  if (state.view === null) return unchanged({ ...state, sequence, parked: null });
  const emitted = factsBetween(null, state.view).filter((fact) => fact.type !== 'STAGE_STARTED');
  // The time for which a person had paused it is no time of its stage.
  const waitedMs = Number(input.payload['waitedMs'] ?? 0);
  const timers = waitedMs > 0 ? movedTimers(state, waitedMs) : state.timers;
  const released = unchanged({ ...state, timers, sequence: sequence + emitted.length, parked: null });
  return { ...released, emitted, armed: waitedMs > 0 ? Object.values(timers) : [] };
}

function unchanged(state: RunState): StepResult {
  return { ok: true, state, emitted: [], started: [], ended: [], armed: [], disarmed: [] };
}

/** `stopChild` carries the actor's reference or its id, and nothing where there is no such actor. */
function childId(params: unknown): string | null {
  if (typeof params === 'string') return params;
  const { id } = (params ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' ? id : null;
}

/** A run's state as plain JSON, for a snapshot. */
export function dehydrate(machine: AnyStateMachine, state: RunState): JsonObject {
  return {
    ...state,
    snapshot: state.snapshot === null ? null : machine.getPersistedSnapshot(state.snapshot),
  } as unknown as JsonObject;
}

/** The state as the next opening of its run gives it. */
export function reopened(machine: AnyStateMachine, state: RunState): RunState {
  return rehydrate(machine, plain(dehydrate(machine, state)));
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
