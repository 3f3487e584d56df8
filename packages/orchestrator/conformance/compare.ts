/**
 * Runs one machine twice: as a plain actor of XState on a simulated clock, and as a run of the engine that is reopened from
 * its SQLite file after every event and at every due time. Compares their visible states after each step.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { InvalidRequest } from '@autonomous/shared';
import { pino } from 'pino';
import { type AnyActor, type AnyActorLogic, createActor, fromPromise } from 'xstate';
import { z } from 'zod';
import { ONE_TRY } from '../src/core/activity.ts';
import { activity, defineWorkflow, type WorkflowDefinition } from '../src/core/definition.ts';
import type { Clock } from '../src/engine/clock.ts';
import { createEngine } from '../src/engine/create-engine.ts';
import type { Engine } from '../src/engine/engine.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import { ACTIVITY, type Build } from './convert.ts';

export type Operation =
  | { readonly kind: 'send'; readonly event: { readonly type: string } }
  | { readonly kind: 'advance'; readonly ms: number }
  /** Completes the open activity with the lowest id. */
  | { readonly kind: 'complete'; readonly output: number };

export interface Case {
  readonly build: Build;
  readonly operations: readonly Operation[];
  /** Input of the machine; absent for none. */
  readonly input?: unknown;
  /** Folder for the database of the run. */
  readonly folder: string;
}

export type Verdict =
  | { readonly kind: 'identical'; readonly steps: number }
  /** `defineWorkflow` refuses the machine and states the reason. */
  | { readonly kind: 'refused'; readonly why: string }
  /** XState's actor ends in error, and the engine quarantines the run or refuses its start. */
  | { readonly kind: 'both fail'; readonly why: string }
  /** XState cannot start the machine, or its timers never stop. */
  | { readonly kind: 'not comparable'; readonly why: string }
  | Difference;

export interface Difference {
  readonly kind: 'different';
  /** Index and kind of the operation after which the states differ, or `start`. */
  readonly at: string;
  readonly fields: readonly string[];
  readonly why: string;
  /** Keys that have had the value `undefined` in the context of XState's actor. */
  readonly undefinedKeys: readonly string[];
}

type Activities = readonly (readonly [id: string, input: unknown])[];

/** Compared state of an actor or run. Times are milliseconds since the start. */
interface Look {
  readonly status: string;
  readonly value?: unknown;
  readonly context?: unknown;
  readonly output?: unknown;
  readonly activities?: Activities;
  readonly timers?: readonly number[];
  readonly emitted: readonly unknown[];
  /** Reason of a quarantine; not compared. */
  readonly failure?: string;
}

/** Limit of the wait for a step to settle, in turns of the event loop. */
const MOST_TURNS = 400;
/** Due times within one `advance` after which a machine counts as endless. */
const MOST_FIRINGS = 60;
const EPOCH = Date.parse('2026-03-01T10:00:00Z');
/** Emitted events of the engine itself, which a machine cannot emit. */
const OF_THE_ENGINE = /^(STATE_CHANGED|STAGE_|RUN_|APPROVAL_|CLARIFICATION_)/;

export async function compared(given: Case): Promise<Verdict> {
  const types = given.operations.flatMap((operation) => (operation.kind === 'send' ? [operation.event.type] : []));
  const declared = new Set(types.filter((type) => !type.startsWith('xstate.') && !type.includes('*')));
  // Events that cannot be signals are sent to neither.
  const operations = given.operations.filter((each) => each.kind !== 'send' || declared.has(each.event.type));
  let definition: WorkflowDefinition;
  try {
    definition = defineWorkflow({
      name: 'machine',
      version: 1,
      description: '',
      machine: given.build(activity()),
      signals: Object.fromEntries([...declared].map((type) => [type, z.looseObject({})])),
      ...(given.input === undefined ? {} : { input: z.looseObject({}) }),
    });
  } catch (error) {
    if (error instanceof InvalidRequest) return { kind: 'refused', why: error.message };
    return { kind: 'not comparable', why: messageOf(error) };
  }
  const actor = new PlainActor();
  const run = new ReopenedRun(definition, given.folder);
  try {
    return await play(actor, run, { ...given, operations });
  } finally {
    actor.stop();
    await run.remove();
  }
}

