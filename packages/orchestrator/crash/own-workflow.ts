/**
 * A workflow of one's own for the sweep, as AUTONOMOUS_WORKFLOWS names one: two letters with a pause and an approval
 * between them. What it does outside is a line in a file for each letter, so that a letter which is posted twice is there twice.
 */
import { appendFile, readFile } from 'node:fs/promises';
import { setup } from 'xstate';
import { z } from 'zod';
import { type Activity, activity, defineWorkflow, type StateMeta, THREE_TRIES } from '../src/library.ts';

interface Letter {
  readonly to: string;
}

const LETTERS = process.env['SWEEP_LETTERS'] ?? 'letters';
const REST_MS = 300;

const running = { status: 'running', stage: 'posting' } as const;
const by = z.string();

const machine = setup({
  types: {
    context: {} as { readonly to: string },
    input: {} as { readonly input: Letter },
    meta: {} as StateMeta<{ readonly to: string }>,
  },
  actors: { lettersPost: activity<Letter, { to: string }>() },
  delays: { rested: REST_MS },
}).createMachine({
  id: 'letters',
  initial: 'postingFirst',
  context: ({ input }) => ({ to: input.input.to }),
  on: { RUN_CANCELLED: '.cancelled' },
  states: {
    postingFirst: {
      meta: running,
      invoke: {
        id: 'first',
        src: 'lettersPost',
        input: ({ context }) => ({ to: context.to }),
        onDone: 'resting',
        onError: 'failed',
      },
    },
    resting: { meta: running, after: { rested: 'approving' } },
    approving: {
      meta: {
        status: 'awaiting_approval',
        stage: 'posting',
        gate: { kind: 'letter', decisions: ['approve'], summary: ({ to }) => `Another one to ${to}?` },
      },
      on: { APPROVAL_GRANTED: 'postingSecond' },
    },
    postingSecond: {
      meta: running,
      invoke: {
        id: 'second',
        src: 'lettersPost',
        input: ({ context }) => ({ to: context.to }),
        onDone: 'posted',
        onError: 'failed',
      },
    },
    posted: { type: 'final', meta: { status: 'completed' } },
    failed: { type: 'final', meta: { status: 'failed' } },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

const lettersPost: Activity<Letter, Letter> = {
  retry: THREE_TRIES,
  async find(letter, { key }) {
    const posted = await readFile(LETTERS, 'utf8').catch(() => '');
    return posted.split('\n').includes(key) ? letter : undefined;
  },
  async perform(letter, { key }) {
    await appendFile(LETTERS, `${key}\n`);
    return letter;
  },
};

export const workflows = [
  {
    definition: defineWorkflow({
      name: 'letters',
      version: 1,
      description: 'Posts two letters',
      machine,
      input: z.strictObject({ to: z.string().min(1) }),
      signals: {
        APPROVAL_GRANTED: z.object({ by }),
        RUN_CANCELLED: z.object({ by, reason: z.string().optional() }),
      },
    }),
    activities: { lettersPost },
  },
];
