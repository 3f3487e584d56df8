/** The phase of implementing: each task is a child run, in the order of the dependencies, and its result is merged. */
import { assign, enqueueActions } from 'xstate';
import { childMergeStates, failEnded, toChecks } from '../parts/child-merge.ts';
import { keptReason } from '../parts/children.ts';
import { checkInputOf, hasTests } from '../parts/evidence.ts';
import { approvalGate } from '../parts/gate.ts';
import { headerOf } from '../parts/run-context.ts';
import { atLimit } from './document-phases.ts';
import { nextTask } from './documents.ts';
import { actorOf, corrected, countsOf, failedAt, inPhase, isAsked, itemOf, itemSetup, shownResult } from './setup.ts';
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
        { target: 'working', actions: 'startTask' },
      ],
    },
    /** A child run is under way. One that comes to nothing is stopped; one that waits for a person is left waiting. */
    working: {
      always: { guard: ({ context }) => context.ended !== null, target: 'judging' },
      invoke: {
        id: 'watchTask',
        src: 'watchTask',
        input: ({ context }) => ({
          ...headerOf(context),
          open: context.open === null ? [] : [{ actor: actorOf(context.open), seen: context.open.waitsAt ?? null }],
        }),
        onDone: {
          target: 'choosing',
          actions: enqueueActions(({ enqueue, context, event }) => {
            const { actor, gate, kind, why, hint } = event.output;
            const { open } = context;
            if (open === null || actorOf(open) !== actor) return;
            if (kind === 'asks') {
              enqueue.emit({ type: 'TASK_WAITS', task: open.task, reason: keptReason(why) });
              return enqueue.assign({ open: { ...open, waitsAt: gate } });
            }
            const end = { childId: null, error: why, ...(hint === undefined ? {} : { hint }) };
            enqueue.assign({ open: null, ended: { ...open, ...end } });
            enqueue.stopChild(actor);
          }),
        },
        onError: failedAt('implementation'),
      },
    },
    judging: {
      always: [
        {
          guard: ({ context }) => (context.ended?.childId ?? null) === null,
          target: '#roadmap-item.active.entering',
          actions: ['sayTaskFailed', failEnded],
        },
        { target: 'integrating' },
      ],
    },
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
