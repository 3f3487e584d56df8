/** The loop over the features: each attempt is a child run, and one with green evidence is merged into the run's branch. */
import { assign } from 'xstate';
import type { ChildIntegrated } from '../../activities/git/merge-child.ts';
import { judgingState, workingState } from '../parts/attempts.ts';
import { childMergeStates, keepChildMerge } from '../parts/child-merge.ts';
import { checkInputOf } from '../parts/evidence.ts';
import type { Rested } from '../parts/watch-children.ts';
import type { Proved } from './proof.ts';
import { failedAt, fullAutoSetup, nextToStart } from './setup.ts';
import type { FullAutoContext } from './types.ts';

type Merge = { readonly context: FullAutoContext; readonly event: { readonly output: ChildIntegrated } };

/** The result of this attempt alone waits for a person, and others may go on. */
const isLeftAside = ({ open }: FullAutoContext, { actor, kind, ofResult }: Rested): boolean =>
  kind === 'asks' && ofResult === true && open[actor]?.isAside !== true;

const keepAccepted = {
  type: 'keepAccepted',
  params: ({ event }: { readonly event: { readonly output: Proved } }) => ({ accepted: event.output.accepted }),
} as const;

const writing = '#full-auto.active.writing' as const;

type Rest = { readonly context: FullAutoContext; readonly event: { readonly output: Rested } };

const watching = workingState({
  src: 'watchFeature',
  next: 'choosing',
  onError: failedAt('implementation'),
});

export const implementing = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => context.ended.length > 0, target: 'judging' },
        { guard: ({ context }) => nextToStart(context) !== undefined, target: 'working', actions: 'beginAttempt' },
        { guard: ({ context }) => Object.keys(context.open).length > 0, target: 'working' },
        { target: writing, actions: assign({ isOver: true }) },
      ],
    },
    /**
     * One whose result waits for a person is left aside; one that a limit holds up is waited for, since the next one would be held up as
     * well.
     */
    working: {
      ...watching,
      invoke: {
        ...watching.invoke,
        onDone: [
          {
            guard: ({ context, event }: Rest) => isLeftAside(context, event.output),
            target: writing,
            actions: { type: 'sayWaits', params: ({ event }: Rest) => ({ rested: event.output }) },
          },
          ...watching.invoke.onDone,
        ],
      },
    },
    judging: judgingState({
      failed: writing,
      merging: 'integrating',
    }),
    ...childMergeStates({
      childOf: ({ judged }: FullAutoContext) => judged?.childId ?? '',
      mergeOf: ({ judged }) => judged?.integrated ?? null,
      checkInputOf,
      units: 'features',
      onIntegrated: [
        {
          guard: ({ context, event }: Merge) => event.output.codeTree === context.codeTree,
          target: writing,
          actions: 'failUnchanged',
        },
        { target: 'proving', actions: keepChildMerge },
      ],
      failed: writing,
      passed: writing,
      onError: failedAt('implementation'),
      onCheckError: failedAt('implementation'),
    }),
    /** Green checks say that nothing broke. The tests of the feature have to fail without it. */
    proving: {
      invoke: {
        id: 'proveFeature',
        src: 'proveFeature',
        input: ({ context }) => {
          const { mode: _mode, commit: _commit, ...input } = checkInputOf(context, context.head, 'as_is');
          return { ...input, childId: context.judged?.childId ?? '' };
        },
        onDone: [
          {
            guard: ({ event }) => event.output.fault !== null,
            target: writing,
            actions: {
              type: 'failAttempt',
              params: ({ event }) => {
                const why = event.output.fault ?? '';
                return { reason: 'agent_failed', why, hint: why };
              },
            },
          },
          {
            // The child has evidence for exactly this code.
            guard: ({ context }) => context.judged?.integrated?.fastForward === true,
            target: 'moving',
            actions: keepAccepted,
          },
          { target: 'checking', actions: keepAccepted },
        ],
        onError: failedAt('implementation'),
      },
    },
  },
});
