/** Machines of all kinds in the engine, with a real SQLite file: what a step cannot take is quarantined, and nothing is done twice. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { InvalidRequest, type RunStart, type RunView, Stale } from '@autonomous/shared';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign, raise, setup } from 'xstate';
import { z } from 'zod';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { type ActivityContext, ONE_TRY } from '../core/activity.ts';
import { activity, defineWorkflow, type WorkflowDefinition } from '../core/definition.ts';
import { createEngine } from './create-engine.ts';
import { ManualClock } from './engine.fixture.ts';
import type { Engine } from './engine.ts';

const any = z.looseObject({});
const ENDS = {
  done: { type: 'final', meta: { status: 'completed' } },
  cancelled: { type: 'final', meta: { status: 'cancelled' } },
};

const SIGNALS = {
  GO: any,
  RUN_CANCELLED: any,
  RETRY_REQUESTED: any,
  APPROVAL_GRANTED: any,
  FIX_DECIDED: any,
  STAGE_EXTENDED: any,
};

function aWorkflow(
  states: object,
  more: object = {},
  version = 1,
  signals: WorkflowDefinition['signals'] = SIGNALS,
): WorkflowDefinition {
  // What a test tries out need not fit the types of a machine.
  const machine = setup({ actors: { work: activity<null, number>() } }).createMachine({
    id: 'm',
    initial: 'a',
    context: {},
    on: { RUN_CANCELLED: '.cancelled' },
    ...more,
    states: { ...states, ...ENDS },
  } as never) as unknown as AnyStateMachine;
  return defineWorkflow({ name: 'own', version, description: '', machine, signals });
}

const waiting = { status: 'awaiting_approval' };
const by = 'Ada';

describe('a workflow of one’s own', () => {
  let folder: string;
  let store: SqliteEventStore;
  let engine: Engine;
  let clock: ManualClock;
  let performed: string[];
  let work: (context: ActivityContext) => Promise<number>;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'own-machines-'));
    clock = new ManualClock();
    performed = [];
    maxConcurrentRunsPerUser = 5;
    work = async () => 7;
  });
  afterEach(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  let maxConcurrentRunsPerUser: number;

  async function start(...definitions: readonly WorkflowDefinition[]): Promise<void> {
    store = openSqliteEventStore({ file: path.join(folder, 'test.db'), writer: 'inline' });
    const perform = (_input: null, context: ActivityContext) => {
      performed.push(context.key);
      return work(context);
    };
    const activities = { work: { retry: ONE_TRY, perform } };
    const log = pino({ level: 'silent' });
    engine = createEngine({ store, definitions, activities, clock, log, maxConcurrentRunsPerUser });
    await engine.start();
  }

  async function stop(): Promise<void> {
    await engine.stop();
    await store.close();
  }

  function until(condition: (view: RunView) => boolean, id = 'r'): Promise<RunView> {
    return new Promise((resolve, reject) => {
      const end = engine.subscribe((message) => {
        if (!('events' in message) || message.view.id !== id || !condition(message.view)) return;
        end();
        resolve(message.view);
      });
      engine.view(id).then((view) => {
        if (!condition(view)) return;
        end();
        resolve(view);
      }, reject);
    });
  }

  const isSuperseded = (view: RunView): boolean => view.gate?.reason === 'poisoned';
  const take = assign({ n: ({ event }: { event: { output: number } }) => event.output });
  const fail = assign(() => {
    throw new Error('a bug');
  });
  const working = (actions: unknown, version = 1) =>
    aWorkflow(
      { a: { meta: { status: 'running' }, invoke: { id: 'w', src: 'work', onDone: { target: 'done', actions } } } },
      {},
      version,
    );

  it('holds no run slot while it waits for a timer, also over a restart, and waits for one when the timer fires', async () => {
    maxConcurrentRunsPerUser = 1;
    const running = { status: 'running' };
    const definition = aWorkflow({
      a: { meta: running, after: { 60_000: 'b' }, on: { GO: 'b' } },
      b: { meta: running, invoke: { id: 'w', src: 'work', onDone: 'done' } },
    });
    const ends: (() => void)[] = [];
    work = ({ signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')));
        ends.push(() => resolve(7));
      });
    await start(definition);
    await engine.run('own', { id: 'r' });
    await engine.run('own', { id: 's' });
    await engine.signal('s', 'GO', { by });
    expect((await engine.run('own', { id: 't' })).status).toBe('queued');
    await stop();
    await start(definition);
    expect([(await engine.view('r')).status, (await engine.view('s')).status]).toEqual(['running', 'running']);
    clock.advance(60_000);
    await until(({ status }) => status === 'queued');
    await expect.poll(() => ends.length).toBe(2);
    ends[1]?.();
    await until(({ status }) => status === 'running');
    await expect.poll(() => ends.length).toBe(3);
    // The run that was launched last waits for a timer, and holds no slot either.
    ends[2]?.();
    await until(({ status }) => status === 'running', 't');
  });

  describe('whose machine cannot take the outcome of an activity', () => {
    it('keeps how many activities a run performs at once, and refuses less than one', async () => {
      const region = (id: string) => ({
        initial: 'i',
        states: { i: { invoke: { id, src: 'work', onDone: 'j' } }, j: {} },
      });
      const states = { a: { type: 'parallel', states: { x: region('x'), y: region('y'), z: region('z') } } };
      await start(aWorkflow(states));
      const { config } = await engine.run('own', { id: 'r', maxConcurrency: 2 });
      expect(config.maxConcurrency).toBe(2);
      await expect(engine.run('own', { id: 's', maxConcurrency: 0 })).rejects.toThrow('a whole number from 1');
    });

    it('keeps the outcome: a retry gives it to the machine again and performs nothing again', async () => {
      await start(working(fail));
      await engine.run('own', { id: 'r' });
      await until(isSuperseded);
      const { lastSequence } = await engine.signal('r', 'RETRY_REQUESTED', { by });
      await until((view) => isSuperseded(view) && view.lastSequence > lastSequence);
      await stop();
      await start(working(take));
      await engine.signal('r', 'RETRY_REQUESTED', { by });
      await until((view) => view.status === 'completed');
      expect(performed).toEqual(['r/1/w']);
      expect((await store.readRun('r', 0)).map(({ type }) => type).slice(-3)).toEqual([
        'ACTIVITY_COMPLETED',
        'STATE_CHANGED',
        'RUN_COMPLETED',
      ]);
    });

    it('gives it to the version to which the run is taken', async () => {
      await start(working(fail));
      await engine.run('own', { id: 'r' });
      await until(isSuperseded);
      await stop();
      await start(working(fail), working(take, 2));
      await engine.migrate('r', 2, by);
      await until((view) => view.status === 'completed');
      expect(performed).toEqual(['r/1/w']);
    });

    it('knows it after a crash between the retry and the machine’s step', async () => {
      await start(working(fail));
      await engine.run('own', { id: 'r' });
      await until(isSuperseded);
      await stop();
      await start(working(take));
      const retried = engine.signal('r', 'RETRY_REQUESTED', { by });
      await retried;
      await stop();
      await start(working(take));
      await until((view) => view.status === 'completed');
      expect(performed).toEqual(['r/1/w']);
    });
  });

  it('is quarantined when the read model cannot take a step', async () => {
    const stage = { meta: { status: 'running', stage: 'own' }, on: { STAGE_EXTENDED: 'done' } };
    const definition = aWorkflow({ a: stage });
    await start(definition);
    const broken = { config: { maxConcurrency: 1 }, workflow: { name: 'own', version: 1, fingerprint: '' } };
    const rest = { projectId: '', userId: 'u', request: '', requestedConfig: {}, branch: '' };
    await engine.launch('r', { ...rest, ...broken } as unknown as RunStart);
    const view = await engine.signal('r', 'STAGE_EXTENDED', { by, minutes: 1 });
    expect(view.gate).toMatchObject({ reason: 'poisoned', summary: expect.stringContaining('the read model') });
  });

  it('ends with its timers', async () => {
    const nudge = raise({ type: 'NUDGE' }, { id: 'nudge', delay: 60_000 });
    await start(aWorkflow({ a: { meta: waiting, on: { GO: 'done', NUDGE: 'a' } } }, { entry: nudge }));
    await engine.run('own', { id: 'r' });
    expect(await store.openTimers('r')).toHaveLength(1);
    await engine.signal('r', 'GO', { by });
    expect(await store.openTimers('r')).toEqual([]);
  });

  it('is not approved by what was shown before', async () => {
    type Order = { readonly price: number };
    const gate = {
      kind: 'order',
      decisions: ['approve'],
      summary: ({ price }: Order) => `Pay ${price}?`,
      facts: ({ price }: Order) => ({ artifactHash: `hash of ${price}` }),
    };
    const on = { APPROVAL_GRANTED: 'done', GO: { actions: assign({ price: 9 }) } };
    await start(aWorkflow({ a: { meta: { ...waiting, gate }, on } }, { context: { price: 1 } }));
    const shown = (await engine.run('own', { id: 'r' })).gate;
    const now = (await engine.signal('r', 'GO', { by })).gate;
    expect(now).toMatchObject({ summary: 'Pay 9?', artifactHash: 'hash of 9' });
    const payload = { by, artifactHash: shown?.artifactHash ?? '' };
    await expect(engine.signal('r', 'APPROVAL_GRANTED', payload)).rejects.toThrow(Stale);
    const old = { gateId: shown?.id ?? '', artifactHash: now?.artifactHash };
    await expect(engine.signal('r', 'APPROVAL_GRANTED', { by }, old)).rejects.toThrow('has no open gate');
    const { artifactHash } = now ?? {};
    const open = { gateId: now?.id ?? '', artifactHash };
    expect((await engine.signal('r', 'APPROVAL_GRANTED', { by }, open)).status).toBe('completed');
  });

  it('takes no decision of something else than its gate shows, also one that vouches for nothing', async () => {
    const gate = { kind: 'order', decisions: ['approve'], summary: () => 'Pay?', facts: () => ({ artifactHash: 'a' }) };
    const on = { APPROVAL_GRANTED: 'done', GO: 'done' };
    await start(aWorkflow({ a: { meta: { ...waiting, gate }, on } }));
    const gateId = (await engine.run('own', { id: 'r' })).gate?.id ?? '';
    for (const shown of [{ artifactHash: 'b' }, { artifactHash: 'a', codeTree: 'c' }, { concernsHash: 'd' }])
      await expect(engine.signal('r', 'GO', { by }, { gateId, ...shown })).rejects.toThrow(Stale);
    expect((await engine.signal('r', 'GO', { by, codeTree: 'c' }, { gateId })).status).toBe('completed');
  });

  it('is not approved by who does not name the hash that it shows, whatever its machine would take', async () => {
    const gate = {
      kind: 'order',
      decisions: ['approve', 'retry', 'accept'],
      summary: () => 'Pay?',
      facts: () => ({ artifactHash: 'what is shown' }),
    };
    const on = { APPROVAL_GRANTED: 'done', FIX_DECIDED: 'done' };
    await start(aWorkflow({ a: { meta: { ...waiting, gate }, on } }));
    const gateId = (await engine.run('own', { id: 'r' })).gate?.id ?? '';
    const accepting = { by, decision: 'accept' };
    for (const [type, payload] of [
      ['APPROVAL_GRANTED', { by }],
      ['FIX_DECIDED', accepting],
    ] as const) {
      await expect(engine.signal('r', type, payload)).rejects.toThrow(InvalidRequest);
      await expect(engine.signal('r', type, payload, { gateId })).rejects.toThrow('artifactHash is missing');
      await expect(engine.signal('r', type, payload, { gateId, artifactHash: 'another' })).rejects.toThrow(Stale);
    }
    const shown = { gateId, artifactHash: 'what is shown' };
    expect((await engine.signal('r', 'FIX_DECIDED', accepting, shown)).status).toBe('completed');
  });

  it('asks anew where the question changes, and the one before is closed', async () => {
    const gate = {
      kind: 'question',
      decisions: [],
      summary: () => 'Which?',
      facts: ({ n }: { readonly n: number }) => ({
        question: { question: `Which of ${n}?`, context: '', responseType: 'text' },
        attemptNumber: 1,
      }),
    };
    const on = { GO: { actions: assign({ n: 2 }) } };
    await start(aWorkflow({ a: { meta: { status: 'awaiting_clarification', gate }, on } }, { context: { n: 1 } }));
    await engine.run('own', { id: 'r' });
    const { clarifications } = await engine.signal('r', 'GO', { by });
    expect(clarifications.map(({ question, status }) => [question, status])).toEqual([
      ['Which of 1?', 'ignored'],
      ['Which of 2?', 'pending'],
    ]);
    expect((await store.listClarifications('pending')).map(({ question }) => question)).toEqual(['Which of 2?']);
  });

  it('may clean up when it is cancelled', async () => {
    const cleaning = { meta: { status: 'running' }, invoke: { id: 'w', src: 'work', onDone: 'cancelled' } };
    await start(aWorkflow({ a: { meta: waiting }, cleaning }, { on: { RUN_CANCELLED: '.cleaning' } }));
    await engine.run('own', { id: 'r' });
    const view = await engine.cancel('r', by);
    expect(view).toMatchObject({ status: 'running' });
    expect(view).not.toHaveProperty('completedAt');
    expect(await until(({ status }) => status === 'cancelled')).toMatchObject({ state: 'cancelled' });
    expect(performed).toHaveLength(1);
  });

  it('holds no place once it is cancelled and has said what its last call came to, also where its machine is not told', async () => {
    const began = Promise.withResolvers<ActivityContext>();
    work = (context) => {
      began.resolve(context);
      return new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(new Error('ended'))));
    };
    await start(
      aWorkflow({ a: { meta: { status: 'running' }, invoke: { id: 'w', src: 'work' } } }, {}, 1, { GO: any }),
    );
    await engine.run('own', { id: 'r' });
    const { key, spend } = await began.promise;
    const most = { inputTokens: 1, outputTokens: 1, costUsd: 1 };
    const call = { call: `${key}#1.1`, stage: null, role: 'planner', model: 'x:y' };
    await spend(() => ({ type: 'CALL_BOOKED', payload: { ...call, ...most } }));
    await engine.cancel('r', by);
    await spend(() => ({
      type: 'CALL_SETTLED',
      payload: { ...call, ...most, costUsd: 0.5, booked: most, toolCalls: 0 },
    }));
    expect(await engine.view('r')).toMatchObject({ status: 'cancelled', cost: { costUsd: 0.5 } });
    expect(engine.runsInMemory).toBe(0);
  });

  it.each(['constructor', 'toString', '__proto__'])('takes no signal %s that it does not declare', async (type) => {
    await start(aWorkflow({ a: { meta: waiting } }));
    await engine.run('own', { id: 'r' });
    await expect(engine.signal('r', type, { by })).rejects.toThrow(InvalidRequest);
  });
});
