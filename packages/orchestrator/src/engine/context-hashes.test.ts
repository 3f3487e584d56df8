/** A context that depends on chance or the clock is noticed when its run is reopened, before anything happens. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign, setup } from 'xstate';
import { z } from 'zod';
import { defineWorkflow, type WorkflowDefinition } from '../core/definition.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { createEngine } from './create-engine.ts';
import { ManualClock } from './engine.fixture.ts';
import type { Engine } from './engine.ts';

const any = z.looseObject({});

/** GO assigns the given value, and NEXT enters the next state. */
function assigning(given: object, { version = 1, context = {} }: { version?: number; context?: unknown } = {}) {
  // The assigned values of these tests need not fit XState's types.
  const machine = setup({}).createMachine({
    id: 'm',
    initial: 'a',
    context: context as never,
    states: { a: { on: { GO: { actions: assign(given as never) }, NEXT: 'b' } }, b: {} },
  } as never) as unknown as AnyStateMachine;
  const signals = { GO: any, NEXT: any, RETRY_REQUESTED: any };
  return defineWorkflow({ name: 'own', version, description: '', machine, signals });
}

describe('the context of a run', () => {
  let folder: string;
  let file: string;
  let store: SqliteEventStore;
  let engine: Engine;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'context-hashes-'));
    file = path.join(folder, 'test.db');
  });
  afterEach(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(...definitions: readonly WorkflowDefinition[]): Promise<void> {
    store = openSqliteEventStore({ file, writer: 'inline' });
    const log = pino({ level: 'silent' });
    engine = createEngine({ store, definitions, activities: {}, clock: new ManualClock(), log });
    await engine.start();
  }

  async function stop(): Promise<void> {
    await engine.stop();
    await store.close();
  }

  const fieldsOfSteps = async (): Promise<readonly (readonly string[])[]> =>
    [...((await store.loadRun('r'))?.contexts.values() ?? [])].map((hashes) => Object.keys(hashes).sort());

  it.each<[string, () => object, string]>([
    ['chance', () => assigning({ token: () => Math.random() }), 'token'],
    ['chance deep inside', () => assigning({ order: () => ({ lines: [{ id: Math.random() }] }) }), 'order'],
    ['the time', () => assigning({ at: () => performance.now() }), 'at'],
    [
      'what was there before',
      () => {
        let calls = 0;
        return assigning({ n: () => (calls += 1) });
      },
      'n',
    ],
  ])('that depends on %s quarantines its run when it is reopened, by name', async (_, define, field) => {
    const definition = define() as WorkflowDefinition;
    await start(definition);
    await engine.run('own', { id: 'r' });
    await engine.signal('r', 'GO', {});
    await stop();
    await start(definition);
    const { status, gate } = await engine.view('r');
    expect([status, gate?.reason]).toEqual(['paused', 'poisoned']);
    expect(gate?.summary).toContain(`replay changes context.${field} in another way than GO did when it was stored`);
    await expect(engine.signal('r', 'NEXT', {})).rejects.toThrow('is quarantined');
  });

  it('that the context function takes from chance is noticed too', async () => {
    const definition = assigning({}, { context: () => ({ seed: Math.random() }) });
    await start(definition);
    await engine.run('own', { id: 'r' });
    await stop();
    await start(definition);
    expect((await engine.view('r')).gate?.summary).toContain('context.seed in another way than RUN_STARTED did');
  });

  it('continues in a version that is pure', async () => {
    const broken = assigning({ token: () => Math.random() });
    await start(broken);
    await engine.run('own', { id: 'r' });
    await engine.signal('r', 'GO', {});
    await stop();
    await start(broken, assigning({ token: 7 }, { version: 2 }));
    await engine.migrate('r', 2, 'me');
    expect(await engine.signal('r', 'NEXT', {})).toMatchObject({ status: 'running', state: 'b' });
    await stop();
    await start(broken, assigning({ token: 7 }, { version: 2 }));
    expect(await engine.view('r')).toMatchObject({ status: 'running', state: 'b' });
    expect((await engine.inspect('r')).state.snapshot?.context).toEqual({ token: 7 });
  });

  it('is hashed where a step changed it, and replays whatever the order of its keys', async () => {
    const given = { event: { order: { a: 1, b: [2, { c: 3, d: 'x'.repeat(100) }] }, gone: 1 } };
    const pure = (order: (event: typeof given.event) => object) =>
      assigning(
        { order: ({ event }: typeof given) => order(event), gone: ({ event }: typeof given) => event.gone },
        { context: { same: 1, gone: 2, toString: 4 } },
      );
    await start(pure(({ order: { a, b } }) => ({ a, b, none: undefined })));
    await engine.run('own', { id: 'r' });
    await engine.signal('r', 'GO', given.event);
    await engine.signal('r', 'GO', { ...given.event, gone: undefined });
    await engine.signal('r', 'NEXT', {});
    expect(await fieldsOfSteps()).toEqual([['gone', 'same', 'toString'], ['gone', 'order'], ['gone'], []]);
    await stop();
    await start(pure(({ order: { a, b } }) => ({ b, a })));
    expect(await engine.view('r')).toMatchObject({ status: 'running', state: 'b' });
  });

  describe('that takes over the output of an activity', () => {
    const text = 'long '.repeat(20);
    const stored = (): unknown[] => {
      const database = new Database(file, { readonly: true });
      const rows = database.prepare('SELECT context FROM workflow_steps ORDER BY sequence').pluck().all();
      database.close();
      return rows.map((row) => JSON.parse(String(row)) as unknown);
    };
    const taking = (value: (event: { output: string }) => unknown) =>
      assigning({ plan: ({ event }: { event: { output: string } }) => value(event) }, { context: { plan: '' } });

    it('names it instead of a hash', async () => {
      const definition = taking(({ output }) => output);
      await start(definition);
      await engine.run('own', { id: 'r' });
      await engine.signal('r', 'GO', { output: text });
      await engine.signal('r', 'GO', { output: 'short' });
      await stop();
      expect(stored()).toEqual([
        { plan: expect.stringMatching(/^[0-9a-f]{16}$/) },
        { plan: 'output' },
        { plan: expect.stringMatching(/^[0-9a-f]{16}$/) },
      ]);
      await start(definition);
      expect(await engine.signal('r', 'NEXT', {})).toMatchObject({ status: 'running', state: 'b' });
    });

    it('quarantines a run that does not take it over again', async () => {
      await start(taking(({ output }) => output));
      await engine.run('own', { id: 'r' });
      await engine.signal('r', 'GO', { output: text });
      await stop();
      await start(taking(({ output }) => `${output}!`));
      expect((await engine.view('r')).gate?.summary).toContain('replay changes context.plan in another way');
    });
  });

  it('of a run that was stored without hashes is not checked', async () => {
    const definition = assigning({ token: () => Math.random() });
    await start(definition);
    await engine.run('own', { id: 'r' });
    await engine.signal('r', 'GO', {});
    await stop();
    const database = new Database(file);
    database.exec('UPDATE workflow_steps SET context = NULL');
    database.close();
    await start(definition);
    expect(await fieldsOfSteps()).toEqual([]);
    expect(await engine.signal('r', 'NEXT', {})).toMatchObject({ status: 'running', state: 'b' });
  });
});
