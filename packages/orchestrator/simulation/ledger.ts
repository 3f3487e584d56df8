/**
 * Copy of the disk's content: each committed step is compared with those before it, and at the end the store is
 * compared with all of them.
 */
import { FINAL_STATUSES, foldRun, type JsonObject, type RunView, type WorkflowEvent } from '@autonomous/shared';
import type { EventStore, RunCommit, StoredRun } from '../src/event-store/event-store.ts';
import { dehydrate, newRun } from '../src/core/advance.ts';
import { childrenOf } from '../src/core/child-runs.ts';
import { runIdOf } from '../src/core/run-id.ts';
import { CHILD_LIMITS } from '../src/engine/families/child-runs.ts';
import type { WorkflowRegistry } from '../src/core/registry.ts';
import { replay } from '../src/core/replay.ts';
import type { Fault } from './faults.ts';
import { type Invariant, Violation } from './invariants.ts';

export interface OpenTimer {
  readonly event: string;
  dueAt: number;
  /** The latest that the clock on the wall has shown since the timer was armed, before it was set back. */
  shown: number;
}

export interface OpenActivity {
  readonly src: string;
  /** The engine was told that it has ended. */
  endKnown: boolean;
}

export class RunTruth {
  readonly id: string;
  readonly userId: string;
  readonly events: WorkflowEvent[] = [];
  readonly activities = new Map<string, OpenActivity>();
  readonly timers = new Map<string, OpenTimer>();
  /** Keys of activations whose outcome is stored. */
  readonly settled = new Set<string>();
  readonly decided = new Set<string>();
  view: RunView;
  isQuarantined = false;
  /** The engine was told that it has ended or is quarantined. */
  restKnown = false;

  constructor(view: RunView) {
    this.id = view.id;
    this.userId = view.userId;
    this.view = view;
  }

  get isFinal(): boolean {
    return FINAL_STATUSES.has(this.view.status);
  }
}

export interface LedgerOptions {
  readonly workflows: WorkflowRegistry;
  readonly places: number;
  readonly now: () => number;
  /** What the outside gave for an activation: outputs as canonical JSON, failures by their message. */
  readonly outcomes: (key: string) => readonly string[];
  readonly onQuarantined: () => void;
  readonly onChildren: (what: Fault) => void;
  /** The gate that a decision was meant for, by who made it; `undefined` when it was not about a gate. */
  readonly meantFor: (by: string) => string | undefined;
}

/** Cancels children for which nobody waits. */
const SERVER = 'server';

const DECISIONS = new Set([
  'APPROVAL_GRANTED',
  'APPROVAL_REJECTED',
  'CLARIFICATION_ANSWERED',
  'CLARIFICATION_IGNORED',
  'QUESTION_ASKED',
  'FIX_DECIDED',
  'RETRY_REQUESTED',
]);

export class Ledger {
  readonly runs = new Map<string, RunTruth>();
  /** Who did something, as the log names them: each name is used once. */
  readonly actors = new Set<string>();
  /** Of the events that are on disk, by their position. */
  readonly positions = new Map<number, WorkflowEvent>();
  readonly #options: LedgerOptions;
  /** Activations that have ended, by key. */
  readonly #ended = new Map<string, OpenActivity>();
  #lastPosition = 0;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** A step that is on disk from now on. */
  record(commit: RunCommit, events: readonly WorkflowEvent[]): void {
    const run = this.runs.get(commit.runId) ?? this.#newRun(commit);
    const isSettlement = events.every(({ type }) => type === 'CALL_SETTLED');
    if (run.events.length > 0 && run.isFinal && !isSettlement)
      fail('ended', `run ${run.id} took ${events[0]?.type} after its end`);
    if (events.length !== commit.events.length)
      fail('unique', `${commit.events.length} events of run ${run.id} were given, ${events.length} stored`);
    const queuedAt = run.events.length > 0 && run.view.status === 'queued' ? this.#queuedAt(run) : null;
    const timersBefore = new Map([...run.timers].map(([key, timer]) => [key, { ...timer }]));
    for (const event of events) this.#recordEvent(run, event);
    this.#recordActivities(run, commit, events);
    this.#recordTimers(run, commit, events, { timers: timersBefore, queuedAt });
    if (run.isFinal && run.activities.size + run.timers.size > 0) {
      const left = [...run.activities.keys(), ...run.timers.keys()].join(', ');
      fail('ended', `run ${run.id} is ${run.view.status} and leaves ${left} open`);
    }
    this.#checkPlaces(run.userId);
    this.#checkAtOnce(run);
  }

