/** The loop over the features: each attempt is a child run, and one with green evidence is merged into the run's branch. */
import { assign } from 'xstate';
import type { ChildIntegrated } from '../../activities/git/merge-child.ts';
import { childMergeStates, failEnded, keepChildMerge } from '../parts/child-merge.ts';
import { workingState } from '../parts/children.ts';
import { checkInputOf } from '../parts/evidence.ts';
import type { Rested } from '../parts/watch-children.ts';
import type { Proved } from './proof.ts';
import { actorOf, failedAt, fullAutoSetup, nextToStart, openAttempts } from './setup.ts';
import type { FullAutoContext } from './types.ts';

const childOf = ({ ended }: FullAutoContext): string => ended?.childId ?? '';

type Merge = { readonly context: FullAutoContext; readonly event: { readonly output: ChildIntegrated } };

const hasEnded = (context: FullAutoContext): boolean => openAttempts(context).some(({ end }) => end !== null);

/** The result of the attempt under way waits for a person, and nothing else does. */
const isLeftAside = ({ open }: FullAutoContext, { actor, ofResult }: Rested): boolean =>
  ofResult === true && open !== null && actorOf(open) === actor;

const keepAccepted = {
  type: 'keepAccepted',
  params: ({ event }: { readonly event: { readonly output: Proved } }) => ({ accepted: event.output.accepted }),
} as const;

/** The next attempt is told the same, and more than the first line. */
const failing = <Event>(whyOf: (event: Event) => string) =>
  ({
    type: 'failAttempt',
    params: (event: Event) => {
      const why = whyOf(event);
      return { reason: 'agent_failed' as const, why, hint: why };
    },
  }) as const;

const writing = '#full-auto.active.writing' as const;

type Rest = { readonly context: FullAutoContext; readonly event: { readonly output: Rested } };

const watching = workingState({
  src: 'watchFeature',
  openOf: (context: FullAutoContext) =>
    openAttempts(context).map((attempt) => ({ ...attempt, actor: actorOf(attempt) })),
  hasEnded,
  ended: 'choosing',
  next: 'choosing',
  onError: failedAt('implementation'),
});

export const implementing = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => hasEnded(context), target: 'judging', actions: 'takeEnded' },
        { guard: ({ context }) => context.open !== null, target: 'working' },
        { guard: ({ context }) => nextToStart(context) !== undefined, target: 'working', actions: 'startFeature' },
        { guard: ({ context }) => context.waiting.length > 0, target: 'working' },
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
            actions: [{ type: 'sayWaits', params: ({ event }: Rest) => ({ rested: event.output }) }, 'leaveAside'],
          },
          ...watching.invoke.onDone,
        ],
      },
    },
    judging: {
      always: [
        {
          guard: ({ context }) => (context.ended?.childId ?? null) === null,
          target: writing,
          actions: failEnded,
        },
        { target: 'integrating' },
      ],
    },
    ...childMergeStates({
      childOf,
      mergeOf: ({ integrated }: FullAutoContext) => integrated,
      checkInputOf,
      units: 'features',
      onIntegrated: [
        {
          guard: ({ context, event }: Merge) => event.output.codeTree === context.codeTree,
          target: writing,
          actions: failing(() => 'the agent changed no file'),
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
          return { ...input, childId: childOf(context) };
        },
        onDone: [
          {
            guard: ({ event }) => event.output.fault !== null,
            target: writing,
            actions: failing(({ event }: { readonly event: { readonly output: Proved } }) => event.output.fault ?? ''),
          },
          {
            // The child has evidence for exactly this code.
            guard: ({ context }) => context.integrated?.fastForward === true,
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
