/** The phase of implementing: each task is a child run, in the order of the dependencies, and its result is merged. */
import { assign } from 'xstate';
import { judgingState, workingState } from '../parts/attempts.ts';
import { childMergeStates, toChecks } from '../parts/child-merge.ts';
import { checkInputOf, hasTests } from '../parts/evidence.ts';
import { approvalGate } from '../parts/gate.ts';
import { shownResult } from '../parts/result.ts';
import { headerOf } from '../parts/run-context.ts';
import { atLimit } from './document-phases.ts';
import { nextTask } from './documents.ts';
import { corrected, countsOf, failedAt, inPhase, isAsked, itemOf, itemSetup, oneAttempt } from './setup.ts';
import type { ItemContext } from './types.ts';

export const implementing = itemSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => context.ended !== null, target: 'judging' },
        { guard: ({ context }) => context.open !== null, target: 'working' },
        {
          guard: ({ context }) =>
            nextTask(context.tasks, context.done) === undefined && isAsked(context, 'implementing'),
          target: '#roadmap-item.active.awaitingImplementation',
        },
        {
          guard: ({ context }) => nextTask(context.tasks, context.done) === undefined,
          target: '#roadmap-item.active.entering',
          actions: assign(inPhase('testing')),
        },
        atLimit,
        { target: 'working', actions: 'beginAttempt' },
      ],
    },
    working: workingState({
      src: 'watchTask',
      next: 'choosing',
      storage: oneAttempt,
      onError: failedAt('implementation'),
    }),
    judging: judgingState({
      failed: '#roadmap-item.active.entering',
      merging: 'integrating',
      storage: oneAttempt,
    }),
    ...childMergeStates({
      childOf: ({ ended }: ItemContext) => ended?.childId ?? '',
      mergeOf: ({ integrated }) => integrated,
      checkInputOf,
      units: 'tasks',
      onIntegrated: toChecks(hasTests),
      failed: '#roadmap-item.active.entering',
      passed: 'recording',
      onError: failedAt('implementation'),
      onCheckError: failedAt('implementation'),
    }),
    /** The document with the state of the work follows. */
    recording: {
      invoke: {
        id: 'commitProgress',
        src: 'commitProgress',
        input: ({ context }) => ({
          ...headerOf(context),
          head: context.head,
          item: itemOf(context),
          tasks: context.tasks,
          done: context.done,
          findings: context.findings,
        }),
        onDone: {
          target: '#roadmap-item.active.entering',
          actions: assign({ head: ({ event }) => event.output.commit }),
        },
        onError: failedAt('implementation'),
      },
    },
  },
});

/** All tasks are done, and a person wants to see the changes before they are tested. */
export const awaitingImplementation = itemSetup.createStateConfig({
  meta: approvalGate<ItemContext>({
    stage: 'implementation',
    kind: 'item_implementation',
    decisions: ['approve', 'reject'],
    summary: (context) => {
      const { done, total } = countsOf(context);
      return `${done} of ${total} tasks of '${itemOf(context).title}' are done. Test the result?`;
    },
    shows: shownResult,
  }),
  on: {
    APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'entering', actions: assign(inPhase('testing')) },
    APPROVAL_REJECTED: {
      target: 'entering',
      actions: assign(({ context, event }) => corrected(context, event.feedback, true)),
    },
  },
});
