/** Publishes the result: the base is taken in, the record written, the branch pushed and merged. Then the items are done. */
import { assign, enqueueActions } from 'xstate';
import type { OwnedCommitted } from '../../activities/git/commit-owned-files.ts';
import {
  askingAgain,
  askingState,
  choosingState,
  integratingState,
  mergingState,
  pushingState,
  recordingState,
  takingInState,
} from '../parts/publishing.ts';
import { headerOf, titleOf } from '../parts/run-context.ts';
import { backlogSetup, failedAt } from './setup.ts';
import { mergedIn, pausedByFaults, progress, statusInput } from './loop.ts';
import type { BacklogContext, NewStatus } from './types.ts';

const title = (context: BacklogContext): string => titleOf(undefined, context);

const kept = [
  { type: 'keepOwnedFiles', params: ({ event }: Committed) => ({ output: event.output }) },
  { type: 'keepPlace', params: ({ event }: Committed) => ({ to: event.output.to }) },
] as const;

type Committed = { readonly event: { readonly output: OwnedCommitted } };

/** All items that are done get their status in one commit. */
function marking<const OnDone, const OnError>(id: string, onDone: OnDone, onError: OnError) {
  return {
    invoke: {
      id,
      src: 'setStatus',
      input: ({ context }: { readonly context: BacklogContext }) => ({
        ...statusInput(context, doneIn(context)),
        ...(context.merged ? { isMerged: true as const } : {}),
      }),
      onDone,
      onError,
    },
  } as const;
}

const doneIn = ({ outcomes }: BacklogContext): readonly NewStatus[] =>
  Object.entries(outcomes).flatMap(([item, { status, specPath = null, iteration = 0 }]): NewStatus[] =>
    status === 'done' ? [{ item, specPath, status, reason: '', iteration, expected: ['in_progress'] }] : [],
  );

export const publishing = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'publishing' },
  initial: 'readingAgain',
  states: {
    // Checks and people may have taken their time since the table was read: what is withdrawn meanwhile is not published.
    readingAgain: {
      invoke: {
        id: 'readAgain',
        src: 'readAgain',
        input: ({ context }) => ({
          ...headerOf(context),
          head: context.head,
          baseBranch: context.config.git.baseBranch,
          file: context.input.file,
          merged: [...mergedIn(context)],
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.faults.length > 0,
            target: '#backlog.paused',
            actions: assign({ paused: ({ event }) => pausedByFaults('publishing', event.output.faults) }),
          },
          {
            target: 'choosingBase',
            actions: enqueueActions(({ enqueue, context, event }) => {
              const { counts } = event.output;
              if (counts === null) return;
              enqueue.assign({ counts });
              if (counts.done !== context.counts.done || counts.total !== context.counts.total)
                enqueue.emit(progress(counts));
            }),
          },
        ],
        onError: failedAt('publishing'),
      },
    },
    choosingBase: { always: [{ guard: 'merges', target: 'integrating' }, { target: 'choosingPlace' }] },
    // Statuses on the run's branch are pushed with it. Those in the base follow the publication: no item is done before.
    choosingPlace: {
      always: [
        { guard: ({ context }) => context.ownedTo === 'branch', target: 'markingOnBranch' },
        { target: 'recording' },
      ],
    },
    markingOnBranch: marking('markOnBranch', { target: 'recording', actions: [...kept] }, [
      askingAgain('publishing'),
      failedAt('publishing'),
    ]),
    asking: askingState('#backlog.paused'),
    integrating: integratingState({
      unmoved: 'choosingPlace',
      moved: '#backlog.active.validation',
      onError: failedAt('publishing'),
    }),
    recording: recordingState(title, failedAt('publishing')),
    pushing: pushingState('choosing', failedAt('publishing')),
    choosing: choosingState('merging', 'choosingEnd'),
    choosingEnd: {
      always: [
        { guard: ({ context }) => context.ownedTo === 'branch', target: '#backlog.completed' },
        { target: 'marking' },
      ],
    },
    marking: marking(
      'markDone',
      [
        {
          // The base has refused them just now, and the branch has them.
          guard: ({ event }: Committed) => event.output.to === 'branch',
          target: 'pushing',
          actions: [...kept],
        },
        { target: '#backlog.completed', actions: [...kept] },
      ],
      failedAt('publishing'),
    ),
    takingIn: takingInState('#backlog.active.validation', failedAt('publishing')),
    pushingBeside: pushingState('choosing', failedAt('publishing'), { id: 'pushBeside', beside: true }),
    merging: mergingState({ title, done: 'choosingEnd', again: 'integrating', onError: failedAt('publishing') }),
  },
});
