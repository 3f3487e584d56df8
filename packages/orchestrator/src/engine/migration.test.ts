/** Runs that go on with another version of their workflow, with a real SQLite file, across restarts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Conflict, type JsonValue, NotFound, type RunStart, type RunView } from '@autonomous/shared';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { type ActivityContext, type ActivityRegistry, lookupIn } from '../core/activity.ts';
import { newRun } from '../core/advance.ts';
import { defineWorkflow, type WorkflowDefinition } from '../core/definition.ts';
import { forkRun } from '../core/fork.ts';
import { createRegistry } from '../core/registry.ts';
import { replay } from '../core/replay.ts';
import { BUILT_IN_RUN_CONFIG } from '../run-config/run-config.ts';
import { ManualClock } from './engine.fixture.ts';
import { Engine } from './engine.ts';
import { aMachine, flow, signals } from './two-versions.fixture.ts';

const version = (number: number, shape: Parameters<typeof aMachine>[0], more: Partial<WorkflowDefinition> = {}) =>
  defineWorkflow({
    name: 'flow',
    version: number,
    description: 'for tests',
    machine: aMachine(shape),
    signals,
    ...more,
  });

const [first, second] = flow as readonly [WorkflowDefinition, WorkflowDefinition];
/** Takes one signal more: every history of the first goes the same way. */
const third = version(3, { note: true });
/** Another gate, and no migration. */
const fourth = version(4, { summary: 'Really?' });
/** A migration that gives a state which there is not. */
const fifth = version(5, { renamed: true }, { migrations: { 1: (state) => ({ ...state, value: 'nowhere' }) } });
/** Work beside the gate, which changes nothing of what is stored as an event. */
const sixth = version(6, { watched: true });
const seventh = version(7, { watched: true }, { migrations: { 1: (state) => state } });

interface Call {
  readonly src: string;
  readonly input: JsonValue;
  readonly context: ActivityContext;
  readonly complete: (output: JsonValue) => void;
}

