/** Tests that the engine treats rare parts of a machine like XState, also when the run is reopened from its file in between. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign, raise, setup } from 'xstate';
import { z } from 'zod';
import { ONE_TRY } from '../core/activity.ts';
import { activity, defineWorkflow, type WorkflowDefinition } from '../core/definition.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { createEngine } from './create-engine.ts';
import { ManualClock } from './engine.fixture.ts';
import type { Engine } from './engine.ts';

const NAMES_OF_EVERY_OBJECT = ['hasOwnProperty', 'toString', 'constructor', 'valueOf'];
const any = z.looseObject({});
const completed = { type: 'final', meta: { status: 'completed' } };
const cancelled = { type: 'final', meta: { status: 'cancelled' } };

/** A workflow of a machine that need not fit XState's types. */
function aWorkflow(config: object, more: Partial<WorkflowDefinition> = {}, actors: object = {}): WorkflowDefinition {
  const machine = setup({ actors }).createMachine({ id: 'm', ...config } as never);
  const signals = {
    GO: any,
    ASK: any,
    ...('cancelled' in (config as { states: object }).states ? { RUN_CANCELLED: any } : {}),
  };
  return defineWorkflow({
    name: 'own',
    version: 1,
    description: '',
    machine: machine as unknown as AnyStateMachine,
    signals,
    ...more,
  });
}

const throwing = (): never => {
  throw new Error('a bug');
};

describe('a run', () => {
  let folder: string;
  let store: SqliteEventStore;
  let engine: Engine;
  let definition: WorkflowDefinition;
  const clock = new ManualClock();

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'xstate-semantics-'));
  });
  afterEach(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(of: WorkflowDefinition): Promise<void> {
    definition = of;
    store = openSqliteEventStore({ file: path.join(folder, 'test.db'), writer: 'inline' });
    const work = { retry: ONE_TRY, perform: () => Promise.resolve(7) };
    const activities = Object.fromEntries(Object.keys(of.machine.implementations.actors).map((name) => [name, work]));
    engine = createEngine({ store, definitions: [of], activities, clock, log: pino({ level: 'silent' }) });
    await engine.start();
  }

  async function stop(): Promise<void> {
    await engine.stop();
    await store.close();
  }

  async function reopen(): Promise<void> {
    await stop();
    await start(definition);
  }

  const contextOf = async (): Promise<unknown> => (await engine.inspect('r')).state.snapshot?.context;
  const until = (condition: (view: RunView) => boolean): Promise<RunView> =>
    new Promise((resolve) => {
      const end = engine.subscribe((message) => {
        if (!('view' in message) || !condition(message.view)) return;
        end();
        resolve(message.view);
      });
    });

  it('takes a signal that only an always transition reacts to, and refuses one that none reacts to', async () => {
    await start(
      aWorkflow({
        initial: 'a',
        states: {
          a: { always: { guard: ({ event }: { event: { type: string } }) => event.type === 'GO', target: 'b' } },
          b: { always: { guard: ({ event }: { event: { n?: number } }) => event.n === 2, target: 'c' } },
          c: {},
        },
      }),
    );
    await engine.run('own', { id: 'r' });
    await reopen();
    await expect(engine.signal('r', 'ASK', {})).rejects.toThrow('cannot take ASK now');
    expect(await engine.signal('r', 'GO', {})).toMatchObject({ state: 'b' });
    await reopen();
    await expect(engine.signal('r', 'ASK', { n: 1 })).rejects.toThrow('cannot take ASK now');
    expect(await engine.signal('r', 'ASK', { n: 2 })).toMatchObject({ state: 'c' });
    await reopen();
    expect(await engine.view('r')).toMatchObject({ status: 'running', state: 'c' });
  });

  it('gets an event that was raised with a delay with its data, also after a restart', async () => {
    const reminder = ({ event }: { event: { to?: string } }) => ({ type: 'REMIND', to: event.to, at: [1, 2] });
    const remind = raise(reminder as never, { id: 'remind', delay: 1_000 });
    const keep = assign({ got: ({ event }: { event: object }) => event });
    await start(
      aWorkflow({
        initial: 'a',
        context: { got: null },
        states: { a: { on: { GO: { actions: remind }, REMIND: { target: 'b', actions: keep } } }, b: {} },
      }),
    );
    await engine.run('own', { id: 'r' });
    await engine.signal('r', 'GO', { to: 'Ada' });
    await reopen();
    clock.advance(1_000);
    await engine.checkTimers();
    const got = { got: { type: 'REMIND', to: 'Ada', at: [1, 2] } };
    expect(await contextOf()).toEqual(got);
    await reopen();
    expect(await contextOf()).toEqual(got);
    expect(await engine.view('r')).toMatchObject({ status: 'running', state: 'b' });
  });

  it('is quarantined before any effect when a delayed event holds what is not JSON', async () => {
    const remind = raise({ type: 'REMIND', when: new Date(0) } as never, { id: 'remind', delay: 1 });
    await start(aWorkflow({ initial: 'a', states: { a: { on: { GO: { actions: remind } } } } }));
    await engine.run('own', { id: 'r' });
    const { gate } = await engine.signal('r', 'GO', {});
    expect(gate?.summary).toContain('REMIND was raised with a delay, and when of it is a Date');
  });

  it('whose guard throws is quarantined, as an actor of XState ends in error, and can be cancelled', async () => {
    await start(
      aWorkflow({
        initial: 'a',
        states: { a: { on: { GO: { guard: throwing, target: 'b' } } }, b: {}, cancelled },
        on: { RUN_CANCELLED: '.cancelled' },
      }),
    );
    await engine.run('own', { id: 'r' });
    const { status, gate } = await engine.signal('r', 'GO', {});
    expect([status, gate?.reason]).toEqual(['paused', 'poisoned']);
    expect(gate?.summary).toMatch(/GO cannot be processed: Unable to evaluate guard.*a bug/s);
    expect(await engine.cancel('r', 'me')).toMatchObject({ status: 'cancelled' });
  });

  it('takes no input that came at the same time as the one that quarantines it', async () => {
    const bad = { guard: throwing, target: 'b' };
    const armed = [
      raise({ type: 'FIRST' }, { id: 'first', delay: 5 }),
      raise({ type: 'NEXT' }, { id: 'next', delay: 5 }),
    ];
    await start(
      aWorkflow({
        initial: 'a',
        states: { a: { entry: armed, on: { FIRST: bad, NEXT: 'b', ASK: bad, GO: 'b' } }, b: completed },
      }),
    );
    for (const id of ['timers', 'signals']) await engine.run('own', { id });
    const [asked, gone] = await Promise.allSettled([
      engine.signal('signals', 'ASK', {}),
      engine.signal('signals', 'GO', {}),
    ]);
    expect(asked).toMatchObject({ value: { status: 'paused', gate: { reason: 'poisoned' } } });
    expect(gone).toMatchObject({ reason: { message: expect.stringMatching(/is quarantined .* does not accept GO/s) } });
    clock.advance(5);
    await engine.checkTimers();
    for (const id of ['timers', 'signals']) {
      expect((await store.readRun(id, 0)).map(({ type }) => type)).not.toContain('RUN_COMPLETED');
      expect(await engine.view(id)).toMatchObject({ status: 'paused', state: 'a', gate: { reason: 'poisoned' } });
    }
  });

  it('is cancelled even when the guard of its cancellation throws', async () => {
    await start(
      aWorkflow({
        initial: 'a',
        states: { a: {}, cancelled },
        on: { RUN_CANCELLED: [{ guard: throwing, target: '.a' }, { target: '.cancelled' }] },
      }),
    );
    await engine.run('own', { id: 'r' });
    expect(await engine.cancel('r', 'me')).toMatchObject({ status: 'cancelled' });
  });

  it.each(NAMES_OF_EVERY_OBJECT)('has activities, states and stages that are named %s', async (name) => {
    await start(
      aWorkflow(
        {
          initial: name,
          states: {
            [name]: { meta: { stage: name }, invoke: { id: name, src: name, onDone: 'rest' } },
            rest: { on: { GO: 'again' } },
            again: { entry: raise({ type: name }, { id: name, delay: 10 }), on: { [name]: 'done' } },
            done: completed,
          },
        },
        {},
        { [name]: activity<null, number>() },
      ),
    );
    const rests = until((view) => view.state === 'rest');
    await engine.run('own', { id: 'r' });
    await rests;
    await reopen();
    await engine.signal('r', 'GO', {});
    await reopen();
    clock.advance(10);
    await engine.checkTimers();
    expect(await engine.finished('r')).toMatchObject({ status: 'completed' });
  });
});

