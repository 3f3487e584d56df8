import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign, emit, enqueueActions, raise, setup, spawnChild, stopChild } from 'xstate';
import { z } from 'zod';
import { advance, dehydrate, holdsRunSlot, newRun, rehydrate, statusOf } from './advance.ts';
import type { RunState, Step } from './run-state.ts';
import { activity, defineWorkflow, type WorkflowDefinition } from './definition.ts';
import { describeError } from './persisted-state.ts';
import { replay } from './replay.ts';

const AT = '2026-03-01T10:00:00.000Z';
const later = (ms: number): string => new Date(Date.parse(AT) + ms).toISOString();
const ENDS = {
  done: { type: 'final', meta: { status: 'completed' } },
  cancelled: { type: 'final', meta: { status: 'cancelled' } },
};
const any = z.looseObject({});
const signals = {
  GO: any,
  OK: any,
  RUN_CANCELLED: any,
  APPROVAL_GRANTED: any,
  APPROVAL_REJECTED: any,
  QUESTION_ASKED: any,
  STAGE_EXTENDED: any,
};

/** A machine whose states are these and the two ends; activity `work` is declared. */
function aWorkflow(states: object, more: object = {}): WorkflowDefinition {
  // What a test tries out need not fit the types of a machine.
  const machine = setup({ actors: { work: activity<null, number>() } }).createMachine({
    id: 'm',
    initial: 'a',
    context: {},
    on: { RUN_CANCELLED: '.cancelled' },
    ...more,
    states: { ...states, ...ENDS },
  } as never) as unknown as AnyStateMachine;
  return defineWorkflow({ name: 'own', version: 1, description: '', machine, signals });
}

type Input = string | readonly [type: string, payload?: JsonObject, at?: string];

/** A run that takes inputs one after the other; each has to be taken. */
class Run {
  readonly definition: WorkflowDefinition;
  readonly events: WorkflowEvent[] = [];
  state: RunState = newRun('r');

  constructor(definition: WorkflowDefinition, ...inputs: readonly Input[]) {
    this.definition = definition;
    this.take('RUN_STARTED');
    for (const input of inputs) this.take(input);
  }

  try(input: Input): Step {
    const [type, payload = {}, timestamp = AT] = typeof input === 'string' ? [input] : input;
    return advance(this.definition, this.state, { type, payload, timestamp });
  }

  take(input: Input): Extract<Step, { ok: true }> {
    const step = this.try(input);
    if (!step.ok) throw new Error(step.reason === 'late' ? 'late' : step.message);
    const [type, payload = {}, timestamp = AT] = typeof input === 'string' ? [input] : input;
    const event = { id: '', position: 0, workflowRunId: 'r', timestamp };
    this.events.push({ ...event, sequence: this.events.length + 1, type, origin: 'input', payload });
    for (const fact of step.emitted)
      this.events.push({ ...event, sequence: this.events.length + 1, origin: 'emitted', ...fact });
    this.state = step.state;
    return step;
  }

  get value(): unknown {
    return this.state.view?.state;
  }

  get context(): unknown {
    return this.state.snapshot?.context as unknown;
  }
}

const factsOf = ({ emitted }: Extract<Step, { ok: true }>) => emitted.map(({ type }) => type);
const waiting = { status: 'awaiting_approval' };

