/**
 * The run of one phase: implement, verify, review, fix, commit. Each agent starts with a fresh context; verification and review
 * share one budget of retries, and beyond it a person decides.
 */
import { assign, emit } from 'xstate';
import { interruptedState } from '../../parts/checkpoint.ts';
import { takenEverywhere } from '../../parts/notes.ts';
import { pausedState } from '../../parts/pausing.ts';
import { headerOf } from '../../parts/run-context.ts';
import { attemptStates } from './attempts.ts';
import { escalationStates } from './blocked.ts';
import { judgementStates } from './judgement.ts';
import { preparationStates } from './preparation.ts';
import { paused, phaseName, phaseSetup, says } from './setup.ts';
import { phaseInputSchema } from './types.ts';

export const phaseMachine = phaseSetup.createMachine({
  id: 'plan-phase',
  initial: 'active',
  context: ({ input }) => {
    const values = phaseInputSchema.parse(input.input);
    return {
      runId: input.runId,
      projectId: input.projectId,
      request: input.request,
      branch: input.branch,
      startedAt: input.startedAt,
      input: values,
      config: input.config,
      requestedConfig: input.requestedConfig,
      baseCommit: '',
      head: '',
      excludePaths: [],
      setup: null,
      setupDone: false,
      test: values.test ?? null,
      lint: values.lint ?? null,
      calls: { 'phase-implementer': 0, 'phase-fixer': 0, 'phase-reviewer': 0 },
      notes: [],
      guidance: null,
      issues: '',
      next: 'implement',
      summary: '',
      attempts: [],
      iterations: 0,
      iterationLimit: values.maxIterations,
      attempted: null,
      codeTree: null,
      codeVersion: 0,
      checked: null,
      lastError: null,
      isShared: false,
      committed: null,
      paused: null,
      clarificationCount: 0,
    };
  },
  output: ({ context }) => ({
    phase: context.input.number,
    iterations: context.iterations,
    message: phaseName(context),
    summary: (context.summary.trim().split('\n')[0] ?? '').slice(0, 300).toWellFormed(),
  }),
  on: takenEverywhere('.cancelled'),
  states: {
    active: {
      initial: 'preparing',
      states: {
        ...preparationStates,
        ...attemptStates,
        ...judgementStates,
        ...escalationStates,
        committing: {
          meta: { status: 'running', stage: 'phase-commit' },
          entry: says('committing'),
          invoke: {
            id: 'commitPhase',
            src: 'commitPhase',
            input: ({ context }) => ({
              ...headerOf(context),
              head: context.head,
              baseCommit: context.baseCommit,
              message: phaseName(context),
            }),
            onDone: {
              target: '#plan-phase.completed',
              actions: [
                assign({
                  committed: ({ event }) => event.output,
                  head: ({ event }) => event.output.commit,
                  lastError: null,
                }),
                emit(({ context, event }) => ({
                  type: 'IMPLEMENTATION_SUCCEEDED',
                  commit: event.output.commit,
                  codeTree: event.output.codeTree,
                  summary: context.summary,
                  filesChanged: event.output.filesChanged,
                })),
                emit(({ context, event }) => ({
                  type: 'PHASE_COMMITTED',
                  phase: context.input.number,
                  hash: event.output.commit,
                  message: phaseName(context),
                })),
                says('completed'),
              ],
            },
            onError: paused('phase-commit'),
          },
        },
        last: { type: 'history', history: 'deep' },
      },
    },

    interrupted: phaseSetup.createStateConfig(interruptedState),

    paused: phaseSetup.createStateConfig(pausedState('#plan-phase.active.last')),

    completed: {
      type: 'final',
      meta: { status: 'completed', message: (context) => `${phaseName(context)} is committed` },
    },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});