describe('a machine is refused by name', () => {
  it.each<[string, () => unknown, string]>([
    [
      'with a state __proto__',
      () => aWorkflow({ initial: 'a', states: { a: {}, ['__proto__']: {} } }),
      'a state is named',
    ],
    [
      'with an activity __proto__',
      () =>
        aWorkflow(
          { initial: 'a', states: { a: { invoke: { id: '__proto__', src: 'work' } } } },
          {},
          { work: activity<null, null>() },
        ),
      "an activity is named '__proto__'",
    ],
    [
      'with a delayed event __proto__',
      () => aWorkflow({ initial: 'a', states: { a: {} }, entry: raise({ type: 'X' }, { id: '__proto__', delay: 1 }) }),
      "a delayed event is named '__proto__'",
    ],
    [
      'with an actor __proto__',
      () => aWorkflow({ states: {} }, {}, { ['__proto__']: activity<null, null>() }),
      'an actor is',
    ],
    ...NAMES_OF_EVERY_OBJECT.flatMap((name): [string, () => unknown, string][] => [
      [
        `with a guard ${name} that nobody defines`,
        () => aWorkflow({ initial: 'a', states: { a: { on: { GO: { guard: name, target: 'a' } } } } }),
        `names the guard '${name}', which setup({ guards }) does not define`,
      ],
      [
        `with an action ${name} that nobody defines`,
        () => aWorkflow({ initial: 'a', states: { a: { entry: name } } }),
        `names the action '${name}', which setup({ actions }) does not define`,
      ],
      [
        `with an activity ${name} that nobody declares`,
        () => aWorkflow({ initial: 'a', states: { a: { invoke: { id: 'x', src: name } } } }),
        `invokes '${name}', which setup({ actors }) does not declare`,
      ],
    ]),
    [
      'whose context function spawns, also with a systemId and with an input',
      () =>
        aWorkflow(
          {
            initial: 'a',
            states: { a: {} },
            context: ({ spawn }: { spawn: (src: string, options: object) => unknown }) => {
              spawn('work', { id: 'w', systemId: 's' });
              return {};
            },
          },
          { input: any },
          { work: activity<null, null>() },
        ),
      "the context function spawns 'work'",
    ],
  ])('%s', (_, define, words) => {
    expect(define).toThrow(words);
  });
});