describe('an event that is raised', () => {
  const counting = {
    NEXT: { actions: assign({ n: ({ context }: { context: { n: number } }) => context.n + 1 }) },
  };
  const counted = (action: unknown) =>
    new Run(
      aWorkflow({ a: { meta: waiting, on: { ...counting, GO: { actions: action } } } }, { context: { n: 0 } }),
      'GO',
    );

  it.each([
    ['without a delay', raise({ type: 'NEXT' })],
    ['without a delay and with an id', raise({ type: 'NEXT' }, { id: 'next' })],
    ['by enqueueActions', enqueueActions(({ enqueue }) => enqueue.raise({ type: 'NEXT' }))],
  ])('%s is taken once, within the step', (_how, action) => {
    const run = counted(action);
    expect(run.context).toEqual({ n: 1 });
    expect(run.state.timers).toEqual({});
  });

  it('when a state is entered is taken in the first step', () => {
    const run = new Run(aWorkflow({ a: { meta: waiting, entry: raise({ type: 'NEXT' }), on: { NEXT: 'done' } } }));
    expect(run.value).toBe('done');
  });

  it.each([
    ['nothing', () => undefined, 'undefined'],
    ['null', () => null, 'null'],
    ['a text', () => '1000', "'1000'"],
    ['no number', () => Number.NaN, 'NaN'],
  ])('with a delay that gives %s quarantines the run', (_what, delay, words) => {
    const definition = setup({ delays: { odd: delay as never }, actors: { work: activity() } });
    const machine = (states: object) =>
      defineWorkflow({
        name: 'own',
        version: 1,
        description: '',
        signals: { GO: any },
        machine: definition.createMachine({
          id: 'm',
          initial: 'a',
          states: { ...states, ...ENDS },
        } as never) as unknown as AnyStateMachine,
      });
    const raising = (action: unknown) =>
      machine({ a: { meta: waiting, on: { GO: { actions: action }, NEXT: 'done' } } });
    const ways = [
      machine({ a: { meta: waiting, on: { GO: 'b' } }, b: { meta: waiting, after: { odd: 'done' } } }),
      raising(raise({ type: 'NEXT' }, { id: 'next', delay: 'odd' as never })),
      raising(raise({ type: 'NEXT' }, { id: 'next', delay: delay as never })),
      raising(enqueueActions(({ enqueue }) => enqueue.raise({ type: 'NEXT' }, { id: 'next', delay: 'odd' as never }))),
    ];
    for (const workflow of ways) {
      const message = expect.stringContaining(`is ${words}, which is not a number of milliseconds`);
      expect(new Run(workflow).try('GO')).toEqual({ ok: false, reason: 'poisoned', message });
    }
  });

  it('far beyond any date quarantines the run', () => {
    const far = raise({ type: 'NEXT' }, { id: 'next', delay: 9e14 });
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions: far } } } }));
    expect(run.try('GO')).toMatchObject({ message: expect.stringContaining('beyond the year 9999') });
  });
});

describe('the end of a run', () => {
  const nudging = () =>
    aWorkflow(
      { a: { meta: waiting, on: { OK: 'done' } }, nudged: { meta: { status: 'running' }, on: { GO: 'a' } } },
      {
        on: { RUN_CANCELLED: '.cancelled', NUDGE: '.nudged' },
        entry: [raise({ type: 'NUDGE' }, { id: 'nudge', delay: 60_000 }), spawnChild('work', { id: 'w' })],
      },
    );

  it('ends its timers and activities', () => {
    const run = new Run(nudging());
    const underWay = () => {
      const replayed = replay(run.definition, newRun('r'), run.events);
      return replayed.ok && [...replayed.started].map(([key, { activity, at }]) => [key, activity, at]);
    };
    expect(underWay()).toEqual([['r/1/w', 'w', AT]]);
    const step = run.take('OK');
    expect(step).toMatchObject({ disarmed: ['r/1/nudge'], ended: ['r/1/w'] });
    expect(run.state).toMatchObject({ timers: {}, activities: {} });
    expect(underWay()).toEqual([]);
  });

  it('is for ever, whatever comes', () => {
    const run = new Run(nudging());
    const { timers, activities } = run.state;
    run.take('OK');
    // As runs were stored whose timers outlived them.
    run.state = { ...run.state, timers, activities };
    const key = { key: 'r/1/nudge', event: 'NUDGE' };
    for (const input of [['TIMER_FIRED', key], 'GO', 'RUN_CANCELLED', 'RUN_ADMITTED'] as const)
      expect(run.try(input)).toEqual({ ok: false, reason: 'late' });
  });
});