async function play(actor: PlainActor, run: ReopenedRun, { build, operations, input }: Case): Promise<Verdict> {
  const start = input === undefined ? undefined : { given: plain(input) };
  try {
    await actor.start(build, start);
  } catch (error) {
    return { kind: 'not comparable', why: messageOf(error) };
  }
  try {
    await run.start(start);
  } catch (error) {
    const why = messageOf(error);
    if (actor.look().status === 'error') return { kind: 'both fail', why };
    return { kind: 'different', at: 'start', fields: ['status'], why, undefinedKeys: actor.undefinedKeys };
  }
  let steps = 0;
  const check = async (at: string): Promise<Verdict | null> => {
    for (const reopens of [false, true]) {
      if (reopens) await run.reopen();
      const verdict = difference(reopens ? `${at}, reopened` : at, actor, await run.look());
      if (verdict !== null) return verdict;
    }
    steps += 1;
    return null;
  };
  const begun = await check('start');
  if (begun !== null) return begun;
  for (const [index, operation] of operations.entries()) {
    if (actor.look().status !== 'active') break;
    const at = `${index} ${operation.kind}`;
    switch (operation.kind) {
      case 'send':
        await actor.send(operation.event);
        await run.send(operation.event);
        break;
      case 'complete': {
        const [id] = [...actor.open.keys()].filter((each) => run.open.has(each)).sort();
        if (id === undefined) continue;
        await actor.complete(id, operation.output);
        await run.complete(id, operation.output);
        break;
      }
      case 'advance': {
        const verdict = await advance(actor, run, operation.ms, (ms) => check(`${at} to ${ms} ms`));
        if (verdict !== null) return verdict;
        break;
      }
      default:
        operation satisfies never;
    }
    const verdict = await check(at);
    if (verdict !== null) return verdict;
  }
  const fault = await run.fault();
  return fault === null
    ? { kind: 'identical', steps }
    : { kind: 'different', at: 'end', fields: ['hash chain'], why: fault, undefinedKeys: [] };
}

/** Moves both clocks from one due time to the next. */
async function advance(
  actor: PlainActor,
  run: ReopenedRun,
  ms: number,
  check: (at: number) => Promise<Verdict | null>,
): Promise<Verdict | null> {
  const end = actor.time + ms;
  for (let firings = 0; ; firings += 1) {
    if (firings > MOST_FIRINGS) return { kind: 'not comparable', why: 'its timers do not stop' };
    const [due = end] = actor.look().timers ?? [];
    const next = Math.max(Math.min(due, end), actor.time);
    await actor.moveTo(next);
    await run.moveTo(next);
    const [left] = actor.look().timers ?? [];
    if (next === end && (left === undefined || left > end)) return null;
    const verdict = await check(next);
    if (verdict !== null) return verdict;
  }
}

function difference(at: string, { look, undefinedKeys }: PlainActor, run: Look): Verdict | null {
  const actor = look();
  const why = run.failure ?? '';
  if (actor.status === 'error' && run.status === 'error') return { kind: 'both fail', why };
  const fields = (['status', 'value', 'context', 'output', 'activities', 'timers', 'emitted'] as const).filter(
    (field) => !isDeepStrictEqual(actor[field], run[field]),
  );
  if (fields.length === 0) return null;
  const [field = 'status'] = fields;
  const both = `XState ${JSON.stringify(actor[field]) ?? 'nothing'}, engine ${JSON.stringify(run[field]) ?? 'nothing'}`;
  return { kind: 'different', at, fields, why: why === '' ? both : `${both}: ${why}`, undefinedKeys };
}

/** Clock of the plain actor. Timers fire by due time; those with the same due time in the order in which they were set. */
class SimulatedTime {
  now = 0;
  #next = 1;
  readonly #timers = new Map<number, { readonly at: number; readonly fire: () => void }>();

  setTimeout(fire: () => void, ms: number): number {
    this.#timers.set(this.#next, { at: this.now + Math.max(0, ms), fire });
    this.#next += 1;
    return this.#next - 1;
  }

  clearTimeout(id: number): void {
    this.#timers.delete(id);
  }

