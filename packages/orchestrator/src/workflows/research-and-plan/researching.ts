/** The first phase: a child run researches, and its report comes onto the run's branch. */
import { assign, enqueueActions } from 'xstate';
import type { ChildRequest } from '../../core/child-runs.ts';
import { headerOf } from '../parts/run-context.ts';
import { planSetup } from './rounds.ts';
import { failedAt } from './setup.ts';
import type { PlanContext } from './types.ts';

/** Questions that the report answers in any case. */
const QUESTIONS = [
  'Technical feasibility: can the proposed approach be built, and what stands against it?',
  'Existing solutions: what is there already, and who competes?',
  'Architectures: which patterns do similar systems use, and how do they fare with them?',
  'Defensibility: what would keep others from doing the same?',
  'Technology stack: which languages, frameworks, services and data stores suit it?',
];

function childRequest({ input, request, notes }: PlanContext): ChildRequest {
  const { topic, researchers, analysts, newFindings, quietRounds, researchRounds } = input;
  return {
    request: [
      request,
      `An implementation plan will rest on the report. Besides the request it answers these questions, and its analysis brings the answers together:\n${QUESTIONS.map((question, index) => `${index + 1}. ${question}`).join('\n')}`,
      ...notes.map(({ text }) => `Note of a person: ${text}`),
    ].join('\n\n'),
    title: `Research: ${topic}`,
    input: { topic, researchers, analysts, newFindings, quietRounds, maxRounds: researchRounds },
  };
}

export const researching = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'researching' },
  initial: 'running',
  states: {
    running: {
      invoke: {
        id: 'researchRun',
        src: 'researchRun',
        input: ({ context }) => childRequest(context),
        onDone: { target: 'merging', actions: assign({ researchRun: ({ event }) => event.output.runId }) },
        onError: failedAt('researching'),
      },
    },
    merging: {
      invoke: {
        id: 'mergeChild',
        src: 'mergeChild',
        input: ({ context }) => ({ ...headerOf(context), head: context.head, childId: context.researchRun }),
        onDone: {
          target: 'reading',
          actions: assign({
            head: ({ event }) => event.output.commit,
            codeTree: ({ event }) => event.output.codeTree,
          }),
        },
        onError: failedAt('researching'),
      },
    },
    reading: {
      invoke: {
        id: 'readResearch',
        src: 'readResearch',
        input: ({ context }) => ({ ...headerOf(context), researchRun: context.researchRun }),
        onDone: {
          target: '#research-and-plan.active.planning',
          actions: enqueueActions(({ enqueue, context, event }) => {
            const { findings, rounds } = event.output;
            enqueue.assign({ findings });
            enqueue.emit({ type: 'RESEARCH_TAKEN', run: context.researchRun, findings, rounds });
          }),
        },
        onError: failedAt('researching'),
      },
    },
  },
});