  /** The engine was told that the step is on disk. */
  answer(commit: RunCommit): void {
    const run = this.runs.get(commit.runId);
    if (run === undefined) return;
    for (const key of commit.endActivities) {
      const activity = this.#ended.get(key);
      if (activity !== undefined) activity.endKnown = true;
    }
    run.restKnown = run.isFinal || run.isQuarantined;
  }

  /** A new process knows what the disk has. */
  reread(): void {
    for (const activity of this.#ended.values()) activity.endKnown = true;
    for (const run of this.runs.values()) run.restKnown = run.isFinal || run.isQuarantined;
  }

  /** A child whose parent has gone on without it. */
  isAbandoned({ view: { parent } }: RunTruth): boolean {
    return parent !== undefined && this.runs.get(parent.runId)?.activities.has(parent.key) !== true;
  }

  /** Why an activation must not be performed now; `null` when it may. */
  refusal(key: string): string | null {
    const run = this.runs.get(key.slice(0, key.indexOf('/')));
    if (run === undefined) return 'its run is not on disk';
    if (run.restKnown) return `its run is ${run.view.status}${run.isQuarantined ? ' and quarantined' : ''}`;
    if (run.activities.has(key)) return null;
    const ended = this.#ended.get(key);
    if (ended === undefined) return 'its start is not on disk';
    return ended.endKnown ? 'it has ended' : null;
  }

  /** What an activation that was stored once did. */
  srcOf(key: string): string | undefined {
    return (this.#ended.get(key) ?? this.runs.get(key.slice(0, key.indexOf('/')))?.activities.get(key))?.src;
  }

  /** The soonest timer that nothing holds back; `undefined` when there is none. Milliseconds. */
  soonestTimer(): number | undefined {
    let soonest: number | undefined;
    for (const run of this.runs.values()) {
      if (run.view.status === 'queued' || run.isQuarantined) continue;
      for (const timer of run.timers.values()) soonest = Math.min(soonest ?? Infinity, timer.dueAt);
    }
    return soonest;
  }

  /** The clock on the wall is about to be set back. */
  noteClock(wall: number): void {
    for (const run of this.runs.values())
      for (const timer of run.timers.values()) timer.shown = Math.max(timer.shown, wall);
  }

  /** Compares the store with all that was committed to it. */
  async check(store: EventStore): Promise<void> {
    for (const run of this.runs.values()) {
      const stored = await store.loadRun(run.id);
      if (stored === null) return fail('acknowledged', `run ${run.id} is gone, with ${run.events.length} events`);
      // Those after its last snapshot are all, where there is none.
      const events = stored.snapshot === null ? stored.events : await store.readRun(run.id, 0);
      if (!same(events, run.events)) {
        const missing = run.events.find((event, index) => !same(event, events[index]));
        fail(
          'acknowledged',
          `run ${run.id} has ${events.length} events, ${run.events.length} were committed; first difference at ${missing?.sequence ?? 'the end'}`,
        );
      }
      const fault = await store.verifyRun(run.id);
      if (fault !== null) fail('chain', `run ${run.id}: ${fault.message}`);
      if (!same(stored.view, run.view)) fail('view', `run ${run.id}: stored is ${difference(stored.view, run.view)}`);
      this.#checkReplay(run, stored);
    }
  }

  #checkReplay(run: RunTruth, { snapshot, activities, timers }: StoredRun): void {
    const { name, version } = run.view.workflow;
    const definition = this.#options.workflows.find(name, version);
    if (definition === undefined) return;
    const replayed = replay(definition, newRun(run.id), run.events);
    if (!replayed.ok) return fail('replay', `run ${run.id}, event ${replayed.sequence}: ${replayed.message}`);
    const keys = activities.map(({ key }) => key);
    compare('activities', run.id, Object.values(replayed.state.activities), keys);
    compare('activities in the ledger', run.id, [...run.activities.keys()], keys);
    const dueTimes = (list: readonly { readonly key: string; readonly dueAt: string }[]) =>
      list.map(({ key, dueAt }) => `${key} at ${dueAt}`);
    compare('timers', run.id, dueTimes(Object.values(replayed.state.timers)), dueTimes(timers));
    if (snapshot === null) return;
    const then = replay(definition, newRun(run.id), run.events.slice(0, snapshot.sequence));
    if (!then.ok) return fail('replay', `the snapshot of run ${run.id} is at ${snapshot.sequence}: ${then.message}`);
    const expected = JSON.parse(JSON.stringify(dehydrate(definition.machine, then.state))) as JsonObject;
    if (!same(snapshot.data, expected))
      fail('replay', `the snapshot of run ${run.id} at ${snapshot.sequence}: ${difference(snapshot.data, expected)}`);
  }

  #newRun(commit: RunCommit): RunTruth {
    this.#checkParent(commit.view);
    const run = new RunTruth(commit.view);
    this.runs.set(commit.runId, run);
    return run;
  }

