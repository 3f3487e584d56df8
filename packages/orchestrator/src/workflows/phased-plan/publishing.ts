/** Publishes the result: the base is taken in, the record written, the branch pushed and merged. */
import { choosingState, mergingState, pushingState } from '../parts/publishing.ts';
import { headerOf, titleOf } from '../parts/run-context.ts';
import { failedAt, planSetup } from './setup.ts';
import type { PlanContext } from './types.ts';

export const publishing = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'publishing' },
  initial: 'choosingBase',
  states: {
    choosingBase: { always: [{ guard: 'merges', target: 'integrating' }, { target: 'recording' }] },
    integrating: {
      invoke: {
        id: 'integrate',
        src: 'integrate',
        input: ({ context }) => ({
          ...headerOf(context),
          head: context.head,
          baseCommit: context.baseCommit,
          baseBranch: context.config.git.baseBranch,
          planPath: '',
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.moved,
            target: '#phased-plan.active.validation',
            actions: { type: 'keepIntegrated', params: ({ event }) => ({ output: event.output }) },
          },
          { target: 'recording' },
        ],
        onError: failedAt('publishing'),
      },
    },
    recording: {
      invoke: {
        id: 'recordRun',
        src: 'recordRun',
        input: ({ context }) => ({
          ...headerOf(context),
          head: context.head,
          baseCommit: context.baseCommit,
          codeTree: context.codeTree ?? '',
          title: titleOf(context.title ?? undefined, context),
          plan: context.planFile === null ? (context.input.plan ?? null) : null,
          answered: context.answered,
        }),
        onDone: {
          target: 'pushing',
          actions: { type: 'keepRecord', params: ({ event }) => ({ output: event.output }) },
        },
        onError: failedAt('publishing'),
      },
    },
    pushing: pushingState('choosing', failedAt('publishing')),
    choosing: choosingState('merging', '#phased-plan.completed'),
    merging: mergingState({
      title: (context: PlanContext) => titleOf(context.title ?? undefined, context),
      done: '#phased-plan.completed',
      again: 'integrating',
      onError: failedAt('publishing'),
    }),
  },
});
