/**
 * A pause with its reason, and the ways out of it: a retry, an extension, another budget, or the end of a provider's limit.
 * A failed activity leads to the pause; the workflow's history state leads back to the work.
 */
import type { ActivityError, BudgetName, Decision, PauseReason, Question, WayOn } from '@autonomous/shared';
import { assign, type EventObject, type MachineContext } from 'xstate';
import { changeOf } from './change.ts';
import { changeBudget, type NotedContext } from './notes.ts';

export interface Pause {
  readonly reason: PauseReason;
  readonly message: string;
  readonly stage: string;
  /** The budget that is used up, for reason `budget`. */
  readonly budget?: BudgetName;
  /** The run above this one whose budget is used up. Absent: the run's own, or that of its run family. */
  readonly budgetOf?: string;
  /** Milliseconds after which the run resumes by itself. Absent: a person has to resume it. */
  readonly resumesInMs?: number;
  /** Ways on beside a retry, of which the person chooses one. Absent: none. */
  readonly ways?: readonly WayOn[];
}

export interface PausableContext {
  /** `null` while the run is not paused. */
  readonly paused: Pause | null;
  /** Number of resumes after a provider's limit since a person decided or an agent's call ended. Absent: 0. */
  readonly resumedByItself?: number | undefined;
}

/** Resumes by itself after which a person is asked: a limit that is reached each time is not ended by time. */
const MOST_RESUMES = 5;
const FIRST_PATIENCE_MS = 30_000;

/** Actions of pauses. */
export function pausingActions<
  Context extends MachineContext & PausableContext & NotedContext,
  Event extends EventObject,
>() {
  const paused = changeOf<Context, PausableContext>;
  return {
    /** Keeps the error of the failed activity as the reason of the pause. */
    rememberFailure: assign<Context, Event, { stage: string; error: unknown }, Event, never>(
      // The engine gives every failed activity an error of this shape.
      ({ context }, { stage, error }) => paused({ paused: pausedByFailure(context, stage, error as ActivityError) }),
    ),
    resume: assign<Context, Event, { notes: string | undefined }, Event, never>(({ context }, { notes }) => ({
      ...paused({ paused: null, resumedByItself: undefined }),
      ...(notes
        ? changeOf<Context, NotedContext>({ notes: [...context.notes, { kind: 'message', text: notes }] })
        : {}),
    })),
    resumeByItself: assign<Context, Event, undefined, Event, never>(({ context }) =>
      paused({ paused: null, resumedByItself: (context.resumedByItself ?? 0) + 1 }),
    ),
    waitForAPerson: assign<Context, Event, undefined, Event, never>(() => paused({ resumedByItself: undefined })),
    endPause: assign<Context, Event, undefined, Event, never>(() => paused({ paused: null })),
  };
}

export const pausingGuards = {
  isPausedFor: ({ context }: { readonly context: PausableContext }, { reason }: { reason: PauseReason }) =>
    context.paused?.reason === reason,
  /** Is the answer this way on? */
  takesWay: (
    { context, event }: { readonly context: PausableContext; readonly event: { readonly type: string } },
    { ways }: { ways: readonly string[] },
  ) => {
    const chosen = chosenWay(context, event);
    return chosen !== undefined && ways.includes(chosen.way);
  },
  resumesByItself: ({ context }: { readonly context: PausableContext }) => context.paused?.resumesInMs !== undefined,
};

/** The way on that an answer names; `undefined` for any other event. */
export function chosenWay({ paused }: PausableContext, event: { readonly type: string }): WayOn | undefined {
  const { response } = event as { readonly response?: string }; // only answers have one
  return event.type === 'CLARIFICATION_ANSWERED' ? paused?.ways?.find(({ text }) => text === response) : undefined;
}

/** Keeps that the run's branch is the result, with the note of the way on that a person chose. */
export const leaving = {
  type: 'leaveAsBranch',
  params: ({ context, event }: { readonly context: PausableContext; readonly event: { readonly type: string } }) => ({
    note: chosenWay(context, event)?.note,
  }),
} as const;

/** Keeps the commit that the chosen way on names. */
export const choosingCommit = {
  type: 'keepChosenCommit',
  params: ({ context, event }: { readonly context: PausableContext; readonly event: { readonly type: string } }) => ({
    commit: chosenWay(context, event)?.commit,
  }),
} as const;

export const pausingDelays = {
  reset: ({ context }: { readonly context: PausableContext }) => context.paused?.resumesInMs ?? 0,
};

/**
 * Makes the transition of a failed activity, for `onError`.
 * @param target state that pauses the run: the pause, or a state before it that saves work
 */
