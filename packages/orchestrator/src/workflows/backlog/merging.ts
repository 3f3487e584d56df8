/** Merges the result of an item into the run's branch. The merged tree is checked before the branch moves. */
import type { ActivityError } from '@autonomous/shared';
import { assign, emit } from 'xstate';
import { messageOf } from '../parts/children.ts';
import { checkInputOf, hasTests, redText } from '../parts/evidence.ts';
import { headerOf } from '../parts/run-context.ts';
import { goingOn, unfinished, untouched } from './loop.ts';
import { backlogSetup, failedAt } from './setup.ts';
import type { BacklogContext, Ended } from './types.ts';

const mergeInput = (context: BacklogContext) => ({
  ...headerOf(context),
  head: context.head,
  childId: context.judged?.childId ?? '',
});

export const merging = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'integrating',
  states: {
    integrating: {
      invoke: {
        id: 'integrateChild',
        src: 'integrateChild',
        input: ({ context }) => mergeInput(context),
        onDone: [
          {
            guard: ({ context, event }) => event.output.codeTree === context.codeTree,
            target: '#backlog.active.setting',
            actions: assign(({ context }) => ofJudged(context, (judged) => untouched(context, judged))),
          },
          {
            // The child has evidence for exactly this code.
            guard: ({ context, event }) => event.output.fastForward || !hasTests(context),
            target: 'moving',
            actions: assign(({ context, event }) =>
              ofJudged(context, (judged) => ({ judged: { ...judged, integrated: event.output } })),
            ),
          },
          {
            target: 'checking',
            actions: assign(({ context, event }) =>
              ofJudged(context, (judged) => ({ judged: { ...judged, integrated: event.output } })),
            ),
          },
        ],
        onError: [
          {
            guard: ({ event }) => (event.error as ActivityError).reason === 'merge_conflict',
            target: '#backlog.active.setting',
            actions: assign(({ context, event }) =>
              ofJudged(context, (judged) => unfinished(context, judged, messageOf(event.error))),
            ),
          },
          failedAt('implementation'),
        ],
      },
    },
    checking: {
      invoke: {
        id: 'checkMerge',
        src: 'check',
        input: ({ context }) => checkInputOf(context, context.judged?.integrated?.commit ?? context.head, 'as_is'),
        onDone: [
          {
            guard: ({ event }) => event.output.passed,
            target: 'moving',
            actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
          },
          {
            target: '#backlog.active.setting',
            actions: [
              { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              assign(({ context, event }) =>
                ofJudged(context, (judged) => {
                  const why = `merged with the items before it, ${redText(event.output)}`;
                  return unfinished(context, judged, why, why);
                }),
              ),
            ],
          },
        ],
        onError: failedAt('validation'),
      },
    },
    moving: {
      invoke: {
        id: 'mergeChild',
        src: 'mergeChild',
        input: ({ context }) => mergeInput(context),
        onDone: {
          target: '#backlog.active.choosing',
          actions: [
            // The table says so as soon as the result is published.
            emit(({ context }) => ({
              type: 'ITEM_CHANGED',
              item: context.judged?.id ?? '',
              status: 'done',
              iteration: context.judged?.iteration ?? 0,
              reason: '',
            })),
            assign(({ context, event }) =>
              ofJudged(context, ({ id, specPath, iteration }) => ({
                head: event.output.commit,
                codeTree: event.output.codeTree,
                isChanged: true,
                judged: null,
                stopped: goingOn(context),
                outcomes: {
                  ...context.outcomes,
                  [id]: { status: 'done', reason: '', iteration, ...(specPath === null ? {} : { specPath }) },
                },
              })),
            ),
          ],
        },
        onError: failedAt('implementation'),
      },
    },
  },
});

function ofJudged(
  { judged }: BacklogContext,
  change: (judged: NonNullable<BacklogContext['judged']> & Ended) => Partial<BacklogContext>,
): Partial<BacklogContext> {
  return judged === null ? {} : change(judged);
}
