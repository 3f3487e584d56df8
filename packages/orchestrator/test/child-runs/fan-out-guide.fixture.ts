/** The workflow of docs/child-runs.md that fans out: a test runs it and compares it with that page. */
import {
  activity,
  type ActivityEvent,
  defineWorkflow,
  failed,
  type FanOut,
  fanOut,
  startable,
  started,
  type StateMeta,
  succeeded,
  verdictOf,
} from '@autonomous/orchestrator/workflow';
import { assign, enqueueActions, setup, stopChild } from 'xstate';
import { z } from 'zod';

interface Context {
  readonly parts: FanOut;
}

const machine = setup({
  types: {
    context: {} as Context,
    events: {} as { readonly type: 'RUN_CANCELLED' } | ActivityEvent<string>,
    output: {} as { readonly parts: FanOut['outcomes'] },
    meta: {} as StateMeta<Context>,
  },
  // An activity of the workflow. `childRun('build')` in its place starts a child run for each part.
  actors: { work: activity<{ readonly request: string }, string>() },
  actions: {
    startParts: enqueueActions(({ context, enqueue }) => {
      const next = startable(context.parts);
      for (const id of next) enqueue.spawnChild('work', { id, input: { request: `Do ${id}` } });
      enqueue.assign({ parts: started(context.parts, next) });
    }),
    stopParts: enqueueActions(({ context, enqueue }) => {
      for (const id of context.parts.running) enqueue(stopChild(id));
    }),
  },
}).createMachine({
  id: 'parts',
  initial: 'working',
  context: { parts: fanOut(['north', 'east', 'south', 'west'], 2, { atLeast: 3 }) },
  on: { RUN_CANCELLED: '.cancelled' },
  output: ({ context }) => ({ parts: context.parts.outcomes }),
  states: {
    working: {
      meta: { status: 'running' },
      entry: 'startParts',
      on: {
        'xstate.done.actor.*': {
          target: 'working',
          reenter: true,
          actions: assign({ parts: ({ context, event }) => succeeded(context.parts, event.actorId, event.output) }),
        },
        'xstate.error.actor.*': {
          target: 'working',
          reenter: true,
          actions: assign({ parts: ({ context, event }) => failed(context.parts, event.actorId, String(event.error)) }),
        },
      },
      always: [
        { guard: ({ context }) => verdictOf(context.parts) === 'succeeded', target: 'completed' },
        { guard: ({ context }) => verdictOf(context.parts) === 'failed', target: 'failed', actions: 'stopParts' },
      ],
    },
    completed: { type: 'final', meta: { status: 'completed' } },
    failed: { type: 'final', meta: { status: 'failed', message: () => 'Fewer than three parts succeeded.' } },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

export const parts = defineWorkflow({
  name: 'parts',
  version: 1,
  description: 'Does four parts, two at once, and needs three of them',
  machine,
  signals: { RUN_CANCELLED: z.looseObject({}) },
});
