/**
 * Takes a run to another version of its workflow. Either its whole history replays identically there, then nothing but the
 * version changes; or the new version converts the state, and the run goes on from that.
 */
import { type EventPayloads, FINAL_STATUSES, type JsonObject, type JsonValue } from '@autonomous/shared';
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import type { ArmedTimer, RunInput, RunState, StartedActivity, Step } from './run-state.ts';
import { awaitingChildren, openChildren } from './child-runs.ts';
import type { StoredState, WorkflowDefinition } from './definition.ts';
import { activeNodes, describeError, plain, restoreSnapshot } from './persisted-state.ts';
import { factsBetween, needsRunSlot, type StateView, viewOf } from './view.ts';

type Migrated = EventPayloads['RUN_MIGRATED'];

/**
 * The step of RUN_MIGRATED.
 * @param definition the version that the run goes on with
 * @param state of that version where the history was replayed, of the version before where it is converted
 */
export function migrateState(definition: WorkflowDefinition, state: RunState, input: RunInput): Step {
  const payload = input.payload as unknown as Migrated;
  // A history that replays under several versions is one under any of them.
  if (payload.how === 'converted' && payload.to !== definition.version) {
    return refused(`the run uses version ${payload.to}, and this is version ${definition.version}`);
  }
  if (state.snapshot === null || state.view === null) return unstarted(state);
  try {
    return payload.how === 'replayed' ? rebound(definition, state) : converted(definition, state, input, payload.from);
  } catch (error) {
    return refused(describeError(error));
  }
}

/** A run that has not begun has nothing to convert. */
function unstarted(state: RunState): Step {
  const next = { ...state, sequence: state.sequence + 1, parked: null };
  return { ok: true, state: next, emitted: [], started: [], ended: [], armed: [], disarmed: [] };
}

function rebound({ machine }: WorkflowDefinition, state: RunState): Step {
  const snapshot = restoreSnapshot(machine, persisted(state));
  return stepTo(state, snapshot, { activities: state.activities, timers: state.timers, started: [], armed: [] });
}

function converted(definition: WorkflowDefinition, state: RunState, input: RunInput, from: number): Step {
  const migrate = definition.migrations?.[from];
  if (!migrate) {
    return refused(`version ${definition.version} of '${definition.name}' has no migration from version ${from}`);
  }
  const before = persisted(state);
  const { value, context, history } = plain(migrate(readable(before)));
  const stored = { ...before, value, context, historyValue: withIds(history), children: {} };
  // Once without children, to know which states are active: they say which work and which clocks belong to them.
  const bare = restoreSnapshot(definition.machine, stored);
  const work = workOf(definition.machine, bare, { state, before, input });
  const snapshot = restoreSnapshot(definition.machine, { ...stored, children: work.children });
  const clocks = clocksOf(definition.machine, bare, { state, input });
  return stepTo(state, snapshot, { ...work, ...clocks });
}

/** Activities and timers that are open after the step; `started` and `armed` are the new ones. */
interface Open {
  readonly activities: Readonly<Record<string, string>>;
  readonly timers: Readonly<Record<string, ArmedTimer>>;
  readonly started: readonly StartedActivity[];
  readonly armed: readonly ArmedTimer[];
}

function stepTo(state: RunState, snapshot: AnyMachineSnapshot, { activities, timers, started, armed }: Open): Step {
  const open = new Map(Object.entries(activities));
  const machine: AnyStateMachine = snapshot.machine;
  const children = openChildren(machine, state.children, { activities: open, started });
  const view = awaitingChildren(viewOf(snapshot), open.size, children);
  if (FINAL_STATUSES.has(view.status))
    return refused(`the migration gives the final state ${JSON.stringify(view.state)}`);
  const queuedAt = needsRunSlot(view, Object.keys(activities).length) ? state.queuedAt : null;
  const emitted = factsBetween(announced(state, view, queuedAt !== state.queuedAt), view);
  const keys = new Set(Object.values(activities));
  const timerKeys = new Set(Object.values(timers).map((timer) => timer.key));
  return {
    ok: true,
    state: {
      ...state,
      sequence: state.sequence + 1 + emitted.length,
      snapshot,
      view,
      activities,
      ...(children === undefined && state.children === undefined ? {} : { children }),
      timers,
      parked: null,
      queuedAt,
    },
    emitted,
    started,
    ended: Object.values(state.activities).filter((key) => !keys.has(key)),
    armed,
    disarmed: Object.values(state.timers).flatMap((timer) => (timerKeys.has(timer.key) ? [] : [timer.key])),
  };
}

/** Returns the earlier view, changed so that the state is announced again after a quarantine or the queue, or for another gate. */
function announced(state: RunState, after: StateView, leftQueue: boolean): StateView | null {
  if (state.view === null) return null;
  const sameGate = JSON.stringify(state.view.gate) === JSON.stringify(after.gate);
  return state.parked === null && !leftQueue && sameGate ? state.view : { ...state.view, state: null };
}