describe('a gate at which the machine stays', () => {
  type Order = { readonly context: { readonly price: number; readonly asked: number } };
  const gate = {
    kind: 'order',
    decisions: ['approve', 'reject', 'ask'],
    summary: ({ price }: Order['context']) => `Pay ${price}?`,
    facts: ({ price }: Order['context']) => ({ artifactHash: `hash of ${price}` }),
  };
  const ask = assign({ asked: ({ context }: Order) => context.asked + 1 });
  const order = () =>
    aWorkflow(
      {
        a: {
          meta: { ...waiting, gate },
          on: {
            APPROVAL_GRANTED: 'done',
            APPROVAL_REJECTED: { target: 'a', reenter: true },
            QUESTION_ASKED: { actions: ask },
            GO: { actions: assign({ price: 9 }) },
            OK: { actions: ask },
          },
        },
      },
      { context: { price: 1, asked: 0 } },
    );

  it.each(['QUESTION_ASKED', 'APPROVAL_REJECTED'])('is opened again after %s', (type) => {
    expect(factsOf(new Run(order()).take(type))).toEqual(['APPROVAL_REQUESTED']);
  });

  it('is opened again when it shows something else', () => {
    const { emitted } = new Run(order()).take('GO');
    expect(emitted).toMatchObject([
      { type: 'APPROVAL_REQUESTED', payload: { summary: 'Pay 9?', artifactHash: 'hash of 9' } },
    ]);
  });

  it('stays as it is when nothing of it changes', () => {
    expect(factsOf(new Run(order()).take('OK'))).toEqual([]);
  });

  it('replays', () => {
    const run = new Run(order(), 'QUESTION_ASKED', 'GO', 'APPROVAL_GRANTED');
    expect(replay(run.definition, newRun('r'), run.events)).toMatchObject({ ok: true, state: run.state });
  });

  it('is said to hold still when the run was to be cancelled and goes on', () => {
    const stubborn = defineWorkflow({
      ...order(),
      machine: setup({}).createMachine({
        id: 'm',
        initial: 'a',
        context: { price: 1 },
        states: {
          a: { meta: { ...waiting, gate }, on: { RUN_CANCELLED: { target: 'a' } } },
          done: { type: 'final', meta: { status: 'completed' } },
        },
      } as never) as unknown as AnyStateMachine,
    });
    expect(factsOf(new Run(stubborn).take('RUN_CANCELLED'))).toEqual(['STATE_CHANGED', 'APPROVAL_REQUESTED']);
  });
});

describe('a child', () => {
  const spawning = (id: string) =>
    assign(({ spawn }: { spawn: (src: string, options: object) => unknown }) => {
      spawn('work', { id });
      return {};
    });

  it('that assign spawns without keeping it quarantines the run', () => {
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions: spawning('w') } } } }));
    expect(run.try('GO')).toMatchObject({
      reason: 'poisoned',
      message: "activity 'w' was spawned within assign, where the engine does not perform it; use spawnChild",
    });
  });

  it('that takes the place of one that was asked for does so too', () => {
    const both = [spawnChild('work', { id: 'w' }), spawning('w')];
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions: both } } } }));
    expect(run.try('GO')).toMatchObject({ reason: 'poisoned' });
  });

  it('may have an id that is computed, and stays known over a restart', () => {
    const spawn = spawnChild('work', { id: () => 'item-1' });
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions: spawn }, OK: {} } } }), 'GO');
    expect(run.state.activities).toEqual({ 'item-1': 'r/3/item-1' });
    const stored = JSON.parse(JSON.stringify(dehydrate(run.definition.machine, run.state))) as JsonObject;
    run.state = rehydrate(run.definition.machine, stored);
    expect(run.try('OK')).toMatchObject({ ok: true });
  });

  it('that is started twice in one step is started once, with the last input', () => {
    const twice = enqueueActions(({ enqueue }) => {
      enqueue.spawnChild('work', { id: 'w', input: 1 });
      enqueue.stopChild('nobody');
      enqueue.spawnChild('work', { id: 'w', input: 2 });
    });
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions: twice } } } }));
    expect(run.take('GO').started).toEqual([{ key: 'r/3/w', activity: 'w', src: 'work', input: 2 }]);
  });

  it('that is stopped and not there is none', () => {
    const stop = [spawnChild('work', { id: 'undefined' }), stopChild('nobody')];
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions: stop } } } }), 'GO');
    expect(run.state.activities).toEqual({ undefined: 'r/3/undefined' });
  });

  it('with a systemId would be in the way of the next run', () => {
    const spawn = enqueueActions(({ enqueue }) => enqueue.spawnChild('work', { id: 'w', systemId: 's' }));
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions: spawn } } } }));
    expect(run.try('GO')).toMatchObject({ message: expect.stringContaining('spawned with a systemId') });
  });
});

