/** Activities of one run beside each other: how many at a time, and when the next one begins after one that does not end. */
import { type JsonValue, RetryableFailure } from '@autonomous/shared';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { type AnyStateMachine, setup } from 'xstate';
import { z } from 'zod';
import type { Activity, ActivityContext } from '../../core/activity.ts';
import { activity, defineWorkflow, type WorkflowDefinition } from '../../core/definition.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../event-store/sqlite/sqlite-event-store.ts';
import { createEngine, type EngineSetup } from '../create-engine.ts';
import { ManualClock } from '../engine.fixture.ts';
import type { Engine } from '../engine.ts';

const ENDS = {
  done: { type: 'final', meta: { status: 'completed' } },
  failed: { type: 'final', meta: { status: 'failed' } },
};

function aWorkflow(states: object, more: Partial<WorkflowDefinition> = {}): WorkflowDefinition {
  // The states that a test gives need not fit the types of a machine.
  const machine = setup({ actors: { work: activity<null, string>() } }).createMachine({
    initial: 'a',
    states: { ...states, ...ENDS },
  } as never) as unknown as AnyStateMachine;
  const signals = { GO: z.looseObject({}), RETRY_REQUESTED: z.looseObject({}) };
  return defineWorkflow({ name: 'own', version: 1, description: '', machine, signals, ...more });
}

const region = (id: string) => ({
  initial: 'doing',
  states: { doing: { invoke: { id, src: 'work', onDone: 'over' } }, over: { type: 'final' } },
});

/** One activity in each of these regions at the same time. */
const beside = (ids: readonly string[], more: Partial<WorkflowDefinition> = {}) =>
  aWorkflow(
    { a: { type: 'parallel', states: Object.fromEntries(ids.map((id) => [id, region(id)])), onDone: 'done' } },
    more,
  );

interface Call {
  readonly context: ActivityContext;
  readonly complete: (output: string) => void;
  readonly fail: (error: Error) => void;
}

