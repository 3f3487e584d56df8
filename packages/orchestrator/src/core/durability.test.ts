import { InvalidRequest, type JsonObject } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import {
  type AnyStateMachine,
  assign,
  createMachine,
  emit,
  enqueueActions,
  fromCallback,
  fromObservable,
  fromPromise,
  fromTransition,
  log,
  raise,
  sendTo,
  setup,
  spawnChild,
} from 'xstate';
import { z } from 'zod';
import { advance, newRun } from './advance.ts';
import { activity, defineWorkflow, isWorkflow, type StateMeta, type WorkflowDefinition } from './definition.ts';

const signals = { GO: z.object({}) };
const define = (machine: unknown, change: Partial<WorkflowDefinition> = {}): WorkflowDefinition =>
  defineWorkflow({ name: 'own', version: 1, description: '', machine: machine as AnyStateMachine, signals, ...change });

function faultsOf(machine: unknown, change: Partial<WorkflowDefinition> = {}): string {
  try {
    define(machine, change);
  } catch (error) {
    if (error instanceof InvalidRequest) return error.message;
    throw error;
  }
  return '';
}

const work = activity<null, number>();
const end = { type: 'final', meta: { status: 'completed' } } as const;
const plain = { id: 'm', initial: 'a', states: { a: {}, b: end } } as const;
const waiting = { status: 'awaiting_approval' } as const;
const ending = (b: object) => createMachine({ ...plain, states: { a: {}, b } } as never);
const acting = (action: unknown) => createMachine({ ...plain, states: { a: { entry: action }, b: {} } } as never);