  get dues(): readonly number[] {
    return [...this.#timers.values()].map(({ at }) => at).sort((a, b) => a - b);
  }

  /** Fires the earliest due timer. @returns false when no timer is due */
  fireNext(): boolean {
    const [first] = [...this.#timers].filter(([, { at }]) => at <= this.now).sort(([, a], [, b]) => a.at - b.at);
    if (first === undefined) return false;
    this.#timers.delete(first[0]);
    first[1].fire();
    return true;
  }
}

interface OpenActivity {
  readonly key: string;
  readonly input: unknown;
  readonly resolve: (output: number) => void;
}

class PlainActor {
  readonly open = new Map<string, OpenActivity>();
  readonly #time = new SimulatedTime();
  readonly #emitted: unknown[] = [];
  readonly #undefinedKeys = new Set<string>();
  #actor: AnyActor | undefined;

  async start(build: Build, input: unknown): Promise<void> {
    const { open } = this;
    const logic = fromPromise<number>(({ input, self, signal }) => {
      const { promise, resolve } = Promise.withResolvers<number>();
      const own = { key: '', input, resolve };
      open.set(self.id, own);
      signal.addEventListener('abort', () => {
        if (open.get(self.id) === own) open.delete(self.id);
      });
      return promise;
    });
    // The engine passes the payload of RUN_STARTED, which holds the run's input.
    const given = input === undefined ? {} : { input: { input } };
    const actor = createActor(build(logic as AnyActorLogic), { clock: this.#time, logger: () => undefined, ...given });
    this.#actor = actor;
    actor.on('*', (event) => void this.#emitted.push(plain(event)));
    actor.subscribe({ next: (snapshot) => this.#noteUndefined(snapshot), error: () => undefined });
    this.#noteUndefined(actor.getSnapshot());
    actor.start();
    await this.#settle();
  }

  get undefinedKeys(): readonly string[] {
    return [...this.#undefinedKeys];
  }

  get time(): number {
    return this.#time.now;
  }

  async send(event: { readonly type: string }): Promise<void> {
    this.#running.send(event);
    await this.#settle();
  }

  async complete(id: string, output: number): Promise<void> {
    const own = this.open.get(id);
    this.open.delete(id);
    own?.resolve(output);
    await this.#settle();
  }

  async moveTo(ms: number): Promise<void> {
    this.#time.now = ms;
    await this.#settle();
  }

  readonly look = (): Look => {
    const { status, value, context, output } = this.#running.getSnapshot() as Readonly<Record<string, unknown>>;
    const emitted = this.#emitted;
    if (status === 'error') return { status, emitted };
    const isActive = status === 'active';
    return {
      status: String(status),
      value: plain(value),
      context: plain(context),
      output: status === 'done' ? plain(output) : undefined,
      activities: isActive ? activitiesOf([...this.open.keys()], this.open) : [],
      timers: isActive ? this.#time.dues : [],
      emitted,
    };
  };

  stop(): void {
    try {
      this.#actor?.stop();
    } catch {
      // A machine that failed may throw here again.
    }
  }

  #noteUndefined({ context }: { readonly context?: object }): void {
    for (const [key, each] of Object.entries(context ?? {})) if (each === undefined) this.#undefinedKeys.add(key);
  }

  get #running(): AnyActor {
    if (this.#actor === undefined) throw new Error('the actor was not created');
    return this.#actor;
  }

  async #settle(): Promise<void> {
    for (let turns = 0; turns < MOST_TURNS; turns += 1) {
      for (let count = 0; count < 3; count += 1) await turn();
      if (!this.#time.fireNext()) return;
    }
  }
}

class ReopenedRun {
  readonly open = new Map<string, OpenActivity>();
  readonly #definition: WorkflowDefinition;
  readonly #folder: string;
  readonly #clock = new EngineClock();
  #store: SqliteEventStore | undefined;
  #engine: Engine | undefined;

  constructor(definition: WorkflowDefinition, folder: string) {
    this.#definition = definition;
    this.#folder = mkdtempSync(path.join(folder, 'run-'));
  }

  async start(input: { readonly given: unknown } | undefined): Promise<void> {
    await this.#open();
    await this.#running.run(this.#definition.name, {
      id: 'r',
      ...(input === undefined ? {} : { input: input as never }),
    });
    await this.#settle();
  }

  async reopen(): Promise<void> {
    await this.#close();
    await this.#open();
    await this.#settle();
  }

  async send({ type, ...payload }: { readonly type: string }): Promise<void> {
    try {
      await this.#running.signal('r', type, payload);
    } catch {
      // If XState's actor took the event, the comparison finds different states.
    }
    await this.#settle();
  }

  async complete(id: string, output: number): Promise<void> {
    const own = this.open.get(id);
    this.open.delete(id);
    own?.resolve(output);
    for (let turns = 0; turns < MOST_TURNS; turns += 1) {
      if (!(await this.#openKeys()).includes(own?.key ?? '')) break;
      await turn();
    }
    await this.#settle();
  }

  async moveTo(ms: number): Promise<void> {
    this.#clock.moveTo(ms);
    await this.#settle();
  }

  async look(): Promise<Look> {
    const events = (await this.#store?.readRun('r', 0)) ?? [];
    const emitted = events
      .filter(({ origin, type }) => origin === 'emitted' && !OF_THE_ENGINE.test(type))
      .map(({ type, payload }) => ({ type, ...payload }));
    const view = await this.#running.view('r');
    if (view.gate?.reason === 'poisoned') return { status: 'error', emitted, failure: view.gate.summary };
    const { snapshot, activities, timers } = (await this.#running.inspect('r')).state;
    return {
      status: snapshot?.status ?? 'none',
      value: plain(snapshot?.value),
      context: plain(snapshot?.context),
      output: snapshot?.status === 'done' ? plain(snapshot.output) : undefined,
      activities: activitiesOf(Object.keys(activities), this.open),
      timers: Object.values(timers)
        .map(({ dueAt }) => Date.parse(dueAt) - EPOCH)
        .sort((a, b) => a - b),
      emitted,
    };
  }

  /** First fault of the hash chain; `null` when it is intact. */
  async fault(): Promise<string | null> {
    return (await this.#store?.verifyRun('r'))?.message ?? null;
  }

  async remove(): Promise<void> {
    await this.#close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #running(): Engine {
    if (this.#engine === undefined) throw new Error('the run is not open');
    return this.#engine;
  }

  async #open(): Promise<void> {
    this.open.clear();
    this.#store = openSqliteEventStore({ file: path.join(this.#folder, 'run.db'), writer: 'inline' });
    const perform = (
      input: unknown,
      { activity: id, key, signal }: { activity: string; key: string; signal: AbortSignal },
    ) => {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const own = { key, input, resolve };
      this.open.set(id, own);
      signal.addEventListener('abort', () => {
        if (this.open.get(id) === own) this.open.delete(id);
        reject(new Error('aborted'));
      });
      return promise;
    };
    this.#engine = createEngine({
      store: this.#store,
      definitions: [this.#definition],
      activities: { [ACTIVITY]: { retry: ONE_TRY, perform } },
      clock: this.#clock,
      log: pino({ level: 'silent' }),
      maxConcurrency: 1_000,
    });
    await this.#engine.start();
  }

  async #close(): Promise<void> {
    await this.#engine?.stop();
    await this.#store?.close();
    this.#engine = undefined;
    this.#store = undefined;
  }

  async #openKeys(): Promise<readonly string[]> {
    const stored = await this.#store?.openKeys('r');
    return stored?.activities ?? [];
  }

  /** Waits until no timer is due and all open activities are performed. */
  async #settle(): Promise<void> {
    for (let turns = 0; turns < MOST_TURNS; turns += 1) {
      await turn();
      await this.#running.checkTimers();
      const { status } = await this.look();
      if (status !== 'active') return;
      const { activities, timers } = (await this.#running.inspect('r')).state;
      const isDue = Object.values(timers).some(({ dueAt }) => dueAt <= this.#clock.now().toISOString());
      const keys = Object.values(activities);
      const performed = [...this.open.values()].map(({ key }) => key);
      if (!isDue && keys.length === performed.length && keys.every((key) => performed.includes(key))) return;
    }
  }
}

class EngineClock implements Clock {
  #ms = 0;
  readonly #alarms = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): Date {
    return new Date(EPOCH + this.#ms);
  }

  after(ms: number, callback: () => void): () => void {
    const alarm = { at: this.#ms + Math.max(0, ms), callback };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  moveTo(ms: number): void {
    this.#ms = ms;
    for (const alarm of [...this.#alarms].filter(({ at }) => at <= ms)) {
      this.#alarms.delete(alarm);
      alarm.callback();
    }
  }
}

/** Open activities by id. XState's `undefined` and the engine's `null` are the same input: none. */
function activitiesOf(ids: string[], open: ReadonlyMap<string, OpenActivity>): Activities {
  return ids.sort().map((id) => [id, plain(open.get(id)?.input) ?? null]);
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
