/** A workflow whose one activity does to its server what a hostile text or a bug would: blocks its event loop, or ends it. */
import { setTimeout } from 'node:timers/promises';
import { type Activity, activity, defineWorkflow, type StateMeta } from '@autonomous/orchestrator/engine';
import { setup } from 'xstate';
import { z } from 'zod';

const input = z.strictObject({ deed: z.enum(['blocks', 'dies', 'ends', 'lasts']) });
type Deed = z.infer<typeof input>;
const signals = {
  RETRY_REQUESTED: z.object({ by: z.string() }),
  RUN_CANCELLED: z.object({ by: z.string(), reason: z.string().optional() }),
};

const machine = setup({
  types: {
    context: {} as Deed,
    input: {} as { readonly input: Deed },
    events: {} as { readonly type: 'RUN_CANCELLED' | 'RETRY_REQUESTED'; readonly by: string },
    meta: {} as StateMeta<Deed>,
  },
  actors: { work: activity<Deed, { done: boolean }>() },
}).createMachine({
  id: 'hostile-work',
  initial: 'working',
  context: ({ input: { input: wanted } }) => wanted,
  on: { RUN_CANCELLED: '.cancelled' },
  states: {
    working: {
      meta: { status: 'running', stage: 'work' },
      invoke: { id: 'work', src: 'work', input: ({ context }) => context, onDone: 'completed', onError: 'failed' },
    },
    completed: { type: 'final', meta: { status: 'completed' } },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
    failed: { type: 'final', meta: { status: 'failed' } },
  },
});

/** Longer than a server lives that one of these runs takes down. */
const LASTS_MS = 4_000;

const work: Activity<Deed, { done: boolean }> = {
  retry: { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 },
  async perform({ deed }, { signal }) {
    await Promise.resolve();
    if (deed === 'lasts') await setTimeout(LASTS_MS, undefined, { signal });
    if (deed === 'dies') process.kill(process.pid, 'SIGKILL');
    if (deed === 'blocks') backtrack();
    return { done: true };
  },
};

/** Takes longer than anybody waits. */
function backtrack(): boolean {
  return /^(?:a+)+$/.test(`${'a'.repeat(60)}!`);
}

export const workflows = [
  {
    definition: defineWorkflow({
      name: 'hostile-work',
      version: 1,
      description: 'Does harm.',
      machine,
      input,
      signals,
    }),
    activities: { work },
  },
];
