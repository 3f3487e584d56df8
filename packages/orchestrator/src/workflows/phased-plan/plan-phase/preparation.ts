/** Prepares the branch and its folder, and asks for the commands that verify a phase where the project does not name them. */
import { assign, emit, enqueueActions } from 'xstate';
import { headerOf } from '../../parts/run-context.ts';
import { asksForCommands, commandsIn } from '../commands-question.ts';
import { paused, phaseSetup } from './setup.ts';

export const preparationStates = {
  preparing: phaseSetup.createStateConfig({
    meta: { status: 'running', stage: 'preparation' },
    entry: emit(({ context }) => ({
      type: 'PLAN_READ',
      planPath: context.input.planPath,
      phases: [context.input.number],
      total: context.input.total,
      maxRetries: context.input.maxRetries,
    })),
    invoke: {
      id: 'prepare',
      src: 'prepare',
      input: ({ context }) => ({ ...headerOf(context), requestedConfig: context.requestedConfig }),
      onDone: {
        target: 'findingCommands',
        actions: enqueueActions(({ enqueue, context, event }) => {
          const { baseCommit, config, excludePaths, setup, test, notices } = event.output;
          enqueue.assign({
            baseCommit,
            head: baseCommit,
            config,
            excludePaths,
            setup,
            test: context.test ?? test,
          });
          enqueue.emit({ type: 'RUN_CONFIGURED', config, baseCommit, notices });
        }),
      },
      onError: paused('preparation'),
    },
  }),
  findingCommands: phaseSetup.createStateConfig({
    meta: { status: 'running', stage: 'preparation' },
    invoke: {
      id: 'findCommands',
      src: 'findCommands',
      input: ({ context }) => ({ ...headerOf(context), baseCommit: context.baseCommit }),
      onDone: {
        target: 'settingUp',
        actions: assign(({ context, event }) => ({
          test: context.test ?? event.output.test,
          lint: context.lint ?? event.output.lint,
        })),
      },
      onError: paused('preparation'),
    },
  }),
  settingUp: phaseSetup.createStateConfig({
    meta: { status: 'running', stage: 'preparation' },
    always: [
      { guard: ({ context }) => context.test === null, target: 'awaitingCommands' },
      { guard: ({ context }) => context.setup === null || context.setupDone, target: 'working' },
    ],
    invoke: {
      id: 'setUp',
      src: 'setUp',
      input: ({ context }) => ({
        ...headerOf(context),
        head: context.head,
        setup: context.setup ?? { command: '', source: 'none' },
        excludePaths: context.excludePaths,
      }),
      onDone: { target: 'working', actions: assign({ setupDone: true }) },
      onError: paused('preparation'),
    },
  }),
  awaitingCommands: phaseSetup.createStateConfig({
    meta: asksForCommands,
    on: {
      CLARIFICATION_ANSWERED: {
        target: 'settingUp',
        actions: assign(({ context, event }) => ({
          ...commandsIn(event.response, event.by, context.lint),
          clarificationCount: context.clarificationCount + 1,
        })),
      },
    },
  }),
};
