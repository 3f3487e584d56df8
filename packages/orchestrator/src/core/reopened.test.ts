/** A run behaves alike whether it stayed in memory or was stored and read back, after any of its steps. */
import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import fc from 'fast-check';
import { assign, type AnyStateMachine, emit, setup } from 'xstate';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { advance, canTake, dehydrate, newRun, reopened } from './advance.ts';
import type { RunInput, RunState, Step } from './run-state.ts';
import { defineWorkflow, type WorkflowDefinition } from './definition.ts';
import { moves, type Move, SIGNALS, type Statechart, statecharts, workflowOf } from './statecharts.fixture.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z');

describe('a step', () => {
  it('of any statechart gives the same from the state in memory and from the reopened one', () => {
    let steps = 0;
    fc.assert(
      fc.property(statecharts, moves, (chart, wanted) => {
        const definition = definedOrNull(chart);
        fc.pre(definition !== null);
        let state = newRun('r');
        for (const input of [start(), ...wanted]) {
          const next = 'kind' in input ? inputOf(state, input, steps) : input;
          if (next === null) continue;
          const live = advance(definition, state, next);
          const again = advance(definition, reopened(definition.machine, state), next);
          expect(readable(definition, again)).toEqual(readable(definition, live));
          if (!live.ok) return;
          ({ state } = live);
          steps += 1;
        }
      }),
      { numRuns: 400, seed: 20 },
    );
    expect(steps).toBeGreaterThan(500);
  });

  it.each(Object.entries(differing()))('goes the same way after a restart: %s', (_, definition) => {
    const live = play(definition, [start(), signal('CHANGE')]);
    const { state: before } = live;
    const [stayed, restarted] = [before, reopened(definition.machine, before)].map((state) =>
      play(definition, [signal('ASK')], state),
    );
    expect(restarted?.events).toEqual(stayed?.events);
    expect(restarted?.state.view).toEqual(stayed?.state.view);
  });
});

describe('a signal that only an always transition handles', () => {
  const definition = define(
    setup({}).createMachine({
      initial: 'a',
      states: { a: { always: { guard: ({ event }) => event.type === 'ASK', target: 'b' } }, b: {} },
    }),
  );

  it('is taken as XState takes it', () => {
    const { state } = play(definition, [start()]);
    expect([canTake(state, 'ASK', {}), canTake(state, 'CHANGE', {})]).toEqual([true, false]);
    expect(play(definition, [signal('ASK')], state).state.view?.state).toBe('b');
  });
});

/** Machines whose state is another one after JSON: CHANGE makes it so, ASK shows it. */
function differing(): Record<string, WorkflowDefinition> {
  const answers = { yes: {}, no: {} };
  return {
    'one object in two places of the context': define(
      setup({ types: { context: {} as { items: { id: number }[]; chosen: unknown } } }).createMachine({
        context: { items: [{ id: 1 }, { id: 2 }], chosen: null },
        initial: 'a',
        states: {
          a: {
            on: {
              CHANGE: { actions: assign({ chosen: ({ context }) => context.items[1] }) },
              ASK: [{ guard: ({ context }) => context.items[1] === context.chosen, target: 'yes' }, { target: 'no' }],
            },
          },
          ...answers,
        },
        on: { CHANGE: {} },
      }),
    ),
    'a key that is undefined': define(
      setup({ types: { context: {} } }).createMachine({
        context: { x: 1 },
        initial: 'a',
        states: {
          a: {
            on: {
              CHANGE: { actions: assign({ x: undefined }) },
              ASK: [{ guard: ({ context }) => 'x' in context, target: 'yes' }, { target: 'no' }],
            },
          },
          ...answers,
        },
        on: { CHANGE: {} },
      }),
    ),
    'minus zero': define(
      setup({ types: { context: {} as { x: number } } }).createMachine({
        context: { x: 1 },
        initial: 'a',
        states: {
          a: {
            on: {
              CHANGE: { actions: assign({ x: -0 }) },
              ASK: [{ guard: ({ context }) => Object.is(context.x, -0), target: 'yes' }, { target: 'no' }],
            },
          },
          ...answers,
        },
        on: { CHANGE: {} },
      }),
    ),
    'a history state that is targeted from within its own parallel state': define(
      setup({}).createMachine({
        initial: 'p',
        states: {
          p: {
            type: 'parallel',
            exit: emit({ type: 'LEFT' }),
            on: { ASK: 'no' },
            states: { a: { on: { CHANGE: '#h' } }, b: {}, h: { id: 'h', type: 'history' } },
          },
          no: {},
        },
        on: { CHANGE: {} },
      }),
    ),
  };
}

function define(machine: AnyStateMachine): WorkflowDefinition {
  const any = z.looseObject({});
  return defineWorkflow({ name: 'm', version: 1, description: '', machine, signals: { CHANGE: any, ASK: any } });
}

function definedOrNull(chart: Statechart): WorkflowDefinition | null {
  try {
    return workflowOf(chart);
  } catch {
    return null;
  }
}

function start(): RunInput {
  return { type: 'RUN_STARTED', payload: { input: {} }, timestamp: new Date(NOON).toISOString() };
}

function signal(type: string): RunInput {
  return { type, payload: {}, timestamp: new Date(NOON).toISOString() };
}

/** Input that a move stands for now; `null` if nothing of its kind is open. */
function inputOf(state: RunState, { kind, pick }: Move, count: number): RunInput | null {
  const timestamp = new Date(NOON + count * 60_000).toISOString();
  if (kind === 'signal') return { type: SIGNALS[pick % SIGNALS.length] ?? 'A', payload: { v: pick }, timestamp };
  if (kind === 'outcome') {
    const open = Object.entries(state.activities);
    const [activity, key] = open[pick % open.length] ?? [];
    if (activity === undefined || key === undefined) return null;
    return { type: 'ACTIVITY_COMPLETED', payload: { activity, key, output: { v: pick } }, timestamp };
  }
  const armed = Object.values(state.timers);
  const timer = armed[pick % armed.length];
  return timer === undefined
    ? null
    : { type: 'TIMER_FIRED', payload: { key: timer.key, event: timer.event }, timestamp };
}

/** All of a step, its state as it is stored. */
function readable({ machine }: WorkflowDefinition, step: Step): unknown {
  if (!step.ok) return step;
  return { ...step, state: JSON.parse(JSON.stringify(dehydrate(machine, step.state))) as JsonObject };
}

function play(definition: WorkflowDefinition, inputs: readonly RunInput[], from: RunState = newRun('r')) {
  let state = from;
  const events: WorkflowEvent[] = [];
  for (const input of inputs) {
    const step = advance(definition, state, input);
    if (!step.ok) throw new Error(step.reason === 'late' ? 'late' : step.message);
    const facts = [
      { ...input, origin: 'input' as const },
      ...step.emitted.map((fact) => ({ ...fact, origin: 'emitted' as const })),
    ];
    for (const { type, payload, origin } of facts) {
      const sequence = state.sequence + 1 + facts.findIndex((each) => each.type === type && each.payload === payload);
      const { timestamp } = input;
      events.push({
        id: `r.${sequence}`,
        position: sequence,
        workflowRunId: 'r',
        sequence,
        type,
        origin,
        payload,
        timestamp,
      });
    }
    ({ state } = step);
  }
  return { state, events };
}