describe('a run that is migrated', () => {
  let folder: string;
  let store: SqliteEventStore;
  let engine: Engine;
  let calls: Call[];
  let wake: () => void = () => undefined;
  const clock = new ManualClock();
  const all = [first, second, third, fourth, fifth, sixth, seventh];

  const open = async (definitions: readonly WorkflowDefinition[]): Promise<void> => {
    store = openSqliteEventStore({ file: path.join(folder, 'test.db') });
    calls = [];
    const options = {
      store,
      workflows: createRegistry(definitions),
      findActivity: lookupIn(activities),
      clock,
      log: pino({ level: 'silent' }),
      maxConcurrentRunsPerUser: 1,
      random: () => 0.5,
      scrub: <Value>(value: Value) => value,
    };
    engine = new Engine(options);
    await engine.start();
  };
  const reopen = async (definitions: readonly WorkflowDefinition[] = all): Promise<void> => {
    await engine.stop();
    await store.close();
    await open(definitions);
  };
  const activities = Object.fromEntries(
    ['draft', 'work', 'watch'].map((src) => [
      src,
      {
        retry: { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 },
        perform: (input: JsonValue, context: ActivityContext) =>
          new Promise<JsonValue>((complete, fail) => {
            calls.push({ src, input, context, complete });
            context.signal.addEventListener('abort', () => fail(new Error('aborted')));
            wake();
          }),
      },
    ]),
  ) as unknown as ActivityRegistry;
  /** The call of an activity, once there is one. */
  const call = async (activityId: string): Promise<Call> => {
    for (;;) {
      const found = calls.find(({ context }) => context.activity === activityId && !context.signal.aborted);
      if (found) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const until = (runId: string, condition: (view: RunView) => boolean): Promise<RunView> =>
    new Promise((resolve, reject) => {
      const end = engine.subscribe((message) => {
        if ('view' in message && message.view.id === runId && condition(message.view)) {
          end();
          resolve(message.view);
        }
      });
      engine.view(runId).then((view) => {
        if (condition(view)) resolve(view);
      }, reject);
    });
  const launch = (id: string): Promise<RunView> => {
    const start: RunStart = {
      projectId: 'p',
      userId: 'u',
      workflow: { name: 'flow', version: 1, fingerprint: first.fingerprint },
      request: 'Do it',
      config: BUILT_IN_RUN_CONFIG,
      requestedConfig: {},
      branch: `autonomous/${id}`,
    };
    return engine.launch(id, start);
  };
  const toGate = async (id: string): Promise<RunView> => {
    await launch(id);
    (await call('drafter')).complete('the plan');
    return until(id, (view) => view.gate !== null);
  };
  const toWork = async (id: string): Promise<RunView> => {
    await toGate(id);
    await engine.signal(id, 'APPROVAL_GRANTED', { by: 'me' });
    await call('helper');
    return engine.view(id);
  };
  const versions = (number: number) => all.find((definition) => definition.version === number);

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'migration-'));
    await open(all);
  });
  afterEach(async () => {
    await engine.stop();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('keeps its gate where its history goes the same way, and goes on with the new version', async () => {
    const { gate: before } = await toGate('r1');
    const migrated = await engine.migrate('r1', 3, 'admin');
    expect(migrated).toMatchObject({ workflow: { name: 'flow', version: 3 }, gate: before });
    expect((await store.readRun('r1', 0)).at(-1)).toMatchObject({
      type: 'RUN_MIGRATED',
      origin: 'input',
      payload: { from: 1, to: 3, fingerprint: third.fingerprint, by: 'admin', how: 'replayed' },
    });
    // Only the third version takes it.
    await engine.signal('r1', 'RETRY_REQUESTED', { by: 'me' });
    await reopen([third]);
    await engine.signal('r1', 'APPROVAL_GRANTED', { by: 'me' });
    (await call('worker')).complete('done');
    expect((await until('r1', (view) => view.status === 'completed')).workflow.version).toBe(3);
  });

  it('is converted where it has to be: work and clocks that are still there go on, the others end, new ones begin', async () => {
    await toWork('r1');
    const worker = await call('worker');
    const helper = await call('helper');
    const [clockBefore] = await store.openTimers('r1');
    clock.advance(10_000);
    const migrated = await engine.migrate('r1', 2, 'admin');
    expect(migrated).toMatchObject({
      workflow: { version: 2 },
      status: 'running',
      state: { building: { doing: {}, clock: {}, watching: {} } },
    });
    expect(helper.context.signal.aborted).toBe(true);
    expect(worker.context.signal.aborted).toBe(false);
    expect((await call('watcher')).input).toEqual({ of: 'the plan' });
    const after = (await store.readRun('r1', 0)).find((event) => event.type === 'RUN_MIGRATED')?.sequence;
    expect((await store.openActivities('r1')).map(({ key }) => key).sort()).toEqual(
      [worker.context.key, `r1/${after}/watcher`].sort(),
    );
    const clocks = await store.openTimers('r1');
    expect(clocks).toHaveLength(2);
    expect(clocks[0]).toEqual(clockBefore);
    expect(clocks[1]?.dueAt).toBe(new Date(clock.now().getTime() + 90_000).toISOString());
    // What was under way counts, and nothing of the first version is needed any more.
    worker.complete('done');
    expect(await until('r1', (view) => view.status === 'completed')).toMatchObject({ workflow: { version: 2 } });
  });

  it('is taken up after a restart with what it was converted to', async () => {
    await toWork('r1');
    const { key } = (await call('worker')).context;
    await engine.migrate('r1', 2, 'admin');
    await reopen([second]);
    const again = await call('worker');
    expect(again.context.key).toBe(key);
    await call('watcher');
    expect((await engine.inspect('r1')).state.snapshot?.context).toEqual({ plan: 'the plan', asked: 1 });
    again.complete('done');
    await until('r1', (view) => view.status === 'completed');
  });

  it('is left as it was, with the first event that differs, where it would go another way', async () => {
    const before = await toWork('r1');
    const refusal = await engine.migrate('r1', 4, 'admin').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Conflict);
    expect(refusal).toMatchObject({
      message: expect.stringMatching(/event 6: .*Really\?.*has no migration from version 1/s),
      extra: { sequence: 6 },
    });
    await expect(engine.migrate('r1', 5, 'admin')).rejects.toThrow(/cannot be converted to version 5 .*nowhere/);
    expect(await engine.view('r1')).toEqual(before);
    expect((await store.readRun('r1', 0)).map(({ type }) => type)).not.toContain('RUN_MIGRATED');
    (await call('worker')).complete('done');
    await until('r1', (view) => view.status === 'completed');
  });

  it('is converted where the new version has other work open at the same place, and is not called damaged', async () => {
    await toGate('r1');
    await expect(engine.migrate('r1', 6, 'admin')).rejects.toThrow(
      /would go another way with version 6 of 'flow': after event \d+: replay gives the open activities \[.*watcher\], stored are \[\]\. Version 6 has no migration/,
    );
    const migrated = await engine.migrate('r1', 7, 'admin');
    expect(migrated).toMatchObject({ workflow: { version: 7 }, gate: { kind: 'plan' } });
    expect((await store.readRun('r1', 0)).at(-1)).toMatchObject({
      type: 'RUN_MIGRATED',
      payload: { how: 'converted' },
    });
    await call('watcher');
    await engine.signal('r1', 'APPROVAL_GRANTED', { by: 'me' });
    (await call('worker')).complete('done');
    await until('r1', (view) => view.status === 'completed');
  });

  it('goes on where its own version is no longer there', async () => {
    await toGate('r1');
    await reopen([third]);
    await expect(engine.signal('r1', 'APPROVAL_GRANTED', { by: 'me' })).rejects.toThrow('definition_missing');
    expect(await engine.view('r1')).toMatchObject({ status: 'paused', gate: { reason: 'definition_missing' } });
    const migrated = await engine.migrate('r1', 3, 'admin');
    expect(migrated).toMatchObject({ status: 'awaiting_approval', gate: { kind: 'plan', decisions: ['approve'] } });
    await engine.signal('r1', 'APPROVAL_GRANTED', { by: 'me' });
    (await call('worker')).complete('done');
    await until('r1', (view) => view.status === 'completed');
  });

  it('takes its work up again when it was quarantined at work, once there is a place', async () => {
    await toWork('r1');
    await reopen([third]);
    expect(await engine.view('r1')).toMatchObject({ status: 'paused', gate: { reason: 'definition_missing' } });
    // Its place is free for another run meanwhile; a version that is registered launches it.
    await engine.launch('r2', { ...(await startOf('r1')), workflow: { name: 'flow', version: 3, fingerprint: 'f' } });
    expect((await engine.migrate('r1', 3, 'admin')).status).toBe('queued');
    expect(calls.map(({ context }) => context.runId)).not.toContain('r1');
    await engine.cancel('r2', 'me');
    await until('r1', (view) => view.status === 'running');
    (await call('worker')).complete('done');
    await until('r1', (view) => view.status === 'completed');
  });

  it('says that its version has to come back where nothing else knows its state', async () => {
    await toWork('r1');
    await reopen([second]);
    await expect(engine.migrate('r1', 2, 'admin')).rejects.toThrow("Version 1 of 'flow' is not on this server");
  });

  it('refuses what cannot be: no such version, the same version, a run that has ended', async () => {
    await toGate('r1');
    await expect(engine.migrate('r1', 9, 'admin')).rejects.toThrow(NotFound);
    await expect(engine.migrate('r1', 1, 'admin')).rejects.toThrow('has version 1');
    await expect(engine.migrate('r9', 2, 'admin')).rejects.toThrow("no run 'r9'");
    await engine.cancel('r1', 'me');
    await expect(engine.migrate('r1', 3, 'admin')).rejects.toThrow('already ended');
  });

  it('can be read and forked at every event, before and after', async () => {
    await toWork('r1');
    await engine.migrate('r1', 2, 'admin');
    const events = await store.readRun('r1', 0);
    const migrated = events.findIndex((event) => event.type === 'RUN_MIGRATED') + 1;
    expect(replay(first, newRun('r1'), events, versions)).toMatchObject({ ok: true });
    expect(replay(first, newRun('r1'), events)).toMatchObject({ ok: false, sequence: migrated });
    for (const [at, wanted] of [
      [6, 1],
      [migrated, 2],
    ] as const) {
      const forked = forkRun(events, versions, {
        runId: 'f1',
        at,
        tree: 'r1',
        by: 'me',
        branch: 'autonomous/f1',
        now: clock.now().toISOString(),
      });
      expect(forked).toMatchObject({ ok: true, run: { definition: { version: wanted } } });
    }
  });

  async function startOf(runId: string): Promise<RunStart> {
    const [start] = await store.readRun(runId, 0, 1);
    return start?.payload as unknown as RunStart;
  }
});