describe('what a machine was given and what it keeps', () => {
  type List = { readonly context: { readonly list: unknown[] }; readonly event: { readonly items: unknown[] } };
  const keeping = (list: (args: List) => unknown) =>
    aWorkflow({ a: { meta: waiting, on: { GO: { actions: assign({ list }) } } } }, { context: { list: [] } });
  const pushing = ({ context }: List) => {
    context.list.push(new Date(0));
    return context.list;
  };

  it('cannot be changed in place, neither in memory nor after a restart', () => {
    const run = new Run(keeping(pushing));
    const stored = JSON.parse(JSON.stringify(dehydrate(run.definition.machine, run.state))) as JsonObject;
    for (const state of [run.state, rehydrate(run.definition.machine, stored)]) {
      run.state = state;
      expect(run.try('GO')).toMatchObject({
        reason: 'poisoned',
        message: expect.stringContaining('not extensible'),
      });
      expect(run.context).toEqual({ list: [] });
    }
    // Nor is it what the next run begins with.
    expect(new Run(run.definition).context).toEqual({ list: [] });
  });

  it('cannot be changed in the event that brought it', () => {
    const run = new Run(keeping(({ event }) => [event.items.pop()]));
    const payload = { items: [1, 2] };
    expect(run.try(['GO', payload])).toMatchObject({ reason: 'poisoned' });
    expect(payload).toEqual({ items: [1, 2] });
  });
});

describe('a step', () => {
  it('that goes round for ever quarantines the run', () => {
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: 'b' } }, b: { always: 'c' }, c: { always: 'b' } }));
    expect(run.try('GO')).toMatchObject({ message: expect.stringContaining('Infinite loop') });
  });

  it.each<[string, unknown, string]>([
    [
      'an event of people',
      { type: 'APPROVAL_GRANTED', by: 'm' },
      'APPROVAL_GRANTED was emitted, but only people may send it',
    ],
    ['a fix that nobody decided', { type: 'FIX_DECIDED', by: 'Ada', decision: 'accept' }, 'only people may send it'],
    ['a fact without what it needs', { type: 'NOTICE' }, "NOTICE was emitted, whose 'message' has to be a text"],
    [
      'a cost that is none',
      { type: 'COST_RECORDED', inputTokens: Number.NaN, outputTokens: 1, calls: 1 },
      'inputTokens',
    ],
    ['nothing', undefined, 'an event without a type was emitted'],
  ])('that emits %s quarantines the run', (_what, event, words) => {
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions: emit(() => event as never) } } } }));
    expect(run.try('GO')).toMatchObject({ reason: 'poisoned', message: expect.stringContaining(words) });
  });

  it('may emit facts of the read model that are whole', () => {
    const facts = [
      { type: 'NOTICE', message: 'x' },
      { type: 'FIX_DECIDED', by: 'policy', decision: 'retry' },
      { type: 'MINE' },
    ];
    const actions = facts.map((fact) => emit(fact));
    const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: { actions } } } }));
    expect(factsOf(run.take('GO'))).toEqual(facts.map(({ type }) => type));
  });
});

it('an error is told in its words, whatever was thrown', () => {
  expect([new Error('full'), { message: 'full' }, 'full', { code: 1 }, null].map(describeError)).toEqual([
    'full',
    'full',
    '"full"',
    '{"code":1}',
    'null',
  ]);
});

