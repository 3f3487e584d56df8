/** Without a plan: a child run researches the topic and plans, and its documents come into the run's branch. */
import { assign, enqueueActions } from 'xstate';
import { headerOf } from '../parts/run-context.ts';
import { keptReason } from '../parts/children.ts';
import { failedAt, fullAutoSetup } from './setup.ts';
import type { FullAutoContext } from './types.ts';

const mergeInput = (context: FullAutoContext) => ({
  ...headerOf(context),
  head: context.head,
  childId: context.research?.childId ?? '',
});

export const researching = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'research' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => context.input.plan !== undefined, target: '#full-auto.active.readingPlan' },
        { target: 'planning' },
      ],
    },
    planning: {
      invoke: {
        id: 'research-and-plan',
        src: 'researchAndPlan',
        input: ({ context }) => ({
          request: [
            context.request,
            ...context.notes.filter(({ kind }) => kind === 'message').map((note) => `Note of a person: ${note.text}`),
          ].join('\n\n'),
          title: `plan of ${context.input.topic}`,
          input: { topic: context.input.topic },
        }),
        onDone: {
          target: 'integrating',
          actions: enqueueActions(({ enqueue, event }) => {
            const { runId, output } = event.output;
            enqueue.assign({ research: { childId: runId, plan: output.planData } });
            if (output.openBlockers.length === 0) return;
            const open = output.openBlockers.map(({ id, text }) => `${id}: ${keptReason(text)}`).join(' ');
            enqueue.emit({ type: 'NOTICE', message: `The plan was taken with open blockers. ${open}` });
          }),
        },
        onError: failedAt('research'),
      },
    },
    integrating: {
      invoke: {
        id: 'integratePlan',
        src: 'integrateChild',
        input: ({ context }) => mergeInput(context),
        onDone: 'moving',
        onError: failedAt('research'),
      },
    },
    moving: {
      invoke: {
        id: 'mergePlan',
        src: 'mergeChild',
        input: ({ context }) => mergeInput(context),
        onDone: {
          target: '#full-auto.active.readingPlan',
          actions: assign({ head: ({ event }) => event.output.commit }),
        },
        onError: failedAt('research'),
      },
    },
  },
});
