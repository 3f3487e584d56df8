/** The end of an agent's call: its cost, its count, and notices for people. */
import { assign, emit, type EventObject, type MachineContext } from 'xstate';
import type { Cost } from '../../activities/types.ts';
import { changeOf } from './change.ts';
import type { PausableContext } from './pausing.ts';
import type { RunFact } from './signals.ts';

export interface CallingContext {
  /** Ended calls by role. They tell a call from its predecessors, for prompts and scripts. */
  readonly calls: Readonly<Record<string, number>>;
}

/** Actions at the end of an agent's call. */
export function callActions<
  Context extends MachineContext & CallingContext & PausableContext,
  Event extends EventObject,
>() {
  return {
    recordCost: emit<Context, Event, { cost: Cost }, Event, RunFact>((_, { cost }) => ({
      type: 'COST_RECORDED',
      ...cost,
    })),
    /** Counts the call. A provider's limit is over once a call has ended. */
    countCall: assign<Context, Event, { role: string }, Event, never>(({ context: { calls } }, { role }) => ({
      ...changeOf<Context, CallingContext>({ calls: { ...calls, [role]: (calls[role] ?? 0) + 1 } }),
      ...changeOf<Context, PausableContext>({ resumedByItself: undefined }),
    })),
  };
}

/** Records the cost of a role's call and counts it. For `onDone` of an activity whose output has a `cost`. */
export function callEnded<const Role extends string>(role: Role) {
  return [
    {
      type: 'recordCost',
      params: ({ event }: { readonly event: { readonly output: { readonly cost: Cost } } }) => ({
        cost: event.output.cost,
      }),
    },
    { type: 'countCall', params: { role } },
  ] as const;
}

/** Notice about a file of the sandbox that was not taken. */
export function notTaken(refused: string) {
  return { type: 'NOTICE', message: `Not taken from the sandbox: ${refused}` } as const;
}