describe('at its registration a workflow is refused', () => {
  it.each([
    ['callback actor', fromCallback(() => {}), 'promise, callback or observable actor'],
    ['observable actor', fromObservable((() => ({})) as never), 'promise, callback or observable actor'],
    ['promise actor', fromPromise(async () => 1), 'promise, callback or observable actor'],
    ['transition actor', fromTransition((state: object) => state, {}), 'is a transition actor'],
    ['nested machine', createMachine({}), 'is a nested machine'],
  ])('for a %s, by its name', (_kind, logic, words) => {
    const machine = setup({ actors: { ticker: logic as never } }).createMachine(plain as never);
    expect(faultsOf(machine)).toMatch(
      new RegExp(`^Workflow 'own' cannot be made durable: actor 'ticker' .*${words}.*activity<Input, Output>`),
    );
  });

  it.each<[string, unknown, string]>([
    [
      'an activity without an id',
      setup({ actors: { work } }).createMachine({
        ...plain,
        states: { a: { invoke: { src: 'work' } }, b: {} },
      } as never),
      "state 'm.a' invokes 'work' without an explicit id",
    ],
    [
      'an inline actor',
      createMachine({
        ...plain,
        states: { a: { invoke: { id: 'x', src: fromPromise(async () => 1) } }, b: {} },
      } as never),
      "state 'm.a' invokes an inline actor",
    ],
    [
      'an activity that is not declared',
      createMachine({ ...plain, states: { a: { invoke: { id: 'x', src: 'nobody' } }, b: {} } } as never),
      "invokes 'nobody', which setup({ actors }) does not declare",
    ],
    [
      'an id that is used twice',
      setup({ actors: { work } }).createMachine({
        ...plain,
        states: { a: { invoke: { id: 'x', src: 'work' } }, b: { invoke: { id: 'x', src: 'work' } } },
      } as never),
      "activity id 'x' is used by both 'm.a' and 'm.b'",
    ],
    [
      'a delay that nobody knows',
      createMachine({ ...plain, states: { a: { after: { tomorrow: 'b' } }, b: {} } } as never),
      "state 'm.a' waits for 'tomorrow'",
    ],
    [
      'a delay that is no time',
      setup({ delays: { soon: Number.NaN } }).createMachine({
        ...plain,
        states: { a: { after: { soon: 'b' } }, b: {} },
      } as never),
      "delay 'soon' is NaN",
    ],
    [
      'an action that acts by itself',
      setup({ actions: { mail: () => {} } }).createMachine({
        ...plain,
        states: { a: { entry: 'mail' }, b: {} },
      } as never),
      "action 'mail' is a function with side effects; make it an activity",
    ],
    ['an inline action', acting(() => {}), "state 'm.a' has an inline action is a function with side effects"],
    ['an action that nobody defines', acting('nothing'), "state 'm.a' names the action 'nothing'"],
    ['a log', acting(log('hello')), 'is log, whose effect cannot be stored'],
    ['a message to an actor', acting(sendTo('x', { type: 'GO' })), 'is sendTo, whose effect cannot be stored'],
    [
      'a spawned activity without an id',
      setup({ actors: { work } }).createMachine({ ...plain, entry: spawnChild('work') } as never),
      "state 'm' spawns 'work' without an explicit id",
    ],
    [
      'a spawned inline actor',
      acting(
        spawnChild(
          fromPromise(async () => 1),
          { id: 'x' },
        ),
      ),
      'spawns an inline actor',
    ],
    [
      'a delayed raise without an id',
      acting(raise({ type: 'GO' }, { delay: 10 })),
      'raises a delayed event without an explicit id',
    ],
    [
      'a guard that nobody defines',
      createMachine({ ...plain, states: { a: { on: { GO: { guard: 'maybe', target: 'b' } } }, b: {} } } as never),
      "names the guard 'maybe'",
    ],
    [
      'a context with a date',
      createMachine({ ...plain, context: { since: new Date(0) } } as never),
      'context.since is a Date',
    ],
    [
      'a context with a function',
      createMachine({ ...plain, context: () => ({ deep: [{ run: () => 1 }] }) } as never),
      'context.deep[0].run is a function',
    ],
    [
      'a gate whose decision nobody takes',
      createMachine({
        ...plain,
        states: { a: { meta: { status: 'paused', gate: { kind: 'g', decisions: ['approve'] } } }, b: {} },
      } as never),
      "state 'm.a' offers 'approve', which comes as APPROVAL_GRANTED; declare that signal",
    ],
    [
      'a gate that is none',
      createMachine({
        ...plain,
        states: { a: { meta: { status: 'paused', gate: { kind: 'g', decisions: [], summary: 'text' } } }, b: end },
      } as never),
      "state 'm.a' has an invalid gate",
    ],
    [
      'a final state that does not say how the run ended',
      ending({ type: 'final' }),
      "state 'm.b' is final and does not",
    ],
    [
      'an end that is none',
      ending({ type: 'final', meta: waiting }),
      "is final and has the status 'awaiting_approval'",
    ],
    [
      'an end that is not final',
      ending({ meta: end.meta }),
      "state 'm.b' has the status 'completed' and is not a final state",
    ],
    [
      'an end within a state',
      ending({ initial: 'x', states: { x: end } }),
      "state 'm.b.x' has the status 'completed' and is not a final state at the top of the machine",
    ],
    ['a status that does not exist', ending({ meta: { status: 'finished' } }), "has the status 'finished'; use one of"],
    ['a status of the engine', ending({ meta: { status: 'queued' } }), "has the status 'queued'; use one of running"],
    ['a status that is nothing', ending({ meta: { status: undefined } }), "has the status 'undefined'"],
    ['a gate of its end', ending({ ...end, meta: { ...end.meta, gate: {} } }), "state 'm.b' is final and has a gate"],
    [
      'an end of all regions of which nobody says how it is',
      createMachine({
        id: 'm',
        type: 'parallel',
        states: { x: { initial: 'a', states: { a: {}, b: { type: 'final' } } } },
      } as never),
      "state 'm' is parallel and ends when its regions end",
    ],
    [
      'two states of one id',
      ending({ id: 'twin', initial: 'x', states: { x: { id: 'twin' } } }),
      "two states have the id 'twin'",
    ],
    [
      'an emitted event that people say',
      acting(emit({ type: 'RUN_CANCELLED' })),
      'RUN_CANCELLED was emitted, but only people may send it',
    ],
    ['an emitted fact of the engine', acting(emit({ type: 'RUN_COMPLETED' })), 'RUN_COMPLETED was emitted, which only'],
    [
      'an emitted fact that is not whole',
      acting(emit({ type: 'ARTIFACT_CREATED' })),
      "'artifact.type' has to be a text",
    ],
    ['an asynchronous assignment', acting(assign(async () => ({}))), 'is asynchronous, and machines wait for nothing'],
    [
      'an asynchronous part of it',
      acting(assign({ n: async () => 1 })),
      'is asynchronous, and machines wait for nothing',
    ],
    [
      'actions that are enqueued later',
      acting(enqueueActions(async () => {})),
      'is asynchronous, and machines wait for nothing',
    ],
    [
      'an asynchronous guard',
      setup({ guards: { asks: (async () => false) as never } }).createMachine({
        ...plain,
        states: { a: { on: { GO: { guard: 'asks', target: 'b' } } }, b: end },
      } as never),
      "guard 'asks' is asynchronous",
    ],
    [
      'an asynchronous delay',
      setup({ delays: { soon: (async () => 1) as never } }).createMachine(plain as never),
      "delay 'soon' is asynchronous",
    ],
    [
      'an asynchronous delay of an action',
      acting(raise({ type: 'GO' }, { delay: async () => 1 } as never)),
      'is asynchronous, and machines wait for nothing',
    ],
    [
      'snapshots of an activity',
      setup({ actors: { work } }).createMachine({
        ...plain,
        states: { a: { invoke: { id: 'x', src: 'work', onSnapshot: 'b' } }, b: end },
      } as never),
      "invokes 'work' with onSnapshot, which never comes",
    ],
    [
      'a spawned activity with a systemId',
      setup({ actors: { work } }).createMachine({
        ...plain,
        entry: spawnChild('work', { id: 'x', systemId: 's' }),
      } as never),
      "state 'm' spawns 'work' with a systemId",
    ],
    [
      'an activity that its context function spawns',
      setup({ actors: { work } }).createMachine({
        ...plain,
        context: ({ spawn }: { spawn: (src: string, options: object) => unknown }) => {
          spawn('work', { id: 'x' });
          return {};
        },
      } as never),
      "the context function spawns 'work'",
    ],
    [
      'an activity that its first step spawns within assign',
      setup({ actors: { work } }).createMachine({
        ...plain,
        entry: assign(({ spawn }: { spawn: (src: string, options: object) => unknown }) => {
          spawn('work', { id: 'x' });
          return {};
        }) as never,
      } as never),
      "activity 'x' is spawned within assign",
    ],
    [
      'a first step that goes round for ever',
      createMachine({ ...plain, context: () => ({}), states: { a: { always: 'b' }, b: { always: 'a' } } } as never),
      'its first step fails: Infinite loop',
    ],
    [
      'an action of its first step that nobody sees before',
      acting(enqueueActions(({ enqueue }) => enqueue(() => {}))),
      'its first step gives the action',
    ],
    [
      'a machine that is final itself',
      createMachine({ id: 'm', type: 'final', meta: { status: 'completed' } }),
      "'m' is the whole machine and final",
    ],
    [
      'a route',
      createMachine({ id: 'm', initial: 'a', states: { a: { id: 'a', route: {} } } } as never),
      "'a' has a route",
    ],
    [
      'a guard that changes the context in place',
      createMachine({
        id: 'm',
        initial: 'a',
        context: { tries: 0 },
        states: { a: { always: { guard: ({ context }) => (context.tries += 1) > 1, target: 'b' } }, b: {} },
      }),
      'its first step fails',
    ],
  ])('for %s', (_what, machine, words) => {
    expect(faultsOf(machine)).toContain(words);
  });

  it.each([
    ['xstate.done.actor.x', 'is reserved for XState'],
    ['*', 'is a wildcard'],
    ['mouse.*', 'is a wildcard'],
    ['RUN_STARTED', 'is an event that the engine writes'],
    ['RUN_PAUSED', 'is an event that the engine writes'],
    ['ACTIVITY_COMPLETED', 'is an event that the engine writes'],
    ['ARTIFACT_CREATED', 'is a fact of the read model'],
    ['NOTICE', 'is a fact of the read model'],
  ])('for the signal %s', (type, words) => {
    expect(faultsOf(createMachine(plain), { signals: { [type]: z.object({}) } })).toContain(
      `signal '${type}' ${words}`,
    );
  });

  const cancelling = { RUN_CANCELLED: z.object({}) };
  const quit = { on: { RUN_CANCELLED: '#m.b' } };
  it.each<[string, object, string]>([
    ['in one state only', { initial: 'a', states: { a: { ...quit, always: 'c' }, c: {}, b: end } }, "'m.c'"],
    [
      'under a guard',
      {
        ...plain,
        on: { RUN_CANCELLED: { guard: ({ context }: { context: object }) => 'x' in context, target: '.b' } },
      },
      "'m.a'",
    ],
    ['without going anywhere', { ...plain, on: { RUN_CANCELLED: { actions: assign({}) } } }, "'m.a'"],
    ['within', { initial: 'a', states: { a: { initial: 'x', states: { x: quit, y: {} } }, b: end } }, "'m.a.y'"],
  ])('for a RUN_CANCELLED that is taken %s', (_where, config, place) => {
    const machine = createMachine({ id: 'm', context: {}, ...config } as never);
    expect(faultsOf(machine, { signals: cancelling })).toContain(`state ${place} does not take RUN_CANCELLED`);
  });

  it('and not where RUN_CANCELLED is taken everywhere', () => {
    const regions = { x: { initial: 'i', states: { i: quit } }, y: { initial: 'j', states: { j: {} } } };
    const states = {
      a: { ...quit, initial: 'z', states: { z: {} } },
      p: { type: 'parallel', states: regions },
      b: end,
    };
    expect(faultsOf(createMachine({ id: 'm', initial: 'a', states } as never), { signals: cancelling })).toBe('');
  });

  it('for a name and a version that are none', () => {
    expect(faultsOf(createMachine(plain), { name: 'a b', version: 0 })).toMatch(
      /its name is invalid.*its version is 0/,
    );
  });

  it('for all of its faults at once', () => {
    const machine = setup({ actors: { tick: fromCallback(() => {}) }, actions: { mail: () => {} } }).createMachine({
      ...plain,
      states: { a: { entry: 'mail', after: { later: 'b' } }, b: {} },
    } as never);
    expect(faultsOf(machine, { signals: { '*': z.object({}) } }).split('; ').length).toBeGreaterThanOrEqual(4);
  });

  it('and not for what can be stored', () => {
    const machine = setup({
      types: { context: {} as { n: number } },
      actors: { work },
      delays: { soon: 10, later: () => 20 },
      guards: { yes: () => true },
      actions: { count: assign({ n: 1 }), tell: emit({ type: 'TOLD' }) },
    }).createMachine({
      ...plain,
      context: ({ input }: { input: { request: string } }) => ({ n: input.request.length }),
      entry: [
        'count',
        'tell',
        spawnChild('work', { id: 'spawned' }),
        raise({ type: 'GO' }, { id: 'go', delay: 'soon' as never }),
      ],
      states: {
        a: {
          invoke: { id: 'x', src: 'work', onDone: 'b' },
          after: { soon: 'b', later: 'b', 50: 'b' },
          on: { '*': { guard: 'yes' } },
        },
        b: end,
      },
    } as never);
    const workflow = define(machine);
    expect(isWorkflow(workflow)).toBe(true);
    expect(isWorkflow({ ...workflow })).toBe(false);
  });
});

