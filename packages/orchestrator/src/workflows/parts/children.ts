/** One child run at a time in a machine: its end, and texts for the attempt after it. */
import type { ActivityError } from '@autonomous/shared';
import { enqueueActions, type EventObject, type MachineContext } from 'xstate';
import type { RunHeader } from '../../activities/types.ts';
import type { ChildResult } from '../../core/child-runs.ts';
import { changeOf } from './change.ts';
import { headerOf } from './run-context.ts';
import type { RunFact } from './signals.ts';
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

export interface OneChildContext<Attempt extends object> {
  /** The attempt under way. */
  readonly open: Attempt | null;
  /** The attempt that has ended and is not judged yet. */
  readonly ended: (Attempt & ChildEnd) | null;
}

/** The actor that an event of its end names. */
export const endedActor = (type: string): string => type.slice(type.indexOf('.actor.') + '.actor.'.length);

/** The engine gives every failed activity and child run an error of this shape. */
export const messageOf = (error: unknown): string => (error as ActivityError).message;

/**
 * Actions at the end of a child run.
 * @param actorOf id of the actor that is an attempt's child run
 */
export function oneChildActions<
  Context extends MachineContext & OneChildContext<Attempt>,
  Event extends EventObject,
  Attempt extends object,
>(actorOf: (attempt: Attempt) => string) {
  return {
    /** The attempt under way has ended. An actor that is not its own changes nothing. */
    keepChildEnd: enqueueActions<
      Context,
      Event,
      ChildEnd & { type: string },
      Event,
      never,
      never,
      never,
      never,
      RunFact
    >(({ enqueue, context }, { type, childId, error }) => {
      const id = endedActor(type);
      const { open } = context;
      if (open === null || actorOf(open) !== id) return;
      enqueue.assign(changeOf<Context, OneChildContext<Attempt>>({ open: null, ended: { ...open, childId, error } }));
      enqueue.stopChild(id);
    }),
  };
}

/** A child run that is under way, as {@link workingState} watches it. */
export interface WatchedChild {
  /** Id of the actor. */
  readonly actor: string;
  /** Gate of the child run that a person was told of. Absent: it has not waited. */
  readonly waitsAt?: string | undefined;
}

type Rest = { readonly event: { readonly output: Rested } };
const rested = ({ event }: Rest) => ({ rested: event.output });

interface Working<Context, Src, Ended, Next, OnError> {
  /** Activity of {@link watchChildren}; also the id of its invocation. */
  readonly src: Src;
  readonly openOf: (context: Context) => readonly WatchedChild[];
  /** Whether an attempt has ended that is not judged yet. */
  readonly hasEnded: (context: Context) => boolean;
  readonly ended: Ended;
  /** State that follows once a child run has come to a rest. */
  readonly next: Next;
  readonly onError: OnError;
}

/**
 * The state in which child runs are under way. One that comes to nothing is stopped; one that waits for a person is left waiting. The
 * workflow has the actions `sayWaits` and `endAttempt`, each with what was seen as `rested`.
 */
export function workingState<
  Context extends RunHeader,
  const Src extends string,
  const Ended extends string,
  const Next extends string,
  const OnError,
>({ src, openOf, hasEnded, ended, next, onError }: Working<Context, Src, Ended, Next, OnError>) {
  return {
    always: { guard: ({ context }: { readonly context: Context }) => hasEnded(context), target: ended },
    invoke: {
      id: src,
      src,
      input: ({ context }: { readonly context: Context }) => ({
        ...headerOf(context),
        open: openOf(context).map(({ actor, waitsAt = null }) => ({ actor, seen: waitsAt })),
      }),
      onDone: [
        {
          guard: ({ event }: Rest) => event.output.kind === 'asks',
          target: next,
          actions: { type: 'sayWaits', params: rested },
        },
        { target: next, actions: { type: 'endAttempt', params: rested } },
      ],
      onError,
    },
  } as const;
}

/** The end of an attempt whose child run came to nothing. */
export const endOf = ({ why, hint }: Rested): ChildEnd => ({
  childId: null,
  error: why,
  ...(hint === undefined ? {} : { hint }),
});

/** Transitions of the machine itself: a child run may end in any state, also while its parent is paused. */
export const childEnds = {
  'xstate.done.actor.*': {
    actions: {
      type: 'keepChildEnd',
      params: ({ event }: { readonly event: { readonly type: string; readonly output: ChildResult } }) => ({
        type: event.type,
        childId: event.output.runId,
        error: '',
      }),
    },
  },
  'xstate.error.actor.*': {
    actions: {
      type: 'keepChildEnd',
      params: ({ event }: { readonly event: { readonly type: string; readonly error: unknown } }) => ({
        type: event.type,
        childId: null,
        error: messageOf(event.error),
      }),
    },
  },
} as const;

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
