/** A workflow of one's own that publishes with a pull request, as one for a forge would: `build` opens none. */
import { defineWorkflow, type StateMeta } from '@autonomous/orchestrator/engine';
import { emit, setup } from 'xstate';
import { z } from 'zod';

const signals = { RUN_CANCELLED: z.object({ by: z.string() }) };

const machine = setup({
  types: {
    context: {} as { readonly address: string },
    events: {} as { readonly type: 'RUN_CANCELLED'; readonly by: string },
    input: {} as { readonly input: { readonly address: string } },
    meta: {} as StateMeta<{ readonly address: string }>,
  },
}).createMachine({
  id: 'pull-request',
  initial: 'published',
  context: ({ input: { input } }) => input,
  on: { RUN_CANCELLED: '.cancelled' },
  states: {
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
    published: {
      type: 'final',
      meta: { status: 'completed' },
      entry: emit(({ context }) => ({
        type: 'CHANGES_PUBLISHED',
        branch: 'autonomous/elsewhere',
        commit: '0'.repeat(40),
        pushed: false,
        note: `Opened ${context.address} from it.`,
      })),
    },
  },
});

export const workflows = [
  {
    definition: defineWorkflow({
      name: 'pull-request',
      version: 1,
      description: 'Says that it has opened a pull request',
      machine,
      signals,
      input: z.strictObject({ address: z.url() }),
    }),
    activities: {},
  },
];
