/** The whole result: checked as it is and with the base's tests, looked through for concerns, shown to a person where it has to be. */
import { assign } from 'xstate';
import { checkInputOf } from '../parts/evidence.ts';
import { approvalGate } from '../parts/gate.ts';
import { wholeCheckStates } from '../parts/whole-check.ts';
import { backlogSetup, failedAt, shownResult } from './setup.ts';
import type { BacklogContext } from './types.ts';

export const validation = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'validation' },
  initial: 'choosing',
  entry: assign({ failure: null, concerns: [] }),
  states: {
    ...wholeCheckStates(failedAt('validation'), checkInputOf),
    deciding: {
      always: [
        {
          guard: ({ context }) =>
            context.failure === null &&
            context.concerns.length === 0 &&
            context.config.trustMode.implementation === 'auto',
          target: '#backlog.active.publishing',
          actions: 'reportValidation',
        },
        { target: '#backlog.active.awaitingApproval', actions: 'reportValidation' },
      ],
    },
  },
});

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
