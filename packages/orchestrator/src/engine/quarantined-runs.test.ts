/** Runs that are quarantined, queued, refused or given nonsense, on workflows that know nothing of it. */
import {
  Conflict,
  InvalidRequest,
  RetryableFailure,
  StorageFull,
  Unavailable,
  Unprocessable,
} from '@autonomous/shared';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { z } from 'zod';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import type { WriterFaults } from '../event-store/sqlite/writer/writes.ts';
import type { Activity, ActivityRegistry } from '../core/activity.ts';
import { ONE_TRY, THREE_TRIES } from '../core/activity.ts';
import { activity, defineWorkflow } from '../core/definition.ts';
import { createEngine, type EngineSetup } from './create-engine.ts';
import type { Engine } from './engine.ts';
import { Quarantine } from './quarantine.ts';
import { aView } from '../event-store/sqlite/steps.fixture.ts';

const by = z.string();

/** waits → GO → works → done, or done at once; BREAK gives it a context that is no JSON. */
const errandThat = (goesTo: 'working' | 'done') =>
  defineWorkflow({
    name: 'errand',
    version: 1,
    description: 'Something to do',
    machine: setup({
      types: {
        context: {} as { readonly since: unknown; readonly days?: number },
        events: {} as { type: 'GO' } | { type: 'BREAK' } | { type: 'PAID'; cents: number },
        input: {} as { readonly input: { readonly since: string; readonly days: number } },
      },
      actors: { work: activity<undefined, null>() },
    }).createMachine({
      id: 'errand',
      initial: 'waiting',
      context: ({ input }) => ({
        since: input.input.since === 'now' ? new Date() : input.input.since,
        days: input.input.days,
      }),
      states: {
        waiting: {
          meta: { status: 'awaiting_approval' },
          on: { GO: goesTo, BREAK: { actions: assign({ since: () => new Date() }) } },
        },
        working: {
          meta: { status: 'running' },
          on: { BREAK: { actions: assign({ since: () => new Date() }) }, PAID: {} },
          invoke: { id: 'worker', src: 'work', onDone: 'done', onError: 'broken' },
        },
        done: { type: 'final', meta: { status: 'completed' } },
        broken: { type: 'final', meta: { status: 'failed' } },
      },
    }),
    signals: {
      GO: z.strictObject({ by }),
      BREAK: z.strictObject({ by }),
      PAID: z.strictObject({ by, cents: z.int() }),
    },
    input: z.strictObject({ since: z.string().default('then'), days: z.int().default(14) }),
  });
const errand = errandThat('working');

