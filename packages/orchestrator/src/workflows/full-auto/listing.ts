/** From the plan to the list of the features: the plan is read, an agent lists its features, and the server takes the list or sends it back. */
import { assign, emit } from 'xstate';
import { callEnded } from '../parts/costs.ts';
import { ownedFilesInput } from '../parts/owned-files.ts';
import { headerOf } from '../parts/run-context.ts';
import { named } from './features.ts';
import { failedAt, fullAutoSetup, leftAside, progress } from './setup.ts';
import type { FullAutoContext, WriteInput } from './types.ts';

export const readingPlan = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'preparation' },
  invoke: {
    id: 'readPlan',
    src: 'readPlan',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      plan: context.input.plan ?? context.research?.plan ?? '',
    }),
    onDone: [
      {
        guard: ({ event }) => event.output.fault !== null,
        target: '#full-auto.notStarted',
        actions: assign({ failure: ({ event }) => event.output.fault }),
      },
      {
        target: 'listing',
        actions: assign({ plan: ({ event }) => event.output.path, codeTree: ({ event }) => event.output.codeTree }),
      },
    ],
    onError: failedAt('preparation'),
  },
});

const cannot = ({ faults }: Pick<FullAutoContext, 'faults'>): string => faults.join(' ').slice(0, 2_000).toWellFormed();

/** A list that cannot be carried out is sent back once, with what is wrong. */
export const listing = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'planning' },
  invoke: {
    id: 'feature-lister',
    src: 'listFeatures',
    input: ({ context }) => ({
      ...headerOf(context),
      config: context.config,
      head: context.head,
      baseCommit: context.baseCommit,
      excludePaths: context.excludePaths,
      notes: [
        ...context.notes,
        ...(context.faults.length === 0 ? [] : [{ kind: 'checks' as const, text: cannot(context) }]),
      ],
      call: (context.calls['feature-lister'] ?? 0) + 1,
      plan: context.plan,
      test: context.test,
    }),
    onDone: [
      {
        guard: ({ context, event }) => event.output.faults.length > 0 && context.faults.length === 0,
        target: 'listing',
        reenter: true,
        actions: [
          ...callEnded('feature-lister'),
          emit(({ event }) => ({ type: 'FEATURE_LIST_REFUSED', faults: cannot(event.output) })),
          assign({ faults: ({ event }) => event.output.faults }),
        ],
      },
      {
        guard: ({ event }) => event.output.faults.length > 0,
        target: '#full-auto.paused',
        actions: [
          ...callEnded('feature-lister'),
          emit(({ event }) => ({ type: 'FEATURE_LIST_REFUSED', faults: cannot(event.output) })),
          assign(({ event }) => ({
            // A person has it listed anew, and what is wrong then is sent back again.
            faults: [],
            paused: {
              reason: 'agent_failed' as const,
              stage: 'planning',
              message: `The features cannot be carried out: ${cannot(event.output)} The agent was told and did not mend it. Retry with a note on how to divide the plan, or correct the plan and start another run.`,
            },
          })),
        ],
      },
      {
        target: 'writing',
        actions: [
          ...callEnded('feature-lister'),
          { type: 'takeTestCommand', params: ({ event }) => ({ command: event.output.testCommand }) },
          emit(({ event }) => ({
            type: 'FEATURES_LISTED',
            total: event.output.features.length,
            features: event.output.features
              .map((feature) => named(feature))
              .join(', ')
              .slice(0, 2_000)
              .toWellFormed(),
          })),
          assign({
            faults: [],
            features: ({ event }) => event.output.features.map((feature) => ({ ...feature, passes: false })),
          }),
          emit(({ event }) =>
            progress({ features: event.output.features.map((each) => ({ ...each, passes: false })) }),
          ),
        ],
      },
    ],
    onError: failedAt('planning'),
  },
});

/** Input of the activity that writes the run's files. */
export const filesInput = (context: FullAutoContext): WriteInput => ({
  ...ownedFilesInput(context),
  topic: context.input.topic,
  plan: context.plan,
  features: context.features,
  skipped: context.skipped,
  log: context.log,
  waiting: leftAside(context).map(({ iteration, feature, waitsFor: why = '' }) => ({ iteration, feature, why })),
  isOver: context.isOver,
  setup: context.setup,
});

/** The list, the script of the setup and the progress go to the run's branch. */
export const writing = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  invoke: {
    id: 'writeFiles',
    src: 'writeFiles',
    input: ({ context }) => filesInput(context),
    onDone: [
      {
        guard: ({ context }) => context.isOver,
        target: 'ending',
        actions: { type: 'keepOwnedFiles', params: ({ event }) => ({ output: event.output }) },
      },
      {
        target: 'implementing',
        actions: { type: 'keepOwnedFiles', params: ({ event }) => ({ output: event.output }) },
      },
    ],
    onError: failedAt('implementation'),
  },
});
