/**
 * A workflow of the bench: a run that takes one step after the other for as long as it is let, as seen by whoever watches it,
 * and costs nothing besides. It can also wait for a person or be over at once. Loaded by a server through AUTONOMOUS_WORKFLOWS.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  activity,
  type ActivityContext,
  defineWorkflow,
  ONE_TRY,
  type StateMeta,
} from '@autonomous/orchestrator/engine';
import { setup } from 'xstate';
import { z } from 'zod';
import { STEPS } from './stages.ts';

const input = z.strictObject({
  kind: z.enum(['works', 'waits', 'ends']),
  /** How long a step takes, give or take a half. */
  everyMs: z.number().int().positive().default(1_000),
  /** Lines of progress that a step reports. */
  lines: z.number().int().min(0).default(0),
});
type Pulse = z.infer<typeof input>;

const signals = {
  APPROVAL_GRANTED: z.object({ by: z.string(), gateId: z.string().optional() }),
  RUN_CANCELLED: z.object({ by: z.string(), reason: z.string().optional() }),
};

const steps = Array.from({ length: STEPS }, (_, step) => ({
  meta: { status: 'running', stage: `step-${step}` } as const,
  invoke: {
    id: `beat-${step}`,
    src: 'beat' as const,
    input: ({ context }: { readonly context: Pulse }) => context,
    onDone: `step-${(step + 1) % STEPS}`,
  },
}));

const machine = setup({
  types: {
    context: {} as Pulse,
    input: {} as { readonly input: Pulse },
    events: {} as { type: 'APPROVAL_GRANTED' } | { type: 'RUN_CANCELLED' },
    meta: {} as StateMeta<Pulse>,
  },
  actors: { beat: activity<Pulse, null>() },
  guards: { is: ({ context }, kind: Pulse['kind']) => context.kind === kind },
}).createMachine({
  id: 'pulse',
  initial: 'choosing',
  context: ({ input: { input: wanted } }) => wanted,
  on: { RUN_CANCELLED: '.cancelled' },
  states: {
    choosing: {
      always: [
        { guard: { type: 'is', params: 'waits' }, target: 'waiting' },
        { guard: { type: 'is', params: 'ends' }, target: 'done' },
        { target: 'step-0' },
      ],
    },
    waiting: {
      meta: {
        status: 'awaiting_approval',
        stage: 'planning',
        gate: { kind: 'plan', decisions: ['approve'], summary: () => 'Approve the plan' },
      },
      on: { APPROVAL_GRANTED: 'step-0' },
    },
    ...Object.fromEntries(steps.map((state, step) => [`step-${step}`, state])),
    done: { type: 'final', meta: { status: 'completed' } },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

const beat = {
  retry: ONE_TRY,
  async perform({ everyMs, lines }: Pulse, { progress, signal }: ActivityContext): Promise<null> {
    const wholeMs = everyMs * (0.5 + Math.random());
    for (let line = 1; line <= lines; line++) {
      await delay(wholeMs / (lines + 1), undefined, { signal });
      progress({ kind: 'text', text: `line ${line} of ${lines}: looks at the next file, and says what it saw there` });
    }
    await delay(wholeMs / (lines + 1), undefined, { signal });
    return null;
  },
};

export const workflows = [
  {
    definition: defineWorkflow({
      name: 'pulse',
      version: 1,
      description: 'Takes one step after the other',
      machine,
      signals,
      input,
    }),
    activities: { beat },
  },
];