interface PersistedChild {
  readonly src: string;
}
interface Persisted extends JsonObject {
  readonly value: JsonValue;
  readonly context: JsonObject;
  readonly historyValue: Readonly<Record<string, readonly { readonly id: string }[]>>;
  readonly children: Readonly<Record<string, PersistedChild & JsonObject>>;
}

/** By the machine of the version that made the snapshot; as it was stored where that version is gone. */
function persisted({ snapshot }: RunState): Persisted {
  const { machine } = snapshot as unknown as { readonly machine?: AnyStateMachine };
  const stored = machine === undefined ? snapshot : machine.getPersistedSnapshot(snapshot as AnyMachineSnapshot);
  // XState's own type of it is `unknown` in parts; its shape is what `restoreSnapshot` of XState reads.
  return plain(stored) as unknown as Persisted;
}

function readable({ value, context, historyValue }: Persisted): StoredState {
  const history = Object.entries(historyValue).map(([id, nodes]) => [id, nodes.map((node) => node.id)]);
  return plain({ value, context, history: Object.fromEntries(history) as StoredState['history'] });
}

function withIds(history: StoredState['history']): Persisted['historyValue'] {
  return Object.fromEntries(Object.entries(history).map(([id, nodes]) => [id, nodes.map((node) => ({ id: node }))]));
}

interface Before {
  readonly state: RunState;
  readonly input: RunInput;
}

/** Open activities that the new state still has are kept with their keys; those that it has besides are started. */
function workOf(
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  { state, before, input }: Before & { readonly before: Persisted },
): Pick<Open, 'activities' | 'started'> & { readonly children: JsonObject } {
  const activities: Record<string, string> = {};
  const children: Record<string, JsonObject> = {};
  const started: StartedActivity[] = [];
  const keep = (id: string, key: string, child: JsonObject): void => {
    activities[id] = key;
    children[id] = child;
  };
  for (const { id, src, input: mapper } of activeNodes(snapshot).flatMap((node) => node.invoke)) {
    const key = Object.hasOwn(state.activities, id) ? state.activities[id] : undefined;
    const child = before.children[id];
    if (key !== undefined && child?.src === src) {
      keep(id, key, child);
      continue;
    }
    const given = evaluated(mapper, snapshot, input);
    const activation = plain({
      key: `${state.runId}/${state.sequence + 1}/${id}`,
      activity: id,
      src: String(src),
      input: (given ?? null) as JsonValue,
    });
    started.push(activation);
    keep(id, activation.key, { src: activation.src, snapshot: { status: 'active', input: activation.input } });
  }
  // Spawned work belongs to no state; it goes on where the new version still knows it.
  const invoked = new Set(invokesOf(state.snapshot, before));
  for (const [id, child] of Object.entries(before.children)) {
    const key = state.activities[id];
    if (key === undefined || invoked.has(id) || Object.hasOwn(activities, id)) continue;
    if (Object.hasOwn(machine.implementations.actors, child.src)) keep(id, key, child);
  }
  return { activities, started, children };
}

/** Armed timers that the new state still has keep their time; those that it has besides count from now. */
function clocksOf(
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  { state, input }: Before,
): Pick<Open, 'timers' | 'armed'> {
  const timers: Record<string, ArmedTimer> = {};
  const armed: ArmedTimer[] = [];
  for (const { eventType, delay } of activeNodes(snapshot).flatMap((node) => node.after)) {
    const sendId = String(eventType);
    if (timers[sendId]) continue;
    const open = state.timers[sendId];
    if (open) {
      timers[sendId] = open;
      continue;
    }
    const delayMs = delayOf(machine, snapshot, delay as string | number, input);
    const timer: ArmedTimer = {
      key: `${state.runId}/${state.sequence + 1}/${sendId}`,
      event: sendId,
      dueAt: new Date(Date.parse(input.timestamp) + delayMs).toISOString(),
    };
    timers[sendId] = timer;
    armed.push(timer);
  }
  // A delayed event that belongs to no state stays where the new version still takes it.
  for (const [sendId, timer] of Object.entries(state.timers)) {
    if (!timer.event.startsWith('xstate.') && machine.events.includes(timer.event)) timers[sendId] = timer;
  }
  return { timers, armed };
}

function delayOf(
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  delay: string | number,
  input: RunInput,
): number {
  return Number(evaluated(typeof delay === 'number' ? delay : machine.implementations.delays[delay], snapshot, input));
}

/** Evaluates a machine's delay or activity input, which is a value or a function of the context. */
function evaluated(given: unknown, { context }: AnyMachineSnapshot, { type, payload }: RunInput): unknown {
  if (typeof given !== 'function') return given;
  // XState calls it with these, and with references to actors that a pure machine has no use for.
  return (given as (args: unknown) => unknown)({ context: context as unknown, event: { ...payload, type } });
}

/** Returns the ids of the earlier states' activities; all activities when those states are not known any more. */
function invokesOf(snapshot: RunState['snapshot'], { children }: Persisted): readonly string[] {
  if (snapshot === null || !('machine' in snapshot)) return Object.keys(children);
  return activeNodes(snapshot).flatMap((node) => node.invoke.map((invoke) => invoke.id));
}

function refused(message: string): Step {
  return { ok: false, reason: 'poisoned', message };
}
