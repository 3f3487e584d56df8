/** The whole result of a run: checked, and shown to a person where it has to be. */
import { emit, type EventObject, type MachineContext } from 'xstate';
import type { Checked, CheckInput } from '../../activities/types.ts';
import type { Shown } from './gate.ts';
import type { CheckedRunConfig, CheckedRunContext } from './project-run.ts';
import type { RunFact } from './signals.ts';
import { wholeCheckStates } from './whole-check.ts';

type ResultContext = CheckedRunContext<CheckedRunConfig, unknown>;
type Has<Context> = { readonly context: Context };

/** Content that the gate of a whole result shows. */
export const shownResult = ({ codeTree, concerns }: ResultContext): Shown => ({ codeTree, concerns });

/** Whether a person sees the result: its checks fail, something in it has to be looked at, or each result is to be seen. */
export const isResultAsked = ({ failure, concerns, config }: ResultContext): boolean =>
  failure !== null || concerns.length > 0 || config.trustMode['implementation'] === 'manual';

/** Action that says what came of the whole check. @param passed summary of a result whose checks pass */
export function reportingValidation<Context extends MachineContext & ResultContext, Event extends EventObject>(
  passed: (context: Context) => string,
) {
  return emit<Context, Event, undefined, Event, RunFact>(({ context }) => {
    const codeTree = context.codeTree ?? '';
    return context.failure === null
      ? { type: 'VALIDATION_PASSED', codeTree, summary: passed(context) }
      : { type: 'VALIDATION_FAILED', codeTree, severity: 'major', summary: context.failure, feedback: '' };
  });
}

interface Validation<Context, Input, Asked, Publishing, OnError> {
  /** Input of the activity `check`. */
  readonly checkInputOf: (context: Context, commit: string, mode: Checked['mode']) => Input;
  readonly isAsked: (context: Context) => boolean;
  /** State in which a person sees the result. */
  readonly asked: Asked;
  readonly publishing: Publishing;
  readonly onError: OnError;
}

/** The state in which the whole result is checked. The workflow has the action `reportValidation`. */
export function validationState<
  Context extends MachineContext & ResultContext,
  Input extends CheckInput,
  const Asked extends string,
  const Publishing extends string,
  const OnError,
>({ checkInputOf, isAsked, asked, publishing, onError }: Validation<Context, Input, Asked, Publishing, OnError>) {
  return {
    meta: { status: 'running', stage: 'validation' },
    initial: 'choosing',
    entry: 'beginValidation',
    states: {
      ...wholeCheckStates(onError, checkInputOf),
      deciding: {
        always: [
          { guard: ({ context }: Has<Context>) => isAsked(context), target: asked, actions: 'reportValidation' },
          { target: publishing, actions: 'reportValidation' },
        ],
      },
    },
  } as const;
}
