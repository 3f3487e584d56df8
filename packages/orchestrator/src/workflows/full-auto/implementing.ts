/** The loop over the features: each attempt is a child run, and one with green evidence is merged into the run's branch. */
import { assign, enqueueActions } from 'xstate';
import type { ChildIntegrated } from '../../activities/git/merge-child.ts';
import { childMergeStates, failEnded, keepChildMerge } from '../parts/child-merge.ts';
import { checkInputOf } from '../parts/evidence.ts';
import { headerOf } from '../parts/run-context.ts';
import type { Rested } from '../parts/watch-children.ts';
import type { Proved } from './proof.ts';
import { actorOf, failedAt, fullAutoSetup, nextToStart, openAttempts, withAttempt } from './setup.ts';
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
     * Child runs are under way. One that comes to nothing is stopped. One whose result waits for a person is left aside; one that a
     * limit holds up is waited for, since the next one would be held up as well.
     */
    working: {
      always: { guard: ({ context }) => hasEnded(context), target: 'choosing' },
      invoke: {
        id: 'watchFeature',
        src: 'watchFeature',
        input: ({ context }) => ({
          ...headerOf(context),
          open: openAttempts(context).map((attempt) => ({ actor: actorOf(attempt), seen: attempt.waitsAt ?? null })),
        }),
        onDone: [
          {
            guard: ({ context, event }) => isLeftAside(context, event.output),
            target: writing,
            actions: [
              { type: 'sayWaits', params: ({ event }) => ({ rested: event.output }) },
              assign(({ context }) => ({
                open: null,
                waiting: [...context.waiting, ...(context.open === null ? [] : [context.open])],
              })),
            ],
          },
          {
            guard: ({ event }) => event.output.kind === 'asks',
            target: 'choosing',
            actions: { type: 'sayWaits', params: ({ event }) => ({ rested: event.output }) },
          },
          {
            target: 'choosing',
            actions: enqueueActions(({ enqueue, context, event }) => {
              const { actor, why, hint } = event.output;
              if (!openAttempts(context).some((attempt) => actorOf(attempt) === actor)) return;
              const end = { childId: null, error: why, ...(hint === undefined ? {} : { hint }) };
              enqueue.assign(withAttempt(context, actor, { end }));
              enqueue.stopChild(actor);
            }),
          },
        ],
        onError: failedAt('implementation'),
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
