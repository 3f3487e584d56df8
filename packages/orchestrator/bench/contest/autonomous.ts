/** This engine, set up as a user of the library would: nothing of it is reached but through its public interface. */
import path from 'node:path';
import {
  activity,
  type ActivityContext,
  type ActivityRegistry,
  createEngine,
  defineWorkflow,
  type EventStore,
  ONE_TRY,
  openSqliteEventStore,
  type StateMeta,
} from '@autonomous/orchestrator/engine';
import type { JsonValue } from '@autonomous/shared';
import { assign, setup } from 'xstate';
import { z } from 'zod';
import { type Contender, type Place, workload } from './contender.ts';

interface ChangeContext {
  readonly plan: string;
  readonly implementation: string;
  readonly verdict: string;
}

/** plan → a person approves → implement → validate → completed */
export const change = defineWorkflow({
  name: 'change',
  version: 1,
  description: 'The workload of the bench',
  machine: setup({
    types: {
      context: {} as ChangeContext,
      events: {} as { type: 'APPROVAL_GRANTED' },
      meta: {} as StateMeta<ChangeContext>,
    },
    actors: {
      plan: activity<undefined, string>(),
      implement: activity<undefined, string>(),
      validate: activity<undefined, string>(),
    },
  }).createMachine({
    id: 'change',
    initial: 'planning',
    context: { plan: '', implementation: '', verdict: '' },
    states: {
      planning: {
        meta: { status: 'running', stage: 'planning' },
        invoke: {
          id: 'planner',
          src: 'plan',
          onDone: { target: 'approval', actions: assign({ plan: ({ event }) => event.output }) },
        },
      },
      approval: {
        meta: {
          status: 'awaiting_approval',
          stage: 'planning',
          gate: { kind: 'plan', decisions: ['approve'], summary: () => 'Approve the plan' },
        },
        on: { APPROVAL_GRANTED: 'implementing' },
      },
      implementing: {
        meta: { status: 'running', stage: 'implementation' },
        invoke: {
          id: 'implementer',
          src: 'implement',
          onDone: { target: 'validating', actions: assign({ implementation: ({ event }) => event.output }) },
        },
      },
      validating: {
        meta: { status: 'running', stage: 'validation' },
        invoke: {
          id: 'validator',
          src: 'validate',
          onDone: { target: 'completed', actions: assign({ verdict: ({ event }) => event.output }) },
        },
      },
      completed: { type: 'final', meta: { status: 'completed', message: ({ verdict }) => verdict } },
    },
  }),
  signals: { APPROVAL_GRANTED: z.strictObject({ by: z.string() }) },
});

interface GrowthContext {
  readonly steps: number;
  readonly messages: readonly string[];
}

/** So many steps one after the other, each of which adds its result to the state. */
export const growth = defineWorkflow({
  name: 'growth',
  version: 1,
  description: 'A conversation that becomes longer with each step',
  machine: setup({
    types: {
      context: {} as GrowthContext,
      input: {} as { readonly input: { readonly steps: number } },
      meta: {} as StateMeta<GrowthContext>,
    },
    actors: { grow: activity<undefined, string>() },
  }).createMachine({
    id: 'growth',
    initial: 'growing',
    context: ({ input }) => ({ steps: input.input.steps, messages: [] }),
    states: {
      growing: {
        meta: { status: 'running', stage: 'implementation' },
        invoke: {
          id: 'grower',
          src: 'grow',
          onDone: [
            {
              guard: ({ context }) => context.messages.length + 1 < context.steps,
              target: 'growing',
              reenter: true,
              actions: assign({ messages: ({ context, event }) => [...context.messages, event.output] }),
            },
            { target: 'completed' },
          ],
        },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
    },
  }),
  signals: {},
  input: z.strictObject({ steps: z.int().positive() }),
});

const ACTIVITIES: ActivityRegistry = {
  plan: once((runId) => workload.plan(runId)),
  implement: once((runId) => workload.implement(runId)),
  validate: once((runId) => workload.validate(runId)),
  grow: once(() => workload.grow()),
};

function once(work: (runId: string) => string): ActivityRegistry[string] {
  return {
    retry: ONE_TRY,
    perform: async (_input: JsonValue, { runId }: ActivityContext) => work(runId),
  };
}

export function open({ folder }: Place): Promise<Contender> {
  return contend(openSqliteEventStore({ file: path.join(folder, 'autonomous.db') }));
}

/** The engine on a store that it closes. */
export async function contend(store: EventStore): Promise<Contender> {
  const engine = createEngine({ store, definitions: [change, growth], activities: ACTIVITIES });
  const waiting = new Map<string, () => void>();
  engine.subscribe((message) => {
    if (!('events' in message)) return;
    for (const { type, workflowRunId } of message.events) {
      if (type !== 'APPROVAL_REQUESTED') continue;
      waiting.get(workflowRunId)?.();
      waiting.delete(workflowRunId);
    }
  });
  await engine.start();
  return {
    async start(id) {
      const atGate = new Promise<void>((resolve) => waiting.set(id, resolve));
      await engine.run(change.name, { id });
      await atGate;
    },
    async approve(id) {
      await engine.signal(id, 'APPROVAL_GRANTED', { by: 'the bench' });
      const { status } = await engine.finished(id);
      if (status !== 'completed') throw new Error(`Run ${id} is ${status} instead of completed.`);
    },
    async grow(id, steps) {
      await engine.run(growth.name, { id, input: { steps } });
      await engine.finished(id);
    },
    async close() {
      await engine.stop();
      await store.close();
    },
  };
}
