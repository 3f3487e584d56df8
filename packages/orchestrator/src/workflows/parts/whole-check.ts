/**
 * The result of several child runs as a whole: checked as it is and with the base's tests, and looked through for concerns. The states
 * lead to a sibling `deciding`.
 */
import type { Concern } from '@autonomous/shared';
import { failedChecksText } from '@autonomous/shared/presentation';
import { assign, type EventObject, type MachineContext } from 'xstate';
import type { Checked, CheckInput } from '../../activities/types.ts';
import { changeOf } from './change.ts';
import { type CheckingContext, hasTests } from './evidence.ts';
import { headerOf } from './run-context.ts';

export interface WholeContext extends CheckingContext {
  readonly head: string;
  /** Why a person must look at the result; `null` without a reason. */
  readonly failure: string | null;
  readonly concerns: readonly Concern[];
}

/** Actions of the check of a whole result. */
export function wholeCheckActions<Context extends MachineContext & WholeContext, Event extends EventObject>() {
  return {
    beginValidation: assign<Context, Event, undefined, Event, never>(() =>
      changeOf<Context, WholeContext>({ failure: null, concerns: [] }),
    ),
    keepFailure: assign<Context, Event, { failure: string | null }, Event, never>((_, { failure }) =>
      changeOf<Context, WholeContext>({ failure }),
    ),
  };
}

type Has = { readonly context: WholeContext };
type Ended = { readonly event: { readonly output: Checked } };

const keepEvidence = { type: 'keepEvidence', params: ({ event }: Ended) => ({ checked: event.output }) } as const;
const NO_TESTS = 'The project has no test command: nothing but a person can vouch for the result.';

/**
 * States that end in `deciding`, with `failure` and `concerns` of the result.
 * @param inputOf input of the activity `check`
 */
export function wholeCheckStates<const OnError, Context extends WholeContext, Input extends CheckInput>(
  onError: OnError,
  inputOf: (context: Context, commit: string, mode: Checked['mode']) => Input,
) {
  return {
    choosing: {
      always: [
        { guard: ({ context }: Has) => hasTests(context), target: 'checkingAsIs' },
        { target: 'findingConcerns', actions: { type: 'keepFailure', params: { failure: NO_TESTS } } },
      ],
    },
    checkingAsIs: {
      invoke: {
        id: 'checkAsIs',
        src: 'check',
        input: ({ context }: { readonly context: Context }) => inputOf(context, context.head, 'as_is'),
        onDone: [
          { guard: ({ event }: Ended) => event.output.passed, target: 'checkingBaseTests', actions: keepEvidence },
          {
            target: 'findingConcerns',
            actions: [
              keepEvidence,
              {
                type: 'keepFailure',
                params: ({ event }: Ended) => ({
                  failure: `The checks fail on the result: ${failedChecksText(event.output)}.`,
                }),
              },
            ],
          },
        ],
        onError,
      },
    },
    checkingBaseTests: {
      invoke: {
        id: 'checkBaseTests',
        src: 'check',
        input: ({ context }: { readonly context: Context }) => inputOf(context, context.head, 'base_tests'),
        onDone: {
          target: 'findingConcerns',
          actions: [
            keepEvidence,
            {
              type: 'keepFailure',
              params: ({ event }: Ended) => ({
                failure: event.output.passed
                  ? null
                  : `The checks pass only with the changed tests; with the base commit's they fail: ${failedChecksText(event.output)}.`,
              }),
            },
          ],
        },
        onError,
      },
    },
    findingConcerns: {
      invoke: {
        id: 'findConcerns',
        src: 'findConcerns',
        input: ({ context }: Has) => ({
          ...headerOf(context),
          baseCommit: context.baseCommit,
          head: context.head,
        }),
        onDone: {
          target: 'deciding',
          actions: {
            type: 'keepConcerns',
            params: ({
              event,
            }: {
              readonly event: { readonly output: { readonly concerns: readonly Concern[] } };
            }) => ({
              concerns: event.output.concerns,
            }),
          },
        },
        onError,
      },
    },
  } as const;
}
