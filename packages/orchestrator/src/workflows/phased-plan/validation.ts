/** The whole result: verified as it is and with the base's tests, looked through for concerns, shown to a person where it has to be. */
import { approvalGate } from '../parts/gate.ts';
import { followingOf } from '../parts/pull-request.ts';
import { isResultAsked, shownResult, validationState } from '../parts/result.ts';
import { checkInput, failedAt, phaseOf, planSetup } from './setup.ts';
import type { PlanContext } from './types.ts';

/** Characters of remarks that the gate of a result shows. */
const MOST_SHOWN = 4_000;

/** All phases are merged: the whole is verified as it is and with the base's tests, and looked through for concerns. */
export const validation = planSetup.createStateConfig(
  validationState({
    checkInputOf: checkInput,
    isAsked: isResultAsked,
    asked: '#phased-plan.active.awaitingApproval',
    publishing: '#phased-plan.active.publishing',
    onError: failedAt('validation'),
  }),
);

/** A person sees the whole result, and publishes it or has it changed in one more phase. */
export const awaitingApproval = planSetup.createStateConfig({
  meta: approvalGate<PlanContext>({
    stage: 'validation',
    kind: 'plan_result',
    decisions: ['approve', 'reject'],
    summary: (context) => context.failure ?? 'Every phase is done. Publish the result?',
    shows: shownResult,
    details: (context) => ({
      ...(context.failure === null ? {} : { failure: context.failure }),
      ...unansweredDetails(context),
    }),
  }),
  on: {
    APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'publishing' },
    APPROVAL_REJECTED: {
      target: 'phases',
      actions: { type: 'addPhase', params: ({ event }) => ({ feedback: event.feedback }) },
    },
  },
});

/** The remarks of reviewers and the answer to them, where the phase for them is merged and changed nothing. */
function unansweredDetails(context: PlanContext): Readonly<Record<string, string>> {
  const { answering } = followingOf(context);
  const { askedPhase, mergedPhases } = context;
  if (answering === null || answering.commit !== null) return {};
  if (askedPhase === undefined || !mergedPhases.includes(askedPhase)) return {};
  return { reviewers: clipped(phaseOf(context, askedPhase).text), answer: answering.summary };
}

function clipped(text: string): string {
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN).toWellFormed()} […]`;
}
