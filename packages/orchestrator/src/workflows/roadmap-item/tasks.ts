/** The phase of implementing: each task is a child run, in the order of the dependencies, and its result is merged. */
import type { ActivityError } from '@autonomous/shared';
import { assign, emit, enqueueActions } from 'xstate';
import { bothEnds, keptReason, messageOf } from '../parts/children.ts';
import { checkInputOf, hasTests, redText } from '../parts/evidence.ts';
import { approvalGate } from '../parts/gate.ts';
import { headerOf } from '../parts/run-context.ts';
import { atLimit } from './document-phases.ts';
import { nextTask } from './documents.ts';
import {
  actorOf,
  afterFailure,
  corrected,
  countsOf,
  failedAt,
  inPhase,
  isAsked,
  itemOf,
  itemSetup,
  shownResult,
  taskOf,
} from './setup.ts';
import type { ItemContext } from './types.ts';

const mergeInput = (context: ItemContext) => ({
  ...headerOf(context),
  head: context.head,
  childId: context.ended?.childId ?? '',
});

/** The attempt came to nothing. @param hint told to the next one; absent: what is known of earlier ones */
function failedTask(context: ItemContext, why: string, hint = context.hint): Partial<ItemContext> {
  return { ...afterFailure(context, why), hint: bothEnds(hint), open: null, ended: null, integrated: null };
}

const titleOf = (context: ItemContext): string => taskOf(context, context.ended?.task ?? '')?.title ?? '';

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
          actions: [
            emit(({ context }) => ({
              type: 'TASK_CHANGED',
              task: context.ended?.task ?? '',
              title: titleOf(context),
              status: 'failed',
              reason: keptReason(context.ended?.error ?? ''),
            })),
            assign(({ context }) => failedTask(context, context.ended?.error ?? '', context.ended?.hint)),
          ],
        },
        { target: 'integrating' },
      ],
    },
    integrating: {
      invoke: {
        id: 'integrateChild',
        src: 'integrateChild',
        input: ({ context }) => mergeInput(context),
        onDone: [
          {
            // The child has evidence for exactly this code.
            guard: ({ context, event }) => event.output.fastForward || !hasTests(context),
            target: 'moving',
            actions: assign({ integrated: ({ event }) => event.output }),
          },
          { target: 'checking', actions: assign({ integrated: ({ event }) => event.output }) },
        ],
        onError: [
          {
            guard: ({ event }) => (event.error as ActivityError).reason === 'merge_conflict',
            target: '#roadmap-item.active.entering',
            actions: assign(({ context, event }) => failedTask(context, messageOf(event.error))),
          },
          failedAt('implementation'),
        ],
      },
    },
    checking: {
      invoke: {
        id: 'checkMerge',
        src: 'check',
        input: ({ context }) => checkInputOf(context, context.integrated?.commit ?? context.head, 'as_is'),
        onDone: [
          {
            guard: ({ event }) => event.output.passed,
            target: 'moving',
            actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
          },
          {
            target: '#roadmap-item.active.entering',
            actions: [
              { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              assign(({ context, event }) => {
                const why = `merged with the tasks before it, ${redText(event.output)}`;
                return failedTask(context, why, why);
              }),
            ],
          },
        ],
        onError: failedAt('implementation'),
      },
    },
    moving: {
      invoke: {
        id: 'mergeChild',
        src: 'mergeChild',
        input: ({ context }) => mergeInput(context),
        onDone: {
          target: 'recording',
          actions: [
            emit(({ context }) => ({
              type: 'TASK_CHANGED',
              task: context.ended?.task ?? '',
              title: titleOf(context),
              status: 'done',
              reason: '',
            })),
            assign(({ context, event }) => ({
              head: event.output.commit,
              codeTree: event.output.codeTree,
              done: [...context.done, context.ended?.task ?? ''],
              ...inPhase('implementing'),
              hint: '',
              open: null,
              ended: null,
              integrated: null,
            })),
          ],
        },
        onError: failedAt('implementation'),
      },
    },
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
