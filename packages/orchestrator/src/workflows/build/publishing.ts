/** Publishing: the base comes in, the record is committed, the branch is pushed, and merged where the configuration says so. */
import { not } from 'xstate';
import { TAKING_IN } from '../../activities/git/ways.ts';
import { choosingToFollow, followingStates } from '../parts/following.ts';
import { noteFeedback } from '../parts/notes.ts';
import { headerOf, titleOf } from '../parts/run-context.ts';
import { mergingState, pushingState, takeInInput, takenFrom } from '../parts/publishing.ts';
import { dependenciesAtGate } from './checks.ts';
import { planOf, reportInput, shownResult, solutionsOf } from './inputs.ts';
import { failed } from './pausing.ts';
import { buildSetup } from './setup.ts';
import type { BuildContext, TakenIn } from './types.ts';
import { toValidation } from './validation.ts';

export const publishingStates = () => ({
  publishing: buildSetup.createStateConfig({
    meta: { status: 'running', stage: 'publishing' },
    initial: 'checkingSupport',
    states: {
      checkingSupport: {
        always: [
          { guard: not('isSupported'), target: '#build.interrupted', actions: 'refuseUnsupported' },
          { guard: 'merges', target: 'integrating' },
          { target: 'recording' },
        ],
      },
      integrating,
      recording,
      pushing: pushingState('answering', failed('publishing')),
      choosing: choosingToFollow('#build.completed'),
      merging: mergingState({
        title: (context: BuildContext) => titleOf(context.plan?.title, context),
        done: '#build.completed',
        again: 'integrating',
        onError: failed('publishing'),
      }),
      takingIn: takingIn('branch'),
      takingInBase: takingIn('base'),
      pushingBeside: pushingState('answering', failed('publishing'), { id: 'pushBeside', beside: true }),
      ...followed,
    },
  }),
});

/** The pull request: what reviewers ask goes to the implementer. */
const followed = followingStates({
  stage: 'publishing',
  shows: shownResult,
  details: (context: BuildContext) => ({
    newDependencies: dependenciesAtGate(context),
    report: context.report?.path,
  }),
  done: '#build.completed',
  again: 'integrating',
  back: '#build.active.implementation.work.implementing',
  onAsked: 'noteAsked',
  onRejected: ['noteHeld', noteFeedback],
  onError: failed('publishing'),
});

/** The latest base comes into the run's branch first. If that changes the code, it is validated again. */
const integrating = buildSetup.createStateConfig({
  invoke: {
    id: 'integrate',
    src: 'integrate',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      baseCommit: context.baseCommit,
      baseBranch: context.config.git.baseBranch,
      planPath: planOf(context).path,
    }),
    onDone: [
      {
        guard: ({ event }) => event.output.moved,
        target: toValidation,
        actions: [
          'forgetValidation',
          { type: 'keepIntegrated', params: ({ event }) => ({ output: event.output }) },
          {
            type: 'movePlan',
            params: ({ event }) => ({ planPath: event.output.moved ? event.output.planPath : undefined }),
          },
        ],
      },
      { target: 'recording' },
    ],
    onError: failed('publishing'),
  },
});

/** Commits that a person had taken in at a pause are checked again; conflicts go to the implementer first. */
const takingIn = (from: 'base' | 'branch') =>
  buildSetup.createStateConfig({
    invoke: {
      // The commit is recognised by this name.
      id: TAKING_IN[from],
      src: 'takeIn',
      input: ({ context }) => takeInInput(context, { from, planPath: planOf(context).path }),
      onDone: [
        {
          guard: ({ event }) => event.output.conflicts.length > 0,
          target: '#build.active.implementation.work.implementing',
          actions: [...taken(from), 'countFix'],
        },
        { target: toValidation, actions: [...taken(from)] },
      ],
      onError: failed('publishing'),
    },
  });

const taken = (from: 'base' | 'branch') =>
  [
    'forgetValidation',
    {
      type: 'keepTakenIn',
      params: ({ event }: { readonly event: { readonly output: TakenIn } }) => ({ taken: event.output }),
    },
    {
      type: 'sayTakenIn',
      params: ({
        context,
        event,
      }: {
        readonly context: BuildContext;
        readonly event: { readonly output: TakenIn };
      }) => ({
        taken: event.output,
        from: takenFrom(context, from),
      }),
    },
  ] as const;

const recording = buildSetup.createStateConfig({
  invoke: {
    id: 'copyRecord',
    src: 'copyRecord',
    input: ({ context }) => ({
      ...reportInput(context),
      accepted: context.accepted !== null,
      title: titleOf(context.plan?.title, context),
      decisions: [
        ...context.decisions,
        ...context.answered.map(({ question, response }) => ({
          topic: question,
          choice: response,
          rationale: 'answered by a person',
        })),
      ],
      techStack: context.techStack,
      patterns: context.patterns,
      ...solutionsOf(context),
    }),
    onDone: {
      target: 'pushing',
      actions: { type: 'keepRecord', params: ({ event }) => ({ output: event.output }) },
    },
    onError: failed('publishing'),
  },
});