  #recordEvent(run: RunTruth, event: WorkflowEvent): void {
    if (event.workflowRunId !== run.id || event.sequence !== run.events.length + 1)
      fail(
        'unique',
        `event ${event.sequence} of run ${event.workflowRunId} came after ${run.events.length} of ${run.id}`,
      );
    if (event.position <= this.#lastPosition)
      fail('unique', `event ${event.id} has position ${event.position} after ${this.#lastPosition}`);
    const before = run.events.length === 0 ? null : run.view;
    if (event.origin === 'input') this.#checkInput(run, event, before);
    this.#lastPosition = event.position;
    this.positions.set(event.position, event);
    run.events.push(event);
    const view = foldRun(before, event);
    if (view === null) return fail('view', `run ${run.id} does not begin with its start`);
    run.view = view;
    if (event.origin !== 'input') return;
    if (event.type === 'RUN_PAUSED') {
      run.isQuarantined = true;
      this.#options.onQuarantined();
    }
    if (event.type === 'RETRY_REQUESTED' || event.type === 'RUN_CANCELLED') run.isQuarantined = false;
    if (!run.isQuarantined && !run.isFinal) run.restKnown = false;
  }

  #checkInput(run: RunTruth, event: WorkflowEvent, before: RunView | null): void {
    const { payload } = event;
    const by = payload['by'];
    if (typeof by === 'string' && by !== SERVER) {
      if (this.actors.has(by)) fail('unique', `what ${by} did is in the log twice, again as ${event.id} ${event.type}`);
      this.actors.add(by);
    }
    if (DECISIONS.has(event.type) && typeof by === 'string') {
      const gateId = this.#options.meantFor(by);
      if (gateId === undefined) return;
      if (before?.gate?.id !== gateId)
        fail(
          'gate',
          `${event.type} by ${by} was meant for gate ${gateId} and counted for ${before?.gate?.id ?? 'none'}`,
        );
      if (run.decided.has(gateId)) fail('gate', `gate ${gateId} was decided again by ${by}`);
      run.decided.add(gateId);
    }
    if (event.type === 'ACTIVITY_COMPLETED' || event.type === 'ACTIVITY_FAILED')
      this.#checkOutcome(run, event, payload);
    if (event.type === 'TIMER_FIRED') this.#checkFired(run, event, String(payload['key']));
  }

  #checkOutcome(run: RunTruth, event: WorkflowEvent, payload: JsonObject): void {
    const key = String(payload['key']);
    if (run.settled.has(key)) fail('late', `a second outcome of ${key} was taken: ${event.id} ${event.type}`);
    if (!run.activities.has(key)) fail('late', `${event.id} ${event.type} was taken for ${key}, which is not open`);
    run.settled.add(key);
    if (this.#startsChild(run, key)) return this.#checkChildsEnd(event, key);
    const given = this.#options.outcomes(key);
    if (event.type === 'ACTIVITY_COMPLETED') {
      const output = canonical(payload['output']);
      if (!given.includes(output))
        fail('done', `${event.id} says ${output} of ${key}; it gave ${given.join(' or ') || 'nothing'}`);
    } else {
      const message = String((payload['error'] as JsonObject)['message']);
      if (!given.some((outcome) => message.endsWith(outcome)))
        fail(
          'done',
          `${event.id} says that ${key} failed with '${message}'; it gave ${given.join(' or ') || 'nothing'}`,
        );
    }
  }

  #startsChild(run: RunTruth, key: string): boolean {
    const { name, version } = run.view.workflow;
    const definition = this.#options.workflows.find(name, version);
    return definition !== undefined && childrenOf(definition).has(this.srcOf(key) ?? '');
  }

  #checkChildsEnd({ id, type, payload }: WorkflowEvent, key: string): void {
    const childId = runIdOf(key);
    const child = this.runs.get(childId);
    if (child?.isFinal !== true)
      return fail('children', `${id} says that the child ${childId} of ${key} has ended; it is ${child?.view.status}`);
    const told =
      type === 'ACTIVITY_COMPLETED'
        ? 'completed'
        : /failed:/.test(String((payload['error'] as JsonObject)['message']))
          ? 'failed'
          : 'cancelled';
    if (told !== 'completed') this.#options.onChildren('child run that does not complete');
    if (told !== child.view.status)
      fail('children', `${id} says that the child ${childId} is ${told}; it is ${child.view.status}`);
  }

  #checkParent({ id, parent }: RunView): void {
    if (parent === undefined) return;
    if (runIdOf(parent.key) !== id) fail('children', `the child ${id} has not the id of ${parent.key}`);
    const parentRun = this.runs.get(parent.runId);
    if (parentRun?.activities.has(parent.key) !== true && !this.#ended.has(parent.key))
      fail('children', `the child ${id} was started for ${parent.key}, which is not on disk`);
  }

  #checkAtOnce({ view: { parent } }: RunTruth): void {
    if (parent === undefined) return;
    const siblings = [...this.runs.values()].filter(
      (run) => run.view.parent?.runId === parent.runId && !run.isFinal && !this.isAbandoned(run),
    );
    const most = Math.min(CHILD_LIMITS.atOnce, this.runs.get(parent.runId)?.view.config.maxConcurrency ?? Infinity);
    if (siblings.length === most && most > 1) this.#options.onChildren('as many child runs at once as may be');
    if (siblings.length > most)
      fail('children', `${siblings.map(({ id }) => id).join(', ')} of ${parent.runId} are open at the same time`);
  }

  #checkFired(run: RunTruth, event: WorkflowEvent, key: string): void {
    const timer = run.timers.get(key);
    if (timer === undefined) return fail('late', `timer ${key} fired and is not open`);
    if (Math.max(timer.shown, this.#options.now()) < timer.dueAt)
      fail('timers', `timer ${key} is due at ${iso(timer.dueAt)} and fired at ${event.timestamp}`);
  }

  #recordActivities(run: RunTruth, commit: RunCommit, events: readonly WorkflowEvent[]): void {
    const inputs = events.filter((event) => event.origin === 'input').map((event) => event.sequence);
    for (const activity of commit.startActivities) {
      if (!inputs.some((sequence) => activity.key.startsWith(`${run.id}/${sequence}/`)))
        fail('start', `${activity.key} is started by a step whose inputs are ${inputs.join(', ')}`);
      run.activities.set(activity.key, { src: activity.src, endKnown: false });
    }
    for (const key of commit.endActivities) {
      const activity = run.activities.get(key);
      if (activity === undefined) continue;
      if (!run.settled.has(key) && this.runs.get(runIdOf(key))?.isFinal === false)
        this.#options.onChildren('child run left by its parent');
      run.activities.delete(key);
      this.#ended.set(key, activity);
    }
  }

  #recordTimers(
    run: RunTruth,
    commit: RunCommit,
    events: readonly WorkflowEvent[],
    before: { readonly timers: ReadonlyMap<string, OpenTimer>; readonly queuedAt: number | null },
  ): void {
    for (const timer of commit.setTimers) {
      const dueAt = Date.parse(timer.dueAt);
      const known = before.timers.get(timer.key);
      // The clock of a run that waits for its place stands still.
      const stoodAt = run.view.status === 'queued' ? before.queuedAt : null;
      const expected =
        known === undefined
          ? armedFor(run, timer, events, stoodAt)
          : known.dueAt + waitedMs(run, events, before.queuedAt);
      if (expected !== null && expected !== dueAt)
        fail('timers', `timer ${timer.key} is armed for ${timer.dueAt}, not ${iso(expected)}`);
      run.timers.set(timer.key, { event: timer.event, dueAt, shown: known === undefined ? 0 : -Infinity });
    }
    for (const key of commit.clearTimers) run.timers.delete(key);
  }

  /** Since when the run waited for its place before its last events; `null` when it did not. */
  #queuedAt(run: RunTruth): number | null {
    const queued = run.events.findLast((event) => event.type === 'RUN_QUEUED');
    return queued === undefined ? null : Date.parse(queued.timestamp);
  }

  #checkPlaces(userId: string): void {
    const working = [...this.runs.values()].filter(
      (run) => run.userId === userId && run.view.status === 'running' && run.activities.size > 0,
    );
    if (working.length <= this.#options.places) return;
    const ids = working.map(({ id }) => id).join(', ');
    fail('places', `${ids} of ${userId} work at the same time; there are ${this.#options.places} places`);
  }
}