describe('the engine, with a workflow that declares neither retry nor cancellation', () => {
  const opened: { readonly engine: Engine; readonly store: SqliteEventStore }[] = [];
  const me = { by: 'me' };

  afterEach(async () => {
    for (const { engine, store } of opened.splice(0)) {
      await engine.stop();
      await store.close();
    }
  });

  async function start(
    work: Activity<never, never>['perform'] | Activity<never, never>,
    more: Partial<EngineSetup> & { readonly faults?: WriterFaults } = {},
  ): Promise<{ readonly engine: Engine; readonly store: SqliteEventStore }> {
    const { faults, ...options } = more;
    const store = openSqliteEventStore({ file: ':memory:', writer: 'inline', faults });
    const performed = typeof work === 'function' ? { retry: ONE_TRY, perform: work } : work;
    const activities = { work: performed } as unknown as ActivityRegistry; // Outputs of these tests are no JSON on purpose.
    const log = pino({ level: 'silent' });
    const engine = createEngine({ store, definitions: [errand], activities, log, ...options });
    opened.push({ engine, store });
    await engine.start();
    return { engine, store };
  }

  const nothing = async (): Promise<never> => null as never;
  const untilAborted = (_input: never, { signal }: { readonly signal: AbortSignal }): Promise<never> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

  async function typesOf(store: SqliteEventStore, runId: string): Promise<readonly string[]> {
    return (await store.readRun(runId, 0)).map(({ type }) => type);
  }

  it('refuses what a run that is quarantined cannot take, and loses no signal silently', async () => {
    const { engine, store } = await start(nothing);
    await engine.run('errand', { id: 'r' });
    expect(await engine.signal('r', 'BREAK', me)).toMatchObject({ status: 'paused', gate: { reason: 'poisoned' } });
    const before = await typesOf(store, 'r');
    for (const signal of [engine.signal('r', 'PAID', { ...me, cents: 5 }), engine.signal('r', 'GO', me)]) {
      await expect(signal).rejects.toThrow(Conflict);
      await expect(signal).rejects.toThrow(/is quarantined .*context\.since is a Date.*Retry or cancel it/);
    }
    expect(await typesOf(store, 'r')).toEqual(before);
  });

  it('takes it up again with a retry that the workflow does not know', async () => {
    const { engine } = await start(nothing);
    await engine.run('errand', { id: 'r' });
    await expect(engine.signal('r', 'RETRY_REQUESTED', me)).rejects.toThrow(
      "does not accept the signal 'RETRY_REQUESTED'",
    );
    await engine.signal('r', 'BREAK', me);
    expect((await engine.signal('r', 'RETRY_REQUESTED', me)).status).toBe('awaiting_approval');
    await engine.signal('r', 'GO', me);
    expect((await engine.finished('r')).status).toBe('completed');
  });

  it('puts a run that was quarantined while it waited for its place back into the queue', async () => {
    const { promise: busy, resolve: free } = Promise.withResolvers<never>();
    const performed: string[] = [];
    const attempts: number[] = [];
    const work = (
      _input: never,
      { runId, attempt }: { readonly runId: string; readonly attempt: number },
    ): Promise<never> => {
      performed.push(runId);
      attempts.push(attempt);
      return runId === 'busy' ? busy : nothing();
    };
    const { engine, store } = await start(work, { maxConcurrentRunsPerUser: 1 });
    await engine.run('errand', { id: 'a' });
    await engine.run('errand', { id: 'busy' });
    await engine.signal('busy', 'GO', me);
    expect(await engine.signal('a', 'GO', me)).toMatchObject({ status: 'queued', queuePosition: 1 });
    expect((await engine.signal('a', 'BREAK', me)).status).toBe('paused');
    expect(await engine.signal('a', 'RETRY_REQUESTED', me)).toMatchObject({ status: 'queued', gate: null });
    expect(await store.loadView('a')).toMatchObject({ status: 'queued' });
    expect(performed).toEqual(['busy']);
    free(null as never);
    expect((await engine.finished('a')).status).toBe('completed');
    expect(performed).toEqual(['busy', 'a']);
    expect(attempts).toEqual([1, 1]);
  });

  it('names the fork that goes on where a later program does not take the history of a run', async () => {
    const { engine, store } = await start(untilAborted);
    await engine.run('errand', { id: 'r' });
    await engine.signal('r', 'GO', me);
    await engine.stop();
    const { engine: later } = await start(nothing, { store, definitions: [errandThat('done')] });
    const { gate } = await later.view('r');
    expect(gate).toMatchObject({ reason: 'poisoned', summary: expect.stringMatching(/^event 4: .*"fork r --at N"/s) });
    await later.fork('s', 'r', { at: 2, by: 'me', branch: '', prepare: async () => undefined });
    await later.signal('s', 'GO', me);
    expect((await later.finished('s')).status).toBe('completed');
  });

  it('cancels it wherever it is', async () => {
    const { engine, store } = await start(untilAborted, { maxConcurrentRunsPerUser: 1 });
    await engine.run('errand', { id: 'waits' });
    await engine.run('errand', { id: 'works' });
    await engine.signal('works', 'GO', me);
    for (const id of ['waits', 'works']) expect((await engine.cancel(id, 'me')).status).toBe('cancelled');
    expect(await store.openActivities()).toEqual([]);
    await expect(engine.cancel('works', 'me')).rejects.toThrow('already ended');
    await engine.run('errand', { id: 'next' });
    expect((await engine.signal('next', 'GO', me)).status).toBe('running');
  });

  it('refuses a run whose first step cannot be processed, and keeps nothing of it', async () => {
    const { engine, store } = await start(nothing, { maxConcurrentRunsPerUser: 1 });
    const refused = engine.run('errand', { id: 'r', input: { since: 'now' } });
    await expect(refused).rejects.toThrow(Unprocessable);
    await expect(refused).rejects.toThrow(/workflow 'errand' cannot start.*context\.since is a Date/);
    expect(await store.loadHead('r')).toBeNull();
    expect(engine.runsInMemory).toBe(0);
    expect((await engine.run('errand', { id: 'r' })).status).toBe('awaiting_approval');
  });

  it("gives the machine what the workflow's schema makes of the input", async () => {
    const { engine } = await start(nothing);
    await engine.run('errand', { id: 'r' });
    const { state } = await engine.inspect('r');
    expect(state.snapshot?.context).toEqual({ since: 'then', days: 14 });
    await expect(engine.run('errand', { input: { days: 'x' } })).rejects.toThrow(/input.*days/);
  });

  it.each([
    ['a bigint', 'output.id is a bigint', { id: 1n }],
    ['a Map', 'output.all is a Map', { all: new Map([[1, 2]]) }],
    ['a number that is none', 'output is NaN', Number.NaN],
  ])('fails an activity whose output is %s', async (_what, message, output) => {
    const { engine, store } = await start(async () => output as never);
    await engine.run('errand', { id: 'r' });
    await engine.signal('r', 'GO', me);
    expect((await engine.finished('r')).status).toBe('failed');
    const failure = (await store.readRun('r', 0)).find(({ type }) => type === 'ACTIVITY_FAILED');
    expect(JSON.stringify(failure?.payload)).toContain(message);
  });

  it.each([Number.NaN, -5, 1e300])('waits a time that is one although %d ms is asked for', async (retryAfterMs) => {
    const sleeps: number[] = [];
    const clock = {
      now: () => new Date('2026-03-01T12:00:00.000Z'),
      after: (ms: number, callback: () => void) => {
        sleeps.push(ms);
        queueMicrotask(callback);
        return () => undefined;
      },
    };
    let tries = 0;
    const perform = async (): Promise<never> => {
      tries += 1;
      if (tries === 1) throw new RetryableFailure('later', { reason: 'rate_limited', retryAfterMs });
      return null as never;
    };
    const { engine } = await start({ retry: THREE_TRIES, perform }, { clock });
    await engine.run('errand', { id: 'r' });
    await engine.signal('r', 'GO', me);
    expect((await engine.finished('r')).status).toBe('completed');
    expect(sleeps.every((ms) => ms >= 0 && ms <= 366 * 24 * 60 * 60_000)).toBe(true);
  });

  it('does not refuse a decision because of one that was never stored', async () => {
    const { engine } = await start(nothing, { faults: { failingCommits: { 2: 'SQLITE_FULL' } } });
    await engine.run('errand', { id: 'r' });
    const [first, second] = await Promise.allSettled([
      engine.signal('r', 'GO', { by: 'ann' }),
      engine.signal('r', 'GO', { by: 'bob' }),
    ]);
    expect(first).toMatchObject({ status: 'rejected', reason: expect.any(StorageFull) });
    expect(second).toMatchObject({ status: 'fulfilled', value: { status: 'running' } });
  });

  it('keeps no run in memory beyond its bound because a signal was refused', async () => {
    const { engine } = await start(nothing);
    const ids = Array.from({ length: 400 }, (_, run) => `r-${run}`);
    for (const id of ids) await engine.run('errand', { id });
    for (const id of ids) await expect(engine.signal(id, 'PAID', { ...me, cents: 1 })).rejects.toThrow(Conflict);
    expect(engine.runsInMemory).toBeLessThanOrEqual(256);
  });

  it('takes no signal that is only called like something that every object has', async () => {
    const { engine } = await start(nothing);
    await engine.run('errand', { id: 'r' });
    for (const type of ['constructor', '__proto__', 'toString'])
      await expect(engine.signal('r', type, me)).rejects.toThrow(
        `does not accept the signal '${type}'. It accepts GO, BREAK, PAID`,
      );
  });

  it('takes secrets out of what an activity says of its progress', async () => {
    const { promise: end, resolve } = Promise.withResolvers<never>();
    const perform = (
      _input: never,
      { heartbeat }: { readonly heartbeat: (details: { url: string }) => void },
    ): Promise<never> => {
      heartbeat({ url: 'https://SECRET@host' });
      return end;
    };
    const scrub = <Value>(value: Value): Value =>
      JSON.parse(JSON.stringify(value).replaceAll('SECRET', '***')) as Value;
    const { engine, store } = await start(perform, { scrub });
    await engine.run('errand', { id: 'r' });
    await engine.signal('r', 'GO', me);
    await expect.poll(async () => (await store.openActivities('r'))[0]?.heartbeat).toEqual({ url: 'https://***@host' });
    resolve(null as never);
    await engine.finished('r');
  });

  it('tells who waits for the end of a run that it is stopped', async () => {
    const { engine } = await start(nothing);
    await engine.run('errand', { id: 'r' });
    const end = engine.finished('r');
    await engine.stop();
    await expect(end).rejects.toThrow(Unavailable);
    await expect(engine.finished('r')).rejects.toThrow('stopped before run r ended');
  });

  it('refuses definitions and activities that it cannot answer for', async () => {
    const store = openSqliteEventStore({ file: ':memory:', writer: 'inline' });
    const activities = { work: { retry: ONE_TRY, perform: nothing } };
    const setUp = (changes: Partial<EngineSetup>) => () =>
      createEngine({ store, definitions: [errand], activities, ...changes });
    expect(setUp({ definitions: [{ ...errand, version: 2 }] })).toThrow(/version 2 was not made by defineWorkflow/);
    expect(setUp({ definitions: [errand, errand] })).toThrow(/two definitions of version 1/);
    for (const retry of [undefined, { ...ONE_TRY, attempts: 0 }, { ...ONE_TRY, maxDelayMs: Number.NaN }]) {
      const work = { ...activities.work, retry } as never;
      expect(setUp({ activities: { work } })).toThrow(/Activity 'work' needs/);
      expect(setUp({ activities: { work } })).toThrow(InvalidRequest);
    }
    await store.close();
  });
});

it.each([
  [
    {},
    'Run r-1 cannot resume: it is behind. Stop the server and restore the newest copy of its data folder, or cancel',
  ],
  [{ namesWay: true }, 'Run r-1 cannot resume: it is behind. Or cancel the run; its record stays in git.'],
])('names one way out for a run of which others know more, as of %j', async (way, message) => {
  const fault = { runId: 'r-1', sequence: 3, message: 'it is behind', ...way };
  const quarantine = new Quarantine({ faultElsewhere: async () => fault } as never);
  await expect(quarantine.refuseBehind(aView('r-1'))).rejects.toThrow(message);
});
