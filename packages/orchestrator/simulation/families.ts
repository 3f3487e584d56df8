/** Machines whose work is done by child runs: several at once, one after the other, and two generations below. */
import { assign, enqueueActions, setup, stopChild } from 'xstate';
import { childRun } from '../src/core/child-runs.ts';
import { activity, type ActivityEvent, defineWorkflow, type StateMeta } from '../src/core/definition.ts';
import { type Given, type Signal, signals, valueOf } from './workflows.ts';

interface FamilyContext {
  readonly children: number;
  readonly ended: readonly string[];
  readonly rounds: number;
}

/** The actor whose end an event tells; these alone come to the actions here. */
function endOf(event: object): string {
  return (event as { readonly actorId: string }).actorId;
}

/**
 * look → so many children at once, against a clock → a gate → one more child, whose own child does the work → effect. A child that
 * fails counts as ended among several; alone it pauses its parent, and the retry starts another one.
 */
const family = defineWorkflow({
  name: 'family',
  version: 1,
  description: 'child runs: spawned, invoked, left behind by a timer, a decision or an end',
  signals,
  // A machine is any machine; its full type says nothing more to the engine.
  machine: setup({
    types: {
      context: {} as FamilyContext,
      events: {} as Signal | ActivityEvent<Given>,
      meta: {} as StateMeta<FamilyContext>,
    },
    actors: {
      look: activity<object, Given>(),
      effect: activity<object, Given>(),
      race: childRun('race'),
      talk: childRun('talk'),
      generation: childRun('generation'),
    },
    actions: {
      left: stopChild(({ event }) => endOf(event)),
      noted: assign({ ended: ({ context, event }) => [...context.ended, endOf(event)] }),
    },
  }).createMachine({
    id: 'family',
    initial: 'active',
    context: { children: 0, ended: [], rounds: 0 },
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      active: {
        initial: 'looking',
        states: {
          looking: {
            meta: { status: 'running', stage: 'planning' },
            invoke: {
              id: 'look',
              src: 'look',
              input: ({ context }) => ({ round: context.rounds }),
              onDone: {
                target: 'spreading',
                actions: assign({ children: ({ event }) => 2 + (valueOf(event.output) % 4) }),
              },
              onError: { target: 'looking', reenter: true },
            },
          },
          spreading: {
            meta: { status: 'running', stage: 'implementation' },
            entry: [
              assign({ ended: [] }),
              enqueueActions(({ enqueue, context }) => {
                for (let child = 1; child <= context.children; child += 1)
                  enqueue.spawnChild(child % 2 === 0 ? 'talk' : 'race', {
                    id: `child-${child}`,
                    input: { request: `Part ${child}` },
                  });
              }),
            ],
            exit: enqueueActions(({ enqueue, context }) => {
              for (let child = 1; child <= context.children; child += 1) enqueue.stopChild(`child-${child}`);
            }),
            on: {
              'xstate.done.actor.*': { actions: ['left', 'noted'] },
              'xstate.error.actor.*': { actions: ['left', 'noted'] },
              // A person who has seen enough.
              STAGE_EXTENDED: 'gate',
            },
            always: { guard: ({ context }) => context.ended.length >= context.children, target: 'gate' },
            after: { 600_000: 'gate' },
          },
          gate: {
            meta: {
              status: 'awaiting_approval',
              stage: 'validation',
              gate: { kind: 'result', decisions: ['approve', 'reject'], summary: ({ rounds }) => `Round ${rounds}` },
            },
            on: {
              APPROVAL_GRANTED: 'alone',
              APPROVAL_REJECTED: {
                target: 'looking',
                actions: assign({ rounds: ({ context }) => context.rounds + 1 }),
              },
            },
          },
          alone: {
            meta: { status: 'running', stage: 'implementation' },
            invoke: {
              id: 'one',
              src: 'generation',
              input: { request: 'The rest' },
              onDone: 'finishing',
              onError: '#family.paused',
            },
            on: { STAGE_EXTENDED: { target: 'alone', reenter: true } },
          },
          finishing: {
            meta: { status: 'running', stage: 'publishing' },
            invoke: { id: 'finish', src: 'effect', input: {}, onDone: '#family.completed', onError: '#family.paused' },
          },
          last: { type: 'history', history: 'deep' },
        },
      },
      paused: {
        meta: {
          status: 'paused',
          stage: 'implementation',
          gate: {
            kind: 'pause',
            decisions: ['retry'],
            summary: () => 'It failed',
            facts: () => ({ reason: 'agent_failed', message: 'It failed', details: {} }),
          },
        },
        on: { RETRY_REQUESTED: 'active.last' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
});

/** A run in the middle: work of its own beside a child, and whichever ends first ends the run. */
const generation = defineWorkflow({
  name: 'generation',
  version: 1,
  description: 'a child run beside an activity: the first of them ends the run',
  signals,
  // A machine is any machine; its full type says nothing more to the engine.
  machine: setup({
    types: { events: {} as Signal, meta: {} as StateMeta },
    actors: { effect: activity<object, Given>(), race: childRun('race'), talk: childRun('talk') },
  }).createMachine({
    id: 'generation',
    initial: 'working',
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      working: {
        meta: { status: 'running', stage: 'implementation' },
        invoke: [
          { id: 'own', src: 'effect', input: {}, onDone: 'waiting', onError: 'failed' },
          { id: 'below', src: 'talk', input: { request: 'Below' }, onDone: 'completed', onError: 'waiting' },
        ],
      },
      waiting: {
        meta: { status: 'running', stage: 'implementation' },
        invoke: { id: 'again', src: 'race', input: { request: 'Again' }, onDone: 'completed', onError: 'failed' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      failed: { type: 'final', meta: { status: 'failed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
});

export const families = [family, generation];