describe('what only running shows', () => {
  const at = '2026-03-01T10:00:00.000Z';
  const after = (machine: unknown, ...types: string[]) => {
    const definition = define(machine, { input: z.object({}) });
    let state = newRun('r');
    let last = advance(definition, state, { type: 'RUN_STARTED', payload: {}, timestamp: at });
    for (const type of types) {
      if (!last.ok) return last;
      ({ state } = last);
      last = advance(definition, state, { type, payload: {}, timestamp: at });
    }
    return last;
  };
  const onGo = (actions: unknown, context: JsonObject = {}) =>
    createMachine({ id: 'm', context, on: { GO: { actions } } } as never);

  it.each([
    [
      'a context that stops being JSON',
      onGo(assign({ deep: () => ({ since: new Date(0) }) })),
      'context.deep.since is a Date',
    ],
    [
      'a reference to an actor',
      setup({ actors: { work } }).createMachine({
        context: {},
        on: {
          GO: {
            actions: assign({
              ref: (({ spawn }: { spawn: (src: string, options: object) => unknown }) =>
                spawn('work', { id: 'x' })) as never,
            }),
          },
        },
      } as never),
      'context.ref is a reference to an actor',
    ],
    ['an action of its own', onGo(enqueueActions(({ enqueue }) => enqueue({ type: 'mail' }))), "action 'mail'"],
    [
      'an event of the engine that is emitted',
      onGo(emit(() => ({ type: 'RUN_COMPLETED' }))),
      'RUN_COMPLETED was emitted',
    ],
    [
      'a delayed event with data that is not JSON',
      onGo(raise({ type: 'LATER', much: 1n } as never, { id: 'l', delay: 10 })),
      'LATER was raised with a delay, and much of it is a bigint',
    ],
    [
      'a delay that is no time',
      setup({ delays: { odd: () => Number.NaN } }).createMachine({
        id: 'm',
        initial: 'a',
        states: { a: { on: { GO: 'b' } }, b: { after: { odd: 'a' } } },
      }),
      'the delay of xstate.after.odd.m.b is NaN',
    ],
    [
      'a spawned activity without an id',
      setup({ actors: { work } }).createMachine({
        on: { GO: { actions: enqueueActions(({ enqueue }) => enqueue.spawnChild('work')) } },
      } as never),
      "activity 'work' was spawned without an explicit id",
    ],
    [
      'a wait for an answer without its question',
      setup({ types: { meta: {} as StateMeta } }).createMachine({
        id: 'm',
        initial: 'a',
        states: {
          a: { on: { GO: 'b' } },
          b: {
            meta: {
              status: 'awaiting_clarification',
              gate: { kind: 'question', decisions: [], summary: () => 'Which colour?' },
            },
          },
        },
      }),
      'awaits an answer',
    ],
  ])('quarantines the run before any effect: %s', (_what, machine, words) => {
    expect(after(machine, 'GO')).toMatchObject({
      ok: false,
      reason: 'poisoned',
      message: expect.stringContaining(words),
    });
  });

  it('is looked for in what a step changed, however large the rest is', () => {
    expect(
      after(onGo(assign({ n: 1 }), { big: Array.from({ length: 10 }, () => ({ a: 1 })) }), 'GO', 'GO'),
    ).toMatchObject({
      ok: true,
    });
  });
});
