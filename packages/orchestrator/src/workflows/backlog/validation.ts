/** The whole result: checked as it is and with the base's tests, looked through for concerns, shown to a person where it has to be. */
import { checkInputOf } from '../parts/evidence.ts';
import { approvalGate } from '../parts/gate.ts';
import { isResultAsked, shownResult, validationState } from '../parts/result.ts';
import { backlogSetup, failedAt } from './setup.ts';
import type { BacklogContext } from './types.ts';

export const validation = backlogSetup.createStateConfig(
  validationState({
    checkInputOf,
    isAsked: isResultAsked,
    asked: '#backlog.active.awaitingApproval',
    publishing: '#backlog.active.publishing',
    onError: failedAt('validation'),
  }),
);

/** A person sees the whole result and publishes it, or has it checked again. */
export const awaitingApproval = backlogSetup.createStateConfig({
  meta: approvalGate<BacklogContext>({
    stage: 'validation',
    kind: 'backlog_result',
    decisions: ['approve', 'retry'],
    summary: (context) => context.failure ?? `${doneText(context)} Publish the result?`,
    shows: shownResult,
    details: (context) => (context.failure === null ? {} : { failure: context.failure }),
  }),
  on: {
    APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'publishing' },
    RETRY_REQUESTED: 'validation',
  },
});

/** `3 of 5 items are done, 1 is blocked, 1 is skipped.` */
export function doneText({ counts, outcomes }: Pick<BacklogContext, 'counts' | 'outcomes'>): string {
  const count = (status: string): number => Object.values(outcomes).filter((each) => each.status === status).length;
  const others = (['blocked', 'skipped'] as const).flatMap((status) =>
    count(status) === 0 ? [] : [`${count(status)} ${count(status) === 1 ? 'is' : 'are'} ${status}`],
  );
  const done = `${counts.done} of ${counts.total} ${counts.total === 1 ? 'item is' : 'items are'} done`;
  return `${[done, ...others].join(', ')}.`;
}
