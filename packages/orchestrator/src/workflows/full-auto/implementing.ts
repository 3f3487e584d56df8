/** The loop over the features: each attempt is a child run, and one with green evidence is merged into the run's branch. */
import type { ActivityError } from '@autonomous/shared';
import { assign, enqueueActions } from 'xstate';
import { messageOf } from '../parts/children.ts';
import { checkInputOf, redText } from '../parts/evidence.ts';
import { headerOf } from '../parts/run-context.ts';
import { nextFeature } from './features.ts';
import { actorOf, failedAt, fullAutoSetup, isAtLimit, shortened } from './setup.ts';
import type { FullAutoContext } from './types.ts';

const mergeInput = (context: FullAutoContext) => ({
  ...headerOf(context),
  head: context.head,
  childId: context.ended?.childId ?? '',
});

const writing = '#full-auto.active.writing' as const;

export const implementing = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => context.ended !== null, target: 'judging' },
        { guard: ({ context }) => context.open !== null, target: 'working' },
        {
          guard: ({ context }) => nextFeature(context) === undefined || isAtLimit(context),
          target: writing,
          actions: assign({ isOver: true }),
        },
        { target: 'working', actions: 'startFeature' },
      ],
    },
    /** A child run is under way. One that comes to nothing is stopped; one that a limit or a concern holds up is left waiting. */
    working: {
      always: { guard: ({ context }) => context.ended !== null, target: 'judging' },
      invoke: {
        id: 'watchFeature',
        src: 'watchFeature',
        input: ({ context }) => ({
          ...headerOf(context),
          open: context.open === null ? [] : [{ actor: actorOf(context.open), seen: context.open.waitsAt ?? null }],
        }),
        onDone: {
          target: 'choosing',
          actions: enqueueActions(({ enqueue, context, event }) => {
            const { actor, gate, kind, why } = event.output;
            const { open } = context;
            if (open === null || actorOf(open) !== actor) return;
            if (kind === 'asks') {
              enqueue.emit({ type: 'FEATURE_WAITS', feature: open.feature, reason: shortened(why) });
              return enqueue.assign({ open: { ...open, waitsAt: gate } });
            }
            // The words of its gate ask a person about a result that there is not.
            const error = kind === 'untouched' ? 'the agent changed no file' : why;
            enqueue.assign({ open: null, ended: { ...open, childId: null, error } });
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
          target: writing,
          actions: { type: 'failFeature', params: ({ context }) => ({ why: context.ended?.error ?? '' }) },
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
            guard: ({ context, event }) => event.output.codeTree === context.codeTree,
            target: writing,
            actions: { type: 'failFeature', params: { why: 'the agent changed no file' } },
          },
          { target: 'proving', actions: assign({ integrated: ({ event }) => event.output }) },
        ],
        onError: [
          {
            guard: ({ event }) => (event.error as ActivityError).reason === 'merge_conflict',
            target: writing,
            actions: { type: 'failFeature', params: ({ event }) => ({ why: messageOf(event.error) }) },
          },
          failedAt('implementation'),
        ],
      },
    },
    /** Green checks say that nothing broke. The tests of the feature have to fail without it. */
    proving: {
      invoke: {
        id: 'proveFeature',
        src: 'proveFeature',
        input: ({ context }) => {
          const { mode: _mode, commit: _commit, ...input } = checkInputOf(context, context.head, 'as_is');
          return { ...input, childId: context.ended?.childId ?? '' };
        },
        onDone: [
          {
            guard: ({ event }) => event.output.fault !== null,
            target: writing,
            actions: { type: 'failFeature', params: ({ event }) => ({ why: event.output.fault ?? '' }) },
          },
          {
            // The child has evidence for exactly this code.
            guard: ({ context }) => context.integrated?.fastForward === true,
            target: 'moving',
          },
          { target: 'checking' },
        ],
        onError: failedAt('implementation'),
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
            target: writing,
            actions: [
              { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              {
                type: 'failFeature',
                params: ({ event }) => ({
                  why: `merged with the features before it, the checks fail: ${redText(event.output)}`,
                }),
              },
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
          target: writing,
          actions: [
            assign({ head: ({ event }) => event.output.commit, codeTree: ({ event }) => event.output.codeTree }),
            'passFeature',
          ],
        },
        onError: failedAt('implementation'),
      },
    },
  },
});
