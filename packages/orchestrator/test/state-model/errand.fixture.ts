/** A small workflow with every kind of wait: a question, a draft at a gate, work against a clock, a pause. */
import { assign, setup } from 'xstate';
import { z } from 'zod';
import { activity, defineWorkflow, type StateMeta } from '../../src/core/definition.ts';

interface Context {
  readonly round: number;
  readonly answer: string;
  readonly messages: number;
}

const by = z.string();
const gateId = z.string().optional();

export const WORK_MS = 60_000;

export const errand = defineWorkflow({
  name: 'errand',
  version: 1,
  description: 'for tests',
  signals: {
    APPROVAL_GRANTED: z.strictObject({ by, gateId, artifactHash: z.string().optional() }),
    APPROVAL_REJECTED: z.strictObject({ by, gateId, feedback: z.string() }),
    CLARIFICATION_ANSWERED: z.strictObject({ by, gateId, response: z.string() }),
    RETRY_REQUESTED: z.strictObject({ by, gateId }),
    MESSAGE_SENT: z.strictObject({ by, text: z.string() }),
    RUN_CANCELLED: z.strictObject({ by, reason: z.string().optional() }),
  },
  // A machine is any machine; its full type says nothing more to the engine.
  machine: setup({
    types: {
      context: {} as Context,
      events: {} as
        | { type: 'APPROVAL_GRANTED'; artifactHash?: string }
        | { type: 'CLARIFICATION_ANSWERED'; response: string }
        | { type: 'APPROVAL_REJECTED' | 'RETRY_REQUESTED' | 'MESSAGE_SENT' | 'RUN_CANCELLED' },
      meta: {} as StateMeta<Context>,
    },
    actors: { draft: activity<{ round: number }, string>(), work: activity<{ round: number }, string>() },
    guards: {
      namesTheDraft: ({ context, event }) =>
        event.type === 'APPROVAL_GRANTED' && (event.artifactHash ?? hashOf(context.round)) === hashOf(context.round),
    },
  }).createMachine({
    id: 'errand',
    initial: 'asking',
    context: { round: 0, answer: '', messages: 0 },
    on: {
      RUN_CANCELLED: '.cancelled',
      MESSAGE_SENT: { actions: assign({ messages: ({ context }) => context.messages + 1 }) },
    },
    states: {
      asking: {
        meta: {
          status: 'awaiting_clarification',
          stage: 'planning',
          gate: {
            kind: 'clarification',
            decisions: ['answer'],
            summary: () => 'Where to?',
            facts: () => ({
              question: { question: 'Where to?', context: 'The request does not say.', responseType: 'text' },
              attemptNumber: 1,
              details: {},
            }),
          },
        },
        on: {
          CLARIFICATION_ANSWERED: { target: 'drafting', actions: assign({ answer: ({ event }) => event.response }) },
        },
      },
      drafting: {
        meta: { status: 'running', stage: 'planning' },
        invoke: {
          id: 'drafter',
          src: 'draft',
          input: ({ context }) => ({ round: context.round }),
          onDone: 'gate',
          onError: 'paused',
        },
      },
      gate: {
        meta: {
          status: 'awaiting_approval',
          stage: 'planning',
          gate: {
            kind: 'plan',
            decisions: ['approve', 'reject'],
            summary: ({ round }) => `Draft ${round}`,
            facts: ({ round }) => ({ artifactHash: hashOf(round), details: {} }),
          },
        },
        on: {
          APPROVAL_GRANTED: { guard: 'namesTheDraft', target: 'working' },
          APPROVAL_REJECTED: { target: 'drafting', actions: assign({ round: ({ context }) => context.round + 1 }) },
        },
      },
      working: {
        meta: { status: 'running', stage: 'implementation' },
        invoke: {
          id: 'worker',
          src: 'work',
          input: ({ context }) => ({ round: context.round }),
          onDone: 'completed',
          onError: 'paused',
        },
        after: { [WORK_MS]: 'paused' },
      },
      paused: {
        meta: {
          status: 'paused',
          stage: 'implementation',
          gate: {
            kind: 'pause',
            decisions: ['retry'],
            summary: () => 'It took too long',
            facts: () => ({ reason: 'timeout', message: 'It took too long', details: {} }),
          },
        },
        on: { RETRY_REQUESTED: 'working' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
});

/** What an approval of the draft of a round names: 64 hexadecimal digits, as of a SHA-256. */
export function hashOf(round: number): string {
  return round.toString(16).padStart(64, '0');
}
