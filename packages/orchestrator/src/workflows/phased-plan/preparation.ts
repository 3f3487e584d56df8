/** Reads the plan and finds out how the project is verified. */
import { assign, enqueueActions } from 'xstate';
import { headerOf } from '../parts/run-context.ts';
import { asksForCommands, commandsIn } from './commands-question.ts';
import { failedAt, planSetup, withStrategy } from './setup.ts';

/** Reads the plan and finds out how the project is verified. */
export const preparation = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'preparation' },
  initial: 'preparing',
  states: {
    preparing: {
      invoke: {
        id: 'prepare',
        src: 'prepare',
        input: ({ context }) => ({ ...headerOf(context), requestedConfig: context.requestedConfig }),
        onDone: {
          target: 'readingPlan',
          actions: enqueueActions(({ enqueue, context, event }) => {
            const { baseCommit, excludePaths, setup: install, test, notices } = event.output;
            const config = withStrategy(context, event.output);
            enqueue.assign({
              baseCommit,
              head: baseCommit,
              config,
              excludePaths,
              setup: install,
              test: context.test ?? test,
            });
            enqueue.emit({ type: 'RUN_CONFIGURED', config, baseCommit, notices });
          }),
        },
        onError: failedAt('preparation'),
      },
    },
    readingPlan: {
      invoke: {
        id: 'readPlan',
        src: 'readPlan',
        input: ({ context }) => ({
          ...headerOf(context),
          baseCommit: context.baseCommit,
          planPath: context.input.planPath,
          plan: context.input.plan ?? null,
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.faults.length > 0,
            target: '#phased-plan.unreadable',
            actions: assign({ failure: ({ event }) => event.output.faults.join('\n') }),
          },
          {
            target: 'findingCommands',
            actions: enqueueActions(({ enqueue, context, event }) => {
              const { title, phases, planFile } = event.output;
              enqueue.assign({ title, phases, planFile });
              enqueue.emit({
                type: 'PLAN_READ',
                planPath: context.input.planPath,
                phases: phases.map(({ number }) => number),
                total: phases.length,
                maxRetries: context.input.maxRetries,
              });
              enqueue.emit({ type: 'PROGRESS_CHANGED', done: 0, total: phases.length });
            }),
          },
        ],
        onError: failedAt('preparation'),
      },
    },
    findingCommands: {
      invoke: {
        id: 'findCommands',
        src: 'findCommands',
        input: ({ context }) => ({ ...headerOf(context), baseCommit: context.baseCommit }),
        onDone: {
          target: 'choosing',
          actions: assign(({ context, event }) => ({
            test: context.test ?? event.output.test,
            lint: context.lint ?? event.output.lint,
          })),
        },
        onError: failedAt('preparation'),
      },
    },
    choosing: {
      always: [
        { guard: ({ context }) => context.test === null, target: 'awaitingCommands' },
        { target: '#phased-plan.active.phases' },
      ],
    },
    awaitingCommands: {
      meta: asksForCommands,
      on: {
        CLARIFICATION_ANSWERED: {
          target: '#phased-plan.active.phases',
          actions: assign(({ context, event }) => ({
            ...commandsIn(event.response, event.by, context.lint),
            answered: event.response,
            clarificationCount: context.clarificationCount + 1,
          })),
        },
      },
    },
  },
});
