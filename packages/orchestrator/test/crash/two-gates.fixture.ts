/** A workflow of one's own with nothing but gates, one after the other, and words: what requests do to it is all that happens. */
import { assign, setup } from 'xstate';
import { z } from 'zod';
import { defineWorkflow, type StateMeta } from '../../src/core/definition.ts';

type Context = { readonly rejections: number };

const gate = (kind: string) => ({
  status: 'awaiting_approval' as const,
  gate: { kind, decisions: ['approve', 'reject'] as const, summary: () => `The ${kind} gate` },
});
const decided = z.looseObject({ by: z.string() });

const twoGates = defineWorkflow({
  name: 'two-gates',
  version: 1,
  description: 'for tests',
  signals: {
    APPROVAL_GRANTED: decided,
    APPROVAL_REJECTED: decided,
    MESSAGE_SENT: decided,
    NUDGED: decided,
    RUN_CANCELLED: decided,
  },
  machine: setup({ types: { context: {} as Context, meta: {} as StateMeta<Context> } }).createMachine({
    id: 'two-gates',
    initial: 'first',
    context: { rejections: 0 },
    on: { RUN_CANCELLED: '.cancelled', MESSAGE_SENT: { actions: assign({}) }, NUDGED: { actions: assign({}) } },
    states: {
      first: { meta: gate('first'), on: { APPROVAL_GRANTED: 'second', APPROVAL_REJECTED: 'again' } },
      again: {
        entry: assign({ rejections: ({ context }) => context.rejections + 1 }),
        meta: gate('again'),
        on: { APPROVAL_GRANTED: 'second', APPROVAL_REJECTED: { target: 'again', reenter: true } },
      },
      second: { meta: gate('second'), on: { APPROVAL_GRANTED: 'done', APPROVAL_REJECTED: 'again' } },
      done: { type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }),
});

export const workflows = [{ definition: twoGates, activities: {} }];