describe('the activities of a run', () => {
  let store: SqliteEventStore;
  let engine: Engine;
  const clock = new ManualClock();
  const calls: Call[] = [];
  afterEach(async () => {
    const stopped = engine.stop();
    for (const { fail } of calls.splice(0)) fail(new Error('the test is over'));
    clock.advance(30_000);
    await stopped;
    await store.close();
  });

  async function start(
    definition: WorkflowDefinition,
    setUp: Partial<EngineSetup> = {},
    of: Partial<Activity<null, string>> = {},
  ): Promise<void> {
    store = openSqliteEventStore({ file: ':memory:', writer: 'inline' });
    const work: Activity<null, string> = {
      retry: { attempts: 2, firstDelayMs: 60_000, maxDelayMs: 60_000, jitter: 0 },
      perform: (_input, context) => new Promise((complete, fail) => void calls.push({ context, complete, fail })),
      ...of,
    };
    const log = pino({ level: 'silent' });
    engine = createEngine({ store, definitions: [definition], activities: { work }, clock, log, ...setUp });
    await engine.start();
  }

  const begun = (): readonly string[] => calls.map(({ context }) => context.activity);
  const called = (id: string): Call => {
    const call = calls.findLast(({ context }) => context.activity === id);
    if (call === undefined) throw new Error(`${id} was not called`);
    return call;
  };
  /** Lets everything happen that needs no more time. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  it.each<[string, Partial<WorkflowDefinition>, Partial<EngineSetup>, number | undefined, number]>([
    ['4', {}, {}, undefined, 4],
    ['what the engine says', {}, { maxConcurrency: 5 }, undefined, 5],
    ['what the workflow says', { maxConcurrency: 2 }, { maxConcurrency: 5 }, undefined, 2],
    ['what the run was started with', { maxConcurrency: 2 }, {}, 3, 3],
  ])('are performed at the same time up to a limit: %s', async (_, workflow, ofEngine, ofRun, limit) => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    await start(beside(ids, workflow), ofEngine);
    const run = await engine.run('own', { id: 'r', ...(ofRun === undefined ? {} : { maxConcurrency: ofRun }) });
    expect(run.config.maxConcurrency).toBe(limit);
    await settle();
    expect(begun()).toEqual(ids.slice(0, limit));
    for (const id of ids) {
      called(id).complete('done');
      await settle();
    }
    expect((await engine.finished('r')).status).toBe('completed');
    expect(begun()).toEqual(ids);
  });

  it('refuse a limit that is no whole number from 1', async () => {
    expect(() => beside(['a'], { maxConcurrency: 0 })).toThrow('its maxConcurrency is 0; give a whole number from 1');
    await start(beside(['a']));
    expect(() => createEngine({ store, definitions: [], activities: {}, maxConcurrency: 1.5 })).toThrow(
      'maxConcurrency is 1.5; give a whole number from 1',
    );
  });

  it('hold no slot while they wait for their back-off, and take one again after it', async () => {
    await start(beside(['a', 'b', 'c'], { maxConcurrency: 1 }));
    await engine.run('own', { id: 'r' });
    await settle();
    expect(begun()).toEqual(['a']);
    called('a').fail(new RetryableFailure('not now'));
    await settle();
    expect(begun()).toEqual(['a', 'b']);
    // The back-off of the first is over while the second is performed and the third waits: it comes after both.
    clock.advance(60_000);
    await settle();
    expect(begun()).toEqual(['a', 'b']);
    called('b').complete('done');
    await settle();
    expect(begun()).toEqual(['a', 'b', 'c']);
    called('c').complete('done');
    await settle();
    expect(begun()).toEqual(['a', 'b', 'c', 'a']);
    called('a').complete('done');
    expect((await engine.finished('r')).status).toBe('completed');
  });

  it('that wait for a slot are forgotten when their state is left', async () => {
    const states = {
      a: { type: 'parallel', states: { x: region('x'), y: region('y') }, on: { GO: 'b' } },
      b: { invoke: { id: 'z', src: 'work', onDone: 'done' } },
    };
    await start(aWorkflow(states, { maxConcurrency: 1 }), {}, {});
    await engine.run('own', { id: 'r' });
    await settle();
    await engine.signal('r', 'GO', {});
    called('x').fail(new Error('aborted'));
    await settle();
    expect(begun()).toEqual(['x', 'z']);
    called('z').complete('done');
    expect((await engine.finished('r')).status).toBe('completed');
  });

  const successive = aWorkflow({
    a: { invoke: { id: 'deaf', src: 'work' }, on: { GO: 'b' } },
    b: { invoke: { id: 'next', src: 'work', onDone: 'done' } },
  });

  it('begin a second after one of the state before that does not heed its signal', async () => {
    await start(successive);
    await engine.run('own', { id: 'r' });
    await settle();
    await engine.signal('r', 'GO', {});
    clock.advance(999);
    await settle();
    expect(begun()).toEqual(['deaf']);
    expect(called('deaf').context.signal.aborted).toBe(true);
    clock.advance(1);
    await settle();
    expect(begun()).toEqual(['deaf', 'next']);
    called('next').complete('done');
    expect((await engine.finished('r')).status).toBe('completed');
  });

  it('begin at once after an activity that obeys its abort signal', async () => {
    await start(successive);
    await engine.run('own', { id: 'r' });
    await settle();
    await engine.signal('r', 'GO', {});
    called('deaf').fail(new Error('aborted'));
    await settle();
    expect(begun()).toEqual(['deaf', 'next']);
  });

  it('wait for as long as the one before asks for', async () => {
    await start(successive, {}, { graceMs: 5_000 });
    await engine.run('own', { id: 'r' });
    await settle();
    await engine.signal('r', 'GO', {});
    clock.advance(4_999);
    await settle();
    expect(begun()).toEqual(['deaf']);
    clock.advance(1);
    await settle();
    expect(begun()).toEqual(['deaf', 'next']);
  });

  it('are never performed twice at once under one key, however long the first one takes', async () => {
    await start(aWorkflow({ a: { invoke: { id: 'deaf', src: 'work', onDone: 'done' } } }));
    await engine.run('own', { id: 'r' });
    await settle();
    await engine.quarantine('r', 'for a test');
    await engine.signal('r', 'RETRY_REQUESTED', { by: 'me' });
    for (const ms of [1_000, 30_000, 3_600_000]) {
      clock.advance(ms);
      await settle();
      expect(begun()).toEqual(['deaf']);
    }
    const [first] = calls;
    first?.complete('too late');
    await settle();
    expect(begun()).toEqual(['deaf', 'deaf']);
    expect(called('deaf').context.key).toBe(first?.context.key);
    called('deaf').complete('done');
    expect((await engine.finished('r')).status).toBe('completed');
  });

  it('that take too long and do not end fail instead of being attempted again', async () => {
    const retry = { attempts: 3, firstDelayMs: 0, maxDelayMs: 0, timeoutMs: 1_000 };
    await start(
      aWorkflow({ a: { invoke: { id: 'deaf', src: 'work', onDone: 'done', onError: 'failed' } } }),
      {},
      { retry },
    );
    await engine.run('own', { id: 'r' });
    await settle();
    clock.advance(1_000);
    clock.advance(30_000);
    expect((await engine.finished('r')).status).toBe('failed');
    expect(begun()).toEqual(['deaf']);
    const events = await store.readRun('r', 0);
    const failure = events.find(({ type }) => type === 'ACTIVITY_FAILED')?.payload['error'] as JsonValue;
    expect(failure).toMatchObject({
      reason: 'timeout',
      message: 'The attempt took longer than 1000 ms; it does not end, so that no other attempt may begin',
    });
  });
});
