/** Publishes the result: the base is taken in, the record written, the branch pushed and merged, or its pull request followed. */
import { TAKING_IN } from '../../activities/git/ways.ts';
import { choosingToFollow, followingStates } from '../parts/following.ts';
import { integrateInput, mergingState, pushingState, takeInInput, takenFrom } from '../parts/publishing.ts';
import type { TakeInInput, TakenIn } from '../../activities/git/integrate-base.ts';
import { heldText } from '../parts/pull-request.ts';
import { headerOf, titleOf } from '../parts/run-context.ts';
import { shownResult } from '../parts/result.ts';
import { failedAt, planSetup } from './setup.ts';
import type { PlanContext } from './types.ts';

/** Commits that a person had taken in at a pause are verified again; conflicts are resolved in one more phase first. */
function takingIn(from: TakeInInput['from']) {
  return planSetup.createStateConfig({
    invoke: {
      // The commit is recognised by this name.
      id: TAKING_IN[from],
      src: 'takeIn',
      input: ({ context }) => takeInInput(context, { from, planPath: '' }),
      onDone: [
        {
          guard: ({ event }) => event.output.conflicts.length > 0,
          target: '#phased-plan.active.phases',
          actions: [
            ...taken(from),
            { type: 'addConflictPhase', params: ({ event }) => ({ conflicts: event.output.conflicts }) },
          ],
        },
        { target: '#phased-plan.active.validation', actions: [...taken(from)] },
      ],
      onError: failedAt('publishing'),
    },
  });
}

type TakingIn = { readonly context: PlanContext; readonly event: { readonly output: TakenIn } };

const taken = (from: TakeInInput['from']) =>
  [
    { type: 'keepTakenIn', params: ({ event }: TakingIn) => ({ taken: event.output }) },
    {
      type: 'sayTakenIn',
      params: ({ context, event }: TakingIn) => ({ taken: event.output, from: takenFrom(context, from) }),
    },
  ] as const;

/** The pull request: what reviewers ask is done in one more phase. */
const followed = followingStates({
  stage: 'publishing',
  shows: shownResult,
  details: ({ failure }: PlanContext) => (failure === null ? {} : { failure }),
  done: '#phased-plan.completed',
  again: 'integrating',
  back: '#phased-plan.active.phases',
  onAsked: 'addAskedPhase',
  onRejected: [
    {
      type: 'addPhase',
      params: ({
        context,
        event,
      }: {
        readonly context: PlanContext;
        readonly event: { readonly feedback: string };
      }) => ({
        feedback: event.feedback,
        held: heldText(context),
      }),
    },
  ],
  onError: failedAt('publishing'),
});

export const publishing = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'publishing' },
  initial: 'choosingBase',
  states: {
    choosingBase: { always: [{ guard: 'merges', target: 'integrating' }, { target: 'recording' }] },
    integrating: {
      invoke: {
        id: 'integrate',
        src: 'integrate',
        input: integrateInput,
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
    pushing: pushingState('answering', failedAt('publishing')),
    choosing: choosingToFollow('#phased-plan.completed'),
    merging: mergingState({
      title: (context: PlanContext) => titleOf(context.title ?? undefined, context),
      done: '#phased-plan.completed',
      again: 'integrating',
      onError: failedAt('publishing'),
    }),
    takingIn: takingIn('branch'),
    takingInBase: takingIn('base'),
    pushingBeside: pushingState('answering', failedAt('publishing'), { id: 'pushBeside', beside: true }),
    ...followed,
  },
});
