/** Small machines that use everything the engine makes durable, and the activities they invoke. */
import type { JsonObject } from '@autonomous/shared';
import { and, assign, emit, enqueueActions, setup, stopChild } from 'xstate';
import { z } from 'zod';
import { activity, type ActivityEvent, defineWorkflow, type StateMeta } from '../src/core/definition.ts';
import type { SimulatedActivity } from './world.ts';

const by = z.string();
const gateId = z.string().optional();
export const signals = {
  APPROVAL_GRANTED: z.strictObject({ by, gateId }),
  APPROVAL_REJECTED: z.strictObject({ by, gateId, feedback: z.string() }),
  CLARIFICATION_ANSWERED: z.strictObject({ by, gateId, response: z.string() }),
  RETRY_REQUESTED: z.strictObject({ by, gateId }),
  STAGE_EXTENDED: z.strictObject({ by, minutes: z.number() }),
  MESSAGE_SENT: z.strictObject({ by, text: z.string() }),
  RUN_CANCELLED: z.strictObject({ by, reason: z.string().optional() }),
};

export type Signal =
  | { readonly type: 'APPROVAL_GRANTED' | 'APPROVAL_REJECTED' | 'RETRY_REQUESTED' | 'RUN_CANCELLED' }
  | { readonly type: 'CLARIFICATION_ANSWERED'; readonly response: string }
  | { readonly type: 'STAGE_EXTENDED'; readonly minutes: number }
  | { readonly type: 'MESSAGE_SENT'; readonly text: string };

export interface Given {
  readonly value?: number;
  readonly asks?: boolean;
}

/** Fails where an activity gave nothing, as a machine does that relies on its output. */
export function valueOf(output: unknown): number {
  return (output as Given).value ?? 0;
}

const FORTY_DAYS_MS = 40 * 24 * 60 * 60 * 1_000;

interface FanContext {
  readonly items: number;
  readonly done: readonly string[];
  readonly rounds: number;
  readonly why: string;
  readonly notes: readonly { readonly note: number }[];
  /** One of the notes: as JSON it is another object. */
  readonly newest: { readonly note: number } | null;
}

/**
 * prepare → so many items at once, against a clock that can be extended → a gate with a reminder after 40 days →
 * finish. Whatever fails pauses, and goes on where it was.
 */
