/**
 * The merge of a child run's result into the run's branch: the merge is made, checked where the child has no evidence for exactly this
 * code, and only then does the branch move. The workflow has three actions: `keepChildMerge`, `failAttempt` and `passAttempt`.
 */
import type { ActivityError } from '@autonomous/shared';
import type { ChildIntegrated, ChildMerged } from '../../activities/git/merge-child.ts';
import type { Checked, CheckInput, RunHeader } from '../../activities/types.ts';
import { messageOf } from './children.ts';
import { redText } from './evidence.ts';
import { headerOf } from './run-context.ts';

interface MergingContext extends RunHeader {
  /** Head of the run's branch. */
  readonly head: string;
}

/** Params of the action `failAttempt`: the result cannot be merged. */
export type FailedAttempt = {
  readonly reason: 'merge_conflict' | 'agent_failed';
  readonly why: string;
  /** Told to the agent of the next attempt. Absent: what is known of earlier ones. */
  readonly hint?: string;
};

type Has<Context> = { readonly context: Context };
type Integrated = { readonly event: { readonly output: ChildIntegrated } };
type Ended = { readonly event: { readonly output: Checked } };
type Moved = { readonly event: { readonly output: ChildMerged } };
type Failed = { readonly event: { readonly error: unknown } };

const keepEvidence = { type: 'keepEvidence', params: ({ event }: Ended) => ({ checked: event.output }) } as const;

export const keepChildMerge = {
  type: 'keepChildMerge',
  params: ({ event }: Integrated) => ({ integrated: event.output }),
} as const;

/**
 * Transitions after the merge is made: to its check, or to `moving` where the child has evidence for exactly this code.
 * @param hasChecks whether the project has commands that check the merge
 */
export const toChecks = <Context>(hasChecks: (context: Context) => boolean) =>
  [
    {
      guard: ({ context, event }: Has<Context> & Integrated) => event.output.fastForward || !hasChecks(context),
      target: 'moving',
      actions: keepChildMerge,
    },
    { target: 'checking', actions: keepChildMerge },
  ] as const;

interface ChildMerge<Context, Input, OnIntegrated, OnFailed, OnPassed, OnError, OnCheckError> {
  /** Id of the child run. */
  readonly childOf: (context: Context) => string;
  /** The merge, once it is kept. */
  readonly mergeOf: (context: Context) => ChildIntegrated | null;
  readonly checkInputOf: (context: Context, commit: string, mode: Checked['mode']) => Input;
  /** Plural of what the child runs do, such as `features`. */
  readonly units: string;
  /** Transitions with the merge as output, such as {@link toChecks}. */
  readonly onIntegrated: OnIntegrated;
  readonly failed: OnFailed;
  readonly passed: OnPassed;
  readonly onError: OnError;
  readonly onCheckError: OnCheckError;
}

/** States `integrating`, `checking` and `moving`, which follow each other. */
export function childMergeStates<
  Context extends MergingContext,
  Input extends CheckInput,
  const OnIntegrated,
  const OnFailed extends string,
  const OnPassed extends string,
  const OnError,
  const OnCheckError,
>(merge: ChildMerge<Context, Input, OnIntegrated, OnFailed, OnPassed, OnError, OnCheckError>) {
  const { childOf, mergeOf, checkInputOf, units, onIntegrated, failed, passed, onError, onCheckError } = merge;
  const input = ({ context }: Has<Context>) => ({
    ...headerOf(context),
    head: context.head,
    childId: childOf(context),
  });
  return {
    integrating: {
      invoke: {
        id: 'integrateChild',
        src: 'integrateChild',
        input,
        onDone: onIntegrated,
        onError: [
          {
            // The engine gives every failed activity an error of this shape.
            guard: ({ event }: Failed) => (event.error as ActivityError).reason === 'merge_conflict',
            target: failed,
            actions: {
              type: 'failAttempt',
              params: ({ event }: Failed) => ({ reason: 'merge_conflict' as const, why: messageOf(event.error) }),
            },
          },
          onError,
        ],
      },
    },
    checking: {
      invoke: {
        id: 'checkMerge',
        src: 'check',
        input: ({ context }: Has<Context>) => checkInputOf(context, mergeOf(context)?.commit ?? context.head, 'as_is'),
        onDone: [
          { guard: ({ event }: Ended) => event.output.passed, target: 'moving', actions: keepEvidence },
          {
            target: failed,
            actions: [
              keepEvidence,
              {
                type: 'failAttempt',
                params: ({ event }: Ended) => {
                  const why = `merged with the ${units} before it, ${redText(event.output)}`;
                  return { reason: 'agent_failed' as const, why, hint: why };
                },
              },
            ],
          },
        ],
        onError: onCheckError,
      },
    },
    moving: {
      invoke: {
        id: 'mergeChild',
        src: 'mergeChild',
        input,
        onDone: {
          target: passed,
          actions: { type: 'passAttempt', params: ({ event }: Moved) => ({ merged: event.output }) },
        },
        onError,
      },
    },
  } as const;
}
