/** The whole result: checked as it is and with the base's tests, looked through for concerns, shown to a person where it has to be. */
import { assign } from 'xstate';
import { approvalGate } from '../parts/gate.ts';
import { headerOf } from '../parts/run-context.ts';
import { backlogSetup, checkInput, failedAt, redCommands, shownResult } from './setup.ts';
import type { BacklogContext } from './types.ts';

export const validation = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'validation' },
  initial: 'choosing',
  entry: assign({ failure: null, concerns: [] }),
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => (context.test?.command ?? '') !== '', target: 'checkingAsIs' },
        {
          target: 'findingConcerns',
          actions: assign({
            failure: 'The project has no test command: nothing but a person can vouch for the result.',
          }),
        },
      ],
    },
    checkingAsIs: {
      invoke: {
        id: 'checkAsIs',
        src: 'check',
        input: ({ context }) => checkInput(context, context.head, 'as_is'),
        onDone: [
          {
            guard: ({ event }) => event.output.passed,
            target: 'checkingBaseTests',
            actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
          },
          {
            target: 'findingConcerns',
            actions: [
              { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              assign({ failure: ({ event }) => `The checks fail on the result: ${redCommands(event.output)}.` }),
            ],
          },
        ],
        onError: failedAt('validation'),
      },
    },
    checkingBaseTests: {
      invoke: {
        id: 'checkBaseTests',
        src: 'check',
        input: ({ context }) => checkInput(context, context.head, 'base_tests'),
        onDone: {
          target: 'findingConcerns',
          actions: [
            { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
            assign({
              failure: ({ event }) =>
                event.output.passed
                  ? null
                  : `The checks pass only with the changed tests; with the base commit's they fail: ${redCommands(event.output)}.`,
            }),
          ],
        },
        onError: failedAt('validation'),
      },
    },
    findingConcerns: {
      invoke: {
        id: 'findConcerns',
        src: 'findConcerns',
        input: ({ context }) => ({ ...headerOf(context), baseCommit: context.baseCommit, head: context.head }),
        onDone: { target: 'deciding', actions: assign({ concerns: ({ event }) => event.output.concerns }) },
        onError: failedAt('validation'),
      },
    },
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