const fan = defineWorkflow({
  name: 'fan',
  version: 1,
  description: 'parallel regions, dynamic fan-out, a long timer, a pause with deep history',
  signals,
  // A machine is any machine; its full type says nothing more to the engine.
  machine: setup({
    types: {
      context: {} as FanContext,
      events: {} as Signal | ActivityEvent<Given>,
      emitted: {} as { type: 'NOTICE'; message: string },
      meta: {} as StateMeta<FanContext>,
    },
    actors: { look: activity<JsonObject, Given>(), effect: activity<JsonObject, Given>() },
  }).createMachine({
    id: 'fan',
    initial: 'active',
    context: { items: 0, done: [], rounds: 0, why: '', notes: [], newest: null },
    on: {
      RUN_CANCELLED: '.cancelled',
      MESSAGE_SENT: {
        actions: [
          emit(({ context }) => {
            const isSame = context.newest !== null && context.notes.includes(context.newest);
            return { type: 'NOTICE' as const, message: isSame ? 'the newest is one of them' : 'the newest is a copy' };
          }),
          assign({ newest: ({ context }) => ({ note: context.notes.length }) }),
          assign({
            notes: ({ context }) => (context.newest === null ? [] : [...context.notes, context.newest].slice(-3)),
          }),
        ],
      },
    },
    states: {
      active: {
        initial: 'preparing',
        states: {
          preparing: {
            meta: { status: 'running', stage: 'planning' },
            invoke: {
              id: 'prepare',
              src: 'look',
              input: ({ context }) => ({ round: context.rounds }),
              onDone: {
                target: 'spreading',
                actions: assign({ items: ({ event }) => 2 + (valueOf(event.output) % 3) }),
              },
              onError: { target: '#fan.paused', actions: assign({ why: 'preparing failed' }) },
            },
          },
          spreading: {
            type: 'parallel',
            meta: { status: 'running', stage: 'implementation' },
            states: {
              work: {
                initial: 'spreading',
                states: {
                  spreading: {
                    entry: [
                      assign({ done: [] }),
                      enqueueActions(({ enqueue, context }) => {
                        for (let item = 1; item <= context.items; item += 1)
                          enqueue.spawnChild('effect', { id: `item-${item}`, input: { item, round: context.rounds } });
                      }),
                    ],
                    on: {
                      'xstate.done.actor.*': [
                        {
                          guard: ({ context, event }) =>
                            context.done.length + 1 >= context.items && valueOf(event.output) >= 0,
                          target: '#fan.active.gate',
                          actions: [stopChild(({ event }) => event.actorId), assign({ done: [] })],
                        },
                        {
                          actions: [
                            stopChild(({ event }) => event.actorId),
                            assign({
                              done: ({ context, event }) => [
                                ...context.done,
                                `${event.actorId}=${valueOf('output' in event ? event.output : {})}`,
                              ],
                            }),
                            emit(({ event }) => ({ type: 'NOTICE' as const, message: `${event.actorId} is done` })),
                          ],
                        },
                      ],
                      'xstate.error.actor.*': {
                        target: '#fan.paused',
                        actions: [stopChild(({ event }) => event.actorId), assign({ why: 'an item failed' })],
                      },
                    },
                  },
                },
              },
              clock: {
                initial: 'running',
                states: {
                  running: {
                    after: { 600_000: { target: '#fan.paused', actions: assign({ why: 'it took too long' }) } },
                    on: { STAGE_EXTENDED: { target: 'running', reenter: true } },
                  },
                },
              },
            },
          },
          gate: {
            meta: {
              status: 'awaiting_approval',
              stage: 'validation',
              gate: { kind: 'result', decisions: ['approve', 'reject'], summary: ({ rounds }) => `Round ${rounds}` },
            },
            on: {
              APPROVAL_GRANTED: 'finishing',
              APPROVAL_REJECTED: {
                target: 'preparing',
                actions: assign({ rounds: ({ context }) => context.rounds + 1 }),
              },
            },
            after: {
              [FORTY_DAYS_MS]: { target: '#fan.paused', actions: assign({ why: 'nobody decided for 40 days' }) },
            },
          },
          finishing: {
            meta: { status: 'running', stage: 'publishing' },
            invoke: {
              id: 'finish',
              src: 'effect',
              input: ({ context }) => ({ rounds: context.rounds }),
              onDone: {
                guard: and([({ event }: { event: { output: Given } }) => valueOf(event.output) >= 0]),
                target: '#fan.completed',
              },
              onError: { target: '#fan.paused', actions: assign({ why: 'finishing failed' }) },
            },
          },
          last: { type: 'history', history: 'deep' },
        },
      },
      paused: {
        meta: {
          status: 'paused',
          stage: 'validation',
          gate: {
            kind: 'pause',
            decisions: ['retry'],
            summary: ({ why }) => why,
            facts: ({ why }) => ({ reason: 'agent_failed', message: why, details: {} }),
          },
        },
        on: { RETRY_REQUESTED: 'active.last' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
});

interface TalkContext {
  readonly questions: number;
  readonly answers: readonly string[];
  readonly resetMs: number;
  readonly notes: number;
}

/** A model that asks, an answer, and again; a limit of the provider waits for its reset; a rest of half a minute before the end. */
const talk = defineWorkflow({
  name: 'talk',
  version: 1,
  description: 'questions in a loop, a wait that resumes by itself, named delays',
  signals,
  // A machine is any machine; its full type says nothing more to the engine.
  machine: setup({
    types: {
      context: {} as TalkContext,
      events: {} as Signal,
      meta: {} as StateMeta<TalkContext>,
    },
    actors: { ask: activity<JsonObject, Given>(), effect: activity<JsonObject, Given>() },
    delays: { reset: ({ context }) => context.resetMs },
  }).createMachine({
    id: 'talk',
    initial: 'active',
    context: { questions: 0, answers: [], resetMs: 0, notes: 0 },
    on: {
      RUN_CANCELLED: '.cancelled',
      MESSAGE_SENT: { actions: assign({ notes: ({ context }) => context.notes + 1 }) },
    },
    states: {
      active: {
        initial: 'thinking',
        states: {
          thinking: {
            meta: { status: 'running', stage: 'planning' },
            invoke: {
              id: 'thinker',
              src: 'ask',
              input: ({ context }) => ({ answers: context.answers }),
              onDone: [
                {
                  guard: ({ context, event }) =>
                    valueOf(event.output) >= 0 && event.output.asks === true && context.questions < 3,
                  target: 'asking',
                  actions: assign({ questions: ({ context }) => context.questions + 1 }),
                },
                { target: 'noting' },
              ],
              onError: [
                {
                  guard: ({ event }) => (event.error as { retryAfterMs?: number }).retryAfterMs !== undefined,
                  target: '#talk.paused.untilReset',
                  actions: assign({
                    resetMs: ({ event }) => (event.error as { retryAfterMs?: number }).retryAfterMs ?? 0,
                  }),
                },
                { target: '#talk.paused.untilAPerson' },
              ],
            },
          },
          asking: {
            meta: {
              status: 'awaiting_clarification',
              stage: 'planning',
              gate: {
                kind: 'clarification',
                decisions: ['answer'],
                summary: ({ questions }) => `Question ${questions}`,
                facts: ({ questions }) => ({
                  question: { question: `Question ${questions}`, context: 'It matters.', responseType: 'text' },
                  attemptNumber: questions,
                  details: {},
                }),
              },
            },
            on: {
              CLARIFICATION_ANSWERED: {
                target: 'thinking',
                actions: assign({ answers: ({ context, event }) => [...context.answers, event.response] }),
              },
            },
          },
          noting: {
            meta: { status: 'running', stage: 'implementation' },
            invoke: { id: 'note', src: 'effect', input: {}, onDone: 'resting', onError: '#talk.paused.untilAPerson' },
            after: { 60_000: 'resting' },
          },
          resting: { meta: { status: 'running', stage: 'implementation' }, after: { 30_000: '#talk.completed' } },
          last: { type: 'history', history: 'deep' },
        },
      },
      paused: {
        meta: {
          status: 'paused',
          stage: 'planning',
          gate: {
            kind: 'pause',
            decisions: ['retry'],
            summary: () => 'It failed',
            facts: () => ({ reason: 'rate_limited', message: 'It failed', details: {} }),
          },
        },
        initial: 'untilAPerson',
        states: { untilReset: { after: { reset: '#talk.active.last' } }, untilAPerson: {} },
        on: { RETRY_REQUESTED: 'active.last' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
});

/** Three rounds of work against a deadline: both may end at the same moment. */
const race = defineWorkflow({
  name: 'race',
  version: 1,
  description: 'an activity against a timer, in a loop',
  signals,
  // A machine is any machine; its full type says nothing more to the engine.
  machine: setup({
    types: {
      context: {} as { readonly rounds: number; readonly notes: number },
      events: {} as Signal,
      meta: {} as StateMeta,
    },
    actors: { effect: activity<JsonObject, Given>() },
  }).createMachine({
    id: 'race',
    initial: 'running',
    context: { rounds: 0, notes: 0 },
    on: {
      RUN_CANCELLED: '.cancelled',
      MESSAGE_SENT: { actions: assign({ notes: ({ context }) => context.notes + 1 }) },
    },
    states: {
      running: {
        meta: { status: 'running', stage: 'implementation' },
        invoke: {
          id: 'runner',
          src: 'effect',
          input: ({ context }) => ({ round: context.rounds }),
          onDone: 'next',
          onError: 'next',
        },
        after: { 60_000: 'next' },
      },
      next: {
        entry: assign({ rounds: ({ context }) => context.rounds + 1 }),
        meta: { status: 'running', stage: 'implementation' },
        after: { 1_000: [{ guard: ({ context }) => context.rounds >= 3, target: 'completed' }, { target: 'running' }] },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
});

/** One look and the end: shows whether there is a place. */
const probe = defineWorkflow({
  name: 'probe',
  version: 1,
  description: 'as short as a run can be',
  signals,
  // A machine is any machine; its full type says nothing more to the engine.
  machine: setup({
    types: { events: {} as Signal, meta: {} as StateMeta },
    actors: { look: activity<JsonObject, Given>() },
  }).createMachine({
    id: 'probe',
    initial: 'looking',
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      looking: {
        meta: { status: 'running', stage: 'planning' },
        invoke: { id: 'look', src: 'look', input: {}, onDone: 'completed', onError: 'completed' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
});

export const smallWorkflows = [fan, talk, race, probe];

const THREE_TRIES = { attempts: 3, firstDelayMs: 1_000, maxDelayMs: 30_000 };

export const smallActivities: Readonly<Record<string, SimulatedActivity>> = {
  look: { kind: 'look', retry: THREE_TRIES, output: (_input, random) => ({ value: random.below(100) }) },
  effect: { kind: 'effect', retry: THREE_TRIES, output: (_input, random) => ({ value: random.below(100) }) },
  ask: {
    kind: 'call',
    retry: { attempts: 2, firstDelayMs: 500, maxDelayMs: 500 },
    output: (_input, random, isCalm) => ({ value: random.below(100), asks: random.chance(isCalm ? 0.2 : 0.5) }),
  },
};