/** When the machine wants a timer to fire; `null` when its delay does not stand in its name. */
function armedFor(
  run: RunTruth,
  timer: { readonly key: string; readonly event: string },
  events: readonly WorkflowEvent[],
  stoodAt: number | null,
): number | null {
  const sequence = Number(timer.key.slice(run.id.length + 1).split('/')[0]);
  const input = events.find((event) => event.sequence === sequence);
  if (input === undefined) return fail('timers', `timer ${timer.key} is armed by none of its step's inputs`);
  const delayMs = /^xstate\.after\.(\d+)\./.exec(timer.event)?.[1];
  return delayMs === undefined ? null : (stoodAt ?? Date.parse(input.timestamp)) + Number(delayMs);
}

/** By how much open timers move: the time that their run waited in the queue, until it was admitted or left by itself. */
function waitedMs(run: RunTruth, events: readonly WorkflowEvent[], queuedAt: number | null): number {
  const admitted = events.find((event) => event.type === 'RUN_ADMITTED');
  const left = admitted ?? (run.view.status === 'queued' ? undefined : events[0]);
  if (left === undefined || queuedAt === null) return 0;
  return Math.max(0, Date.parse(left.timestamp) - queuedAt);
}

function compare(what: string, runId: string, replayed: readonly string[], stored: readonly string[]): void {
  const a = [...replayed].sort().join(', ');
  const b = [...stored].sort().join(', ');
  if (a !== b) fail('replay', `the ${what} of run ${runId}: the log gives [${a}], stored are [${b}]`);
}

/** JSON with sorted keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    field !== null && typeof field === 'object' && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );
}

/** Are two values the same JSON? */
export function same(a: unknown, b: unknown): boolean {
  // Nearly always they are, with their keys in the same order: the quick way to know.
  return a === b || JSON.stringify(a) === JSON.stringify(b) || canonical(a) === canonical(b);
}

/** The first field in which two values differ. */
function difference(actual: unknown, expected: unknown): string {
  const fields = (value: unknown) => (value ?? {}) as Record<string, unknown>;
  const names = new Set([...Object.keys(fields(actual)), ...Object.keys(fields(expected))]);
  for (const name of names) {
    const [a, b] = [canonical(fields(actual)[name]), canonical(fields(expected)[name])];
    if (a !== b) return `${name} = ${a?.slice(0, 300)} instead of ${b?.slice(0, 300)}`;
  }
  return 'in another order';
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function fail(invariant: Invariant, message: string): never {
  throw new Violation(invariant, message);
}