export function pausesAt<const Target extends string>(target: Target) {
  return <const Stage extends string>(stage: Stage) =>
    ({
      target,
      actions: {
        type: 'rememberFailure',
        params: ({ event }: { readonly event: { readonly error: unknown } }) => ({ stage, error: event.error }),
      },
    }) as const;
}

/** Ways out of a pause that a workflow adds to those that every workflow has. */
interface OwnWays<On> {
  readonly on: On;
  /** Decisions for pauses that are neither a timeout nor a used-up budget; `null`: a retry alone. */
  readonly decisions: (context: PausableContext) => readonly Decision[] | null;
  /** Ways on that its transitions on CLARIFICATION_ANSWERED take. Default: none, and none is offered. */
  readonly ways?: readonly string[];
}

/**
 * The state of a paused run: a gate of the kind `pause`.
 * @param resumeAt deep history of the work, such as `#build.active.last`
 */
export function pausedState<const Target extends string, const On extends object = object>(
  resumeAt: Target,
  own?: OwnWays<On>,
) {
  return {
    meta: {
      status: 'paused',
      stage: ({ paused }: PausableContext) => paused?.stage ?? null,
      gate: {
        kind: 'pause',
        decisions: (context: PausableContext): readonly Decision[] =>
          context.paused?.reason === 'timeout' || context.paused?.reason === 'budget'
            ? ['retry', 'extend']
            : questionOf(context, own?.ways) === null
              ? (own?.decisions(context) ?? ['retry'])
              : ['answer', 'retry'],
        summary: ({ paused }: PausableContext) => paused?.message ?? '',
        facts: (context: PausableContext) => {
          const { paused } = context;
          const question = questionOf(context, own?.ways);
          return {
            reason: paused?.reason,
            message: paused?.message,
            budget: paused?.budget,
            budgetOf: paused?.budgetOf,
            ...(question === null ? {} : { question: { ...question } }),
            details: { resumesInMs: paused?.resumesInMs },
          };
        },
      },
    },
    initial: 'choosing',
    states: {
      choosing: { always: [{ guard: 'resumesByItself', target: 'untilReset' }, { target: 'untilAPerson' }] },
      // A provider named the time at which its limit ends; a person may still retry before.
      untilReset: { after: { reset: { target: resumeAt, actions: 'resumeByItself' } } },
      untilAPerson: { entry: 'waitForAPerson' },
    },
    on: {
      RETRY_REQUESTED: {
        target: resumeAt,
        actions: {
          type: 'resume',
          params: ({ event }: { readonly event: { readonly notes?: string } }) => ({ notes: event.notes }),
        },
      },
      // Without ways of its own, a workflow has the type of an empty `on`.
      ...(own?.on as On),
      BUDGET_CHANGED: {
        guard: { type: 'isPausedFor', params: { reason: 'budget' } },
        target: resumeAt,
        actions: [changeBudget, 'endPause'],
      },
      STAGE_EXTENDED: {
        guard: { type: 'isPausedFor', params: { reason: 'timeout' } },
        target: resumeAt,
        actions: [
          {
            type: 'extendPausedStage',
            params: ({ event }: { readonly event: { readonly minutes: number } }) => ({ minutes: event.minutes }),
          },
          'endPause',
        ],
      },
    },
  } as const;
}

/** The ways on that the workflow takes, as a question with options; `null` where there is none. */
function questionOf({ paused }: PausableContext, taken: readonly string[] = []): Question | null {
  const options = (paused?.ways ?? []).filter(({ way }) => taken.includes(way)).map(({ text }) => text);
  if (paused === null || options.length === 0) return null;
  return { question: paused.message, context: '', options, responseType: 'single_choice' };
}

function pausedByFailure(context: PausableContext, stage: string, error: ActivityError): Pause {
  const { reason, message, retryAfterMs, budget, budgetOf, ways } = error;
  const isLimit = reason === 'rate_limited' && retryAfterMs !== undefined;
  const pause = isLimit ? pausedByLimit(context, message, retryAfterMs) : { message };
  return {
    reason,
    stage,
    ...pause,
    ...(budget === undefined ? {} : { budget }),
    ...(budgetOf === undefined ? {} : { budgetOf }),
    ...(ways === undefined ? {} : { ways }),
  };
}

/** The first pause has the length that the provider names; each further one is longer. */
function pausedByLimit({ resumedByItself = 0 }: PausableContext, message: string, resetMs: number) {
  if (resumedByItself >= MOST_RESUMES)
    return {
      message: `${message} The run resumed by itself ${resumedByItself} times and got no further: it waits for a person now. Retry when the limit has ended, or fork the run with another model.`,
    };
  const resumesInMs = resumedByItself === 0 ? resetMs : Math.max(resetMs, FIRST_PATIENCE_MS * 2 ** resumedByItself);
  return { message, resumesInMs };
}