it('a run has the status of where it stands, and its end is for ever', () => {
  const at = (status: string | null, fields: object = {}) =>
    statusOf({ ...newRun('r'), view: status === null ? null : ({ status } as never), ...fields });
  const parked = { parked: { reason: 'full' } };
  const queuedAt = { queuedAt: '2026-01-01T00:00:00Z' };
  expect([at(null), at('running'), at('running', queuedAt), at('running', parked), at('completed', parked)]).toEqual([
    'queued',
    'running',
    'queued',
    'paused',
    'completed',
  ]);
});

describe('the clock of a queued run', () => {
  const extending = () =>
    aWorkflow({
      a: { meta: waiting, on: { GO: 'b' } },
      b: {
        meta: { status: 'running' },
        invoke: { id: 'work', src: 'work', input: null },
        after: { 60_000: 'done' },
        on: { STAGE_EXTENDED: { target: 'b', reenter: true }, OK: 'c' },
      },
      c: { meta: waiting, on: { GO: 'b' } },
    });
  const dueAt = ({ state }: Run) => Object.values(state.timers).map((timer) => timer.dueAt);

  it('stands still: what is armed meanwhile has all of its time from its admission', () => {
    const run = new Run(extending(), 'GO', 'RUN_QUEUED', ['STAGE_EXTENDED', {}, later(40_000)]);
    run.take(['RUN_ADMITTED', { waitedMs: 50_000 }, later(50_000)]);
    expect(dueAt(run)).toEqual([later(110_000)]);
  });

  it('goes on where the run leaves the queue by itself', () => {
    const rooted = aWorkflow(
      { a: { meta: waiting, on: { GO: 'b' } }, b: { meta: { status: 'running' }, on: { OK: 'a' } } },
      { entry: raise({ type: 'LATE' }, { id: 'late', delay: 60_000 }) },
    );
    const run = new Run(rooted, 'GO', 'RUN_QUEUED');
    const step = run.take(['OK', {}, later(50_000)]);
    expect(dueAt(run)).toEqual([later(110_000)]);
    expect(step.armed.map((timer) => timer.dueAt)).toEqual([later(110_000)]);
  });
});

describe('a run slot', () => {
  const work = { id: 'work', src: 'work', input: null };
  const running = { status: 'running' };
  const resting = () =>
    aWorkflow({
      a: { meta: running, invoke: { ...work, onDone: 'b' }, on: { SKIP: 'b', STOP: { actions: stopChild('work') } } },
      b: { meta: running, after: { 60_000: 'a' }, on: { GO: 'a' } },
    });

  it('is held while an activity is open, and not in a running state that waits for a signal or a timer', () => {
    const run = new Run(resting());
    expect(holdsRunSlot(run.state)).toBe(true);
    run.take('SKIP');
    expect([statusOf(run.state), holdsRunSlot(run.state)]).toEqual(['running', false]);
    run.take('GO');
    expect(holdsRunSlot(run.state)).toBe(true);
  });

  it.each(['SKIP', 'STOP'])(
    'is not waited for by a queued run whose activity ends by %s, and its state is told again',
    (type) => {
      const run = new Run(resting(), 'SKIP', 'GO', 'RUN_QUEUED');
      expect(statusOf(run.state)).toBe('queued');
      expect(factsOf(run.take(type))).toEqual(['STATE_CHANGED']);
      expect(statusOf(run.state)).toBe('running');
    },
  );
});

it('a fact or another event that its workflow does not take is no input of a run', () => {
  const run = new Run(aWorkflow({ a: { meta: waiting, on: { GO: 'done' } } }));
  const last = run.events.at(-1);
  for (const type of [
    'RUN_COMPLETED',
    'RUN_CONFIGURED',
    'CHANGES_PUBLISHED',
    'EVIDENCE_RECORDED',
    'MESSAGE_SENT',
    'OTHER',
  ]) {
    const forged = { ...last, sequence: run.events.length + 1, type, origin: 'input', payload: {} } as WorkflowEvent;
    expect(replay(run.definition, newRun('r'), [...run.events, forged])).toMatchObject({
      ok: false,
      sequence: forged.sequence,
      message: `${type} is no input of workflow 'own'`,
    });
  }
});
