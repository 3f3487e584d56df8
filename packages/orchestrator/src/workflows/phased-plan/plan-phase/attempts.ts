/** The attempts of agents, and what is kept of each. */
import { assign } from 'xstate';
import { headerOf } from '../../parts/run-context.ts';
import { agentInput, errorOf, isAgentsFailure, paused, phaseSetup, roleOf, says } from './setup.ts';

export const attemptStates = {
  working: phaseSetup.createStateConfig({
    always: [
      { guard: ({ context }) => context.next === 'review', target: 'reviewing' },
      { guard: ({ context }) => context.next === 'fix', target: 'attempting', actions: says('fixing') },
      { target: 'attempting', actions: says('implementing') },
    ],
  }),
  attempting: phaseSetup.createStateConfig({
    meta: { status: 'running', stage: 'implementation' },
    invoke: {
      id: 'attempt',
      src: 'attempt',
      input: ({ context }) => ({
        ...agentInput(context, roleOf(context)),
        setup: context.setup,
        issues: context.next === 'implement' ? null : context.issues,
      }),
      onDone: {
        target: 'saving',
        actions: { type: 'keepAttempt', params: ({ event }) => ({ attempted: event.output }) },
      },
      onError: [
        {
          guard: ({ event }) => isAgentsFailure(event),
          target: 'savingFailed',
          actions: [
            'countFailedCall',
            {
              type: 'fail',
              params: ({ context, event }) => ({
                next: context.next,
                error: errorOf(event).message,
                summary: `The agent gave no usable result: ${errorOf(event).message}`,
              }),
            },
          ],
        },
        paused('implementation'),
      ],
    },
    after: {
      implementationTimeout: {
        target: '#plan-phase.interrupted',
        actions: { type: 'rememberTimeout', params: { stage: 'implementation' } },
      },
    },
  }),
  // Files of an agent that gave no result stay in the folder for the next attempt.
  savingFailed: phaseSetup.createStateConfig({
    meta: { status: 'running', stage: 'implementation' },
    invoke: {
      id: 'saveFailed',
      src: 'checkpoint',
      input: ({ context }) => ({
        ...headerOf(context),
        head: context.head,
        baseCommit: context.baseCommit,
        stage: 'implementation',
        excludePaths: context.excludePaths,
      }),
      onDone: {
        target: 'judging',
        actions: assign({ head: ({ context, event }) => event.output.commit ?? context.head }),
      },
      onError: 'judging',
    },
  }),
  saving: phaseSetup.createStateConfig({
    meta: { status: 'running', stage: 'implementation' },
    invoke: {
      id: 'commitCode',
      src: 'commitCode',
      input: ({ context }) => ({
        ...headerOf(context),
        head: context.head,
        baseCommit: context.baseCommit,
        tree: context.attempted?.tree ?? '',
        message: `Phase ${context.input.number}, attempt ${context.iterations}\n\n${context.summary}`,
      }),
      onDone: [
        {
          guard: ({ context }) => context.attempted?.isDone === true,
          target: 'verifying',
          actions: { type: 'keepCode', params: ({ event }) => ({ ...event.output }) },
        },
        {
          target: 'judging',
          actions: [
            { type: 'keepCode', params: ({ event }) => ({ ...event.output }) },
            {
              type: 'fail',
              params: ({ context }) => ({
                next: context.next,
                error: context.summary,
                summary: `${context.next === 'implement' ? 'FAILURE' : 'UNABLE'}: ${context.summary}`,
                ...(context.next === 'implement'
                  ? {}
                  : {
                      issues: `${context.issues}\n\nThe last attempt could not fix all of it: ${context.summary}`,
                    }),
              }),
            },
          ],
        },
      ],
      onError: paused('implementation'),
    },
  }),
};
