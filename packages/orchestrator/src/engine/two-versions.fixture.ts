/**
 * A workflow with two versions, of which runs are migrated from the first to the second. It is a custom workflow, too: a server that is
 * given this file runs it.
 */
import type { JsonValue } from '@autonomous/shared';
import { assign, setup } from 'xstate';
import { z } from 'zod';
import { type ActivityRegistry, ONE_TRY } from '../core/activity.ts';
import { activity, type StateMeta } from '../core/definition.ts';
import { defineVersions } from '../core/versions.ts';

type Context = { readonly plan: string; readonly asked?: number };

export const signals = {
  APPROVAL_GRANTED: z.strictObject({ by: z.string(), gateId: z.string().optional() }),
  RETRY_REQUESTED: z.strictObject({ by: z.string(), gateId: z.string().optional() }),
  RUN_CANCELLED: z.strictObject({ by: z.string(), reason: z.string().optional() }),
};
const gate = (summary: string) =>
  ({
    status: 'awaiting_approval',
    stage: 'planning',
    gate: { kind: 'plan', decisions: ['approve'], summary: () => summary },
  }) as const;
const running = { status: 'running', stage: 'implementation' } as const;

/** draft → gate → work beside a clock of a minute → done. `renamed` calls states otherwise and asks twice. */
export function aMachine(shape: {
  readonly summary?: string;
  readonly renamed?: boolean;
  readonly note?: boolean;
  readonly watched?: boolean;
}) {
  const { summary = 'Approve it', renamed = false, note = false, watched = false } = shape;
  const target = renamed ? 'building' : 'working';
  return setup({
    types: { context: {} as Context, events: {} as { type: keyof typeof signals }, meta: {} as StateMeta<Context> },
    actors: {
      draft: activity<object, string>(),
      work: activity<{ plan: string }, string>(),
      watch: activity<{ of: string }, string>(),
    },
  }).createMachine({
    id: 'flow',
    initial: 'drafting',
    context: { plan: '', ...(renamed ? { asked: 0 } : {}) },
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      drafting: {
        meta: { status: 'running', stage: 'planning' },
        invoke: {
          id: 'drafter',
          src: 'draft',
          onDone: {
            target: 'gate',
            actions: assign({ plan: ({ event }: { event: { output: string } }) => event.output }),
          },
        },
      },
      gate: {
        meta: gate(summary),
        on: { APPROVAL_GRANTED: target, ...(note ? { RETRY_REQUESTED: { actions: assign({}) } } : {}) },
        ...(watched ? { invoke: { id: 'watcher', src: 'watch', input: { of: 'the gate' } } } : {}),
      },
      [target]: {
        meta: running,
        type: 'parallel',
        states: {
          doing: {
            invoke: {
              id: 'worker',
              src: 'work',
              input: ({ context }: { context: Context }) => ({ plan: context.plan }),
              onDone: '#flow.done',
            },
          },
          clock: {
            id: 'flow.clock',
            after: renamed ? { 60_000: '#flow.done', 90_000: '#flow.done' } : { 60_000: '#flow.done' },
          },
          ...(renamed
            ? {
                watching: {
                  invoke: {
                    id: 'watcher',
                    src: 'watch',
                    input: ({ context }: { context: Context }) => ({ of: context.plan }),
                  },
                },
              }
            : { helping: { invoke: { id: 'helper', src: 'work', input: () => ({ plan: 'help' }) } } }),
        },
      },
      done: { id: 'flow.done', type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  } as never) as never;
}

/** Another gate and other states in the second version, and a migration to them. */
export const flow = defineVersions({
  name: 'flow',
  newest: 2,
  oldest: 1,
  description: 'for tests',
  machine: (version) => aMachine(version === 1 ? {} : { renamed: true, summary: 'Approve the plan' }),
  signals,
  needsProject: true,
  migrations: {
    1: ({ value, context, history }) => ({
      value:
        typeof value === 'object' && value !== null && 'working' in value
          ? { building: { doing: {}, clock: {}, watching: {} } }
          : value,
      context: { ...context, asked: 1 },
      history,
    }),
  },
});

const activities: ActivityRegistry = Object.fromEntries(
  ['draft', 'work', 'watch'].map((src) => [src, { retry: ONE_TRY, perform: async (): Promise<JsonValue> => src }]),
);

export const workflows = [{ versions: flow, activities }];
