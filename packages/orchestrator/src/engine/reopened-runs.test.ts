/**
 * Runs whose server is stopped and started, with a real SQLite file: they have the same
 * state afterwards, and go on from it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign, emit, raise, setup } from 'xstate';
import { z } from 'zod';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { defineWorkflow, type WorkflowDefinition } from '../core/definition.ts';
import { createEngine } from './create-engine.ts';
import { ManualClock } from './engine.fixture.ts';
import type { Engine } from './engine.ts';

const any = z.looseObject({});
const SIGNALS = ['TICK', 'PICK', 'NEXT', 'GO', 'APPROVAL_GRANTED'];

function aWorkflow(machine: object, signals: readonly string[] = SIGNALS): WorkflowDefinition {
  const declared = Object.fromEntries(signals.map((type) => [type, any]));
  // A machine under test need not fit XState's types.
  const given = machine as AnyStateMachine;
  return defineWorkflow({ name: 'own', version: 1, description: '', machine: given, signals: declared });
}

/** PICK keeps one of the items, NEXT asks whether it is that one. */
const picking = aWorkflow(
  setup({ types: { context: {} as { n: number; items: readonly { id: number }[]; chosen: unknown } } }).createMachine({
    id: 'm',
    initial: 'a',
    context: { n: 0, items: [{ id: 1 }, { id: 2 }], chosen: null },
    on: { TICK: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
    states: {
      a: {
        on: {
          PICK: { actions: assign({ chosen: ({ context }) => context.items[1] }) },
          NEXT: [{ guard: ({ context }) => context.items[1] === context.chosen, target: 'same' }, { target: 'other' }],
        },
      },
      same: {},
      other: {},
    },
  }),
);

describe('a run', () => {
  let folder: string;
  let store: SqliteEventStore;
  let engine: Engine;
  let clock: ManualClock;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'reopened-runs-'));
    clock = new ManualClock();
  });
  afterEach(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  function openStore(): void {
    store = openSqliteEventStore({ file: path.join(folder, 'test.db'), writer: 'inline' });
  }

  async function start(definition: WorkflowDefinition): Promise<void> {
    openStore();
    const definitions = [definition];
    engine = createEngine({ store, definitions, activities: {}, clock, log: pino({ level: 'silent' }) });
    await engine.start();
  }

  async function stop(): Promise<void> {
    await engine.stop();
    await store.close();
  }

  it('whose context holds one object twice goes the same way on both sides of a restart, and is not quarantined', async () => {
    await start(picking);
    await engine.run('own', { id: 'r' });
    await engine.signal('r', 'PICK', {});
    for (let count = 0; count < 60; count += 1) await engine.signal('r', 'TICK', {});
    const { state } = await engine.signal('r', 'NEXT', {});
    await stop();
    await start(picking);
    await engine.inspect('r');
    expect(await engine.view('r')).toMatchObject({ status: 'running', state });
  });

  it('shows what its deepest state says, whatever the ids of its states', async () => {
    const gate = { kind: 'pay', decisions: ['approve'] as const, summary: () => 'Pay?' };
    const states = {
      p: {
        meta: { status: 'running' },
        initial: 'c',
        states: { c: { id: 'ask', meta: { status: 'awaiting_approval', gate }, on: { APPROVAL_GRANTED: '#done' } } },
      },
      end: { id: 'done', type: 'final', meta: { status: 'completed' } },
    };
    // Its meta is checked by defineWorkflow, whose types know nothing of this one's states.
    const config = { id: 'order', meta: { status: 'running' }, initial: 'p', states } as never;
    await start(aWorkflow(setup({}).createMachine(config)));
    expect(await engine.run('own', { id: 'r' })).toMatchObject({ status: 'awaiting_approval', gate: { kind: 'pay' } });
    expect(await engine.signal('r', 'APPROVAL_GRANTED', {})).toMatchObject({ status: 'completed' });
  });

  it.each(['hasOwnProperty', 'toString', 'constructor', '__proto__'])(
    'takes a signal and emits an event that is named %s, as every object has one',
    async (type) => {
      const machine = setup({}).createMachine({
        initial: 'a',
        states: { a: { on: { [type]: { target: 'b', actions: emit({ type, said: 1 }) } } }, b: {} },
      } as never);
      await start(aWorkflow(machine, [type]));
      await engine.run('own', { id: 'r' });
      expect(await engine.signal('r', type, {})).toMatchObject({ status: 'running', state: 'b' });
    },
  );

  it('fires timers that are due at once in the order in which they were armed, also after a restart', async () => {
    const log = (what: string) =>
      assign({ log: ({ context }: { context: { log: readonly string[] } }) => [...context.log, what] });
    const timer = (type: string, id: string, delay: number) => raise({ type }, { id, delay });
    const definition = aWorkflow(
      setup({ types: { context: {} as { log: readonly string[] } } }).createMachine({
        context: { log: [] },
        initial: 'a',
        states: {
          a: {
            on: {
              TICK: { actions: log('tick') },
              PICK: { actions: [timer('Z', 'z', 100), timer('Y', 'y', 100)] as never },
              NEXT: { actions: [timer('X', 'x', 100), timer('10', '10', 100), timer('9', '9', 100)] as never },
              ...Object.fromEntries(['Z', 'Y', 'X', '10', '9'].map((type) => [type, { actions: log(type) }])),
            },
          },
        },
      } as never),
    );
    await start(definition);
    await engine.run('own', { id: 'r' });
    // Their steps are the ninth and tenth event or so: as text "10" comes before "9".
    for (let count = 0; count < 6; count += 1) await engine.signal('r', 'TICK', {});
    await engine.signal('r', 'PICK', {});
    await engine.signal('r', 'NEXT', {});
    await stop();
    await start(definition);
    clock.advance(100);
    await engine.checkTimers();
    const { context } = (await engine.inspect('r')).state.snapshot as { context: { log: readonly string[] } };
    expect(context.log.filter((each) => each !== 'tick')).toEqual(['Z', 'Y', 'X', '10', '9']);
  });
});
