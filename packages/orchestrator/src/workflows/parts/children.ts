/** The end of a child run in a machine, and texts for the attempt after it. */
import type { ActivityError, JsonValue } from '@autonomous/shared';
import type { ChildResult } from '../../core/child-runs.ts';
import type { Rested } from './watch-children.ts';

/** What an ended attempt has beside the attempt itself. */
export interface ChildEnd {
  /** `null` where the child run gave no result. */
  readonly childId: string | null;
  /** Why there is no result; empty where there is one. */
  readonly error: string;
  /** Text for the agent of the next attempt: output of checks and words of agents alone. Absent: there is none. */
  readonly hint?: string;
}

/** Params of the action `keepChildEnd`. */
export interface ChildEnded<Output extends JsonValue = JsonValue> {
  /** Type of the event, which names the actor. */
  readonly type: string;
  /** `null` where the child run gave no result. */
  readonly result: ChildResult<Output> | null;
  /** Why there is none; empty where there is one. */
  readonly error: string;
}

/** The actor that an event of its end names. */
export const endedActor = (type: string): string => type.slice(type.indexOf('.actor.') + '.actor.'.length);

/** The engine gives every failed activity and child run an error of this shape. */
export const messageOf = (error: unknown): string => (error as ActivityError).message;

/** The end of an attempt whose child run came to nothing. */
export const endOf = ({ why, hint }: Rested): ChildEnd => ({
  childId: null,
  error: why,
  ...(hint === undefined ? {} : { hint }),
});

type Done<Output extends JsonValue> = {
  readonly event: { readonly type: string; readonly output: ChildResult<Output> };
};
type Failed = { readonly event: { readonly type: string; readonly error: unknown } };

/** Transitions of the machine itself: a child run may end in any state, also while its parent is paused. */
export const childEnds = <Output extends JsonValue = JsonValue>() =>
  ({
    'xstate.done.actor.*': {
      actions: {
        type: 'keepChildEnd',
        params: ({ event }: Done<Output>): ChildEnded<Output> => ({
          type: event.type,
          result: event.output,
          error: '',
        }),
      },
    },
    'xstate.error.actor.*': {
      actions: {
        type: 'keepChildEnd',
        params: ({ event }: Failed): ChildEnded<Output> => ({
          type: event.type,
          result: null,
          error: messageOf(event.error),
        }),
      },
    },
  }) as const;

/** A long text without its middle: its end says what failed. */
export function bothEnds(text: string): string {
  if (text.length <= 8_000) return text;
  return `${text.slice(0, 2_000)}\n[…]\n${text.slice(-6_000)}`.toWellFormed();
}

/** Characters of a reason that the run's events keep. */
const LONGEST_REASON = 500;
export const keptReason = (text: string): string =>
  text.length > LONGEST_REASON ? `${text.slice(0, LONGEST_REASON).toWellFormed()}…` : text;

/** The cause in a text for the next attempt: its first line. */
export const causeIn = (text: string): string => keptReason(text.split('\n', 1)[0] ?? '');

export const often = (times: number): string => (times === 1 ? 'once' : `${times} times`);

/** How often something failed, and why. */
export const failures = (times: number, why: string): string =>
  `failed ${often(times)}${times === 1 ? ': ' : '. The last time: '}${causeIn(why)}`;
