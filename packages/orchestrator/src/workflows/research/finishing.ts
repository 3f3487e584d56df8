/** The end of a research run: the report is compiled, a person approves it where one is asked, and it is published. */
import { assign, enqueueActions } from 'xstate';
import { callEnded } from '../parts/costs.ts';
import { documentPublishingState, findingConcernsState } from '../parts/document-publishing.ts';
import { approvalGate } from '../parts/gate.ts';
import { noteFeedback } from '../parts/notes.ts';
import { isOfAgent } from '../parts/topics/rounds.ts';
import { agentInput, counted, failedAt, reportInput, researchSetup, shownResult } from './setup.ts';
import type { Compiled, ResearchContext } from './types.ts';

const canRepair = ({ context }: { readonly context: ResearchContext }): boolean =>
  context.compiled?.kind === 'failed' && context.repairs < context.input.maxRepairs;

const NOTES: Readonly<Record<Compiled['kind'], string>> = {
  compiled: '',
  absent: 'There is no LaTeX where commands run: the report is there as Markdown and as .tex.',
  failed: 'LaTeX does not compile it: the report is there as Markdown and as .tex.',
};

export const compiling = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'reporting' },
  initial: 'running',
  states: {
    running: {
      invoke: {
        id: 'compile',
        src: 'compile',
        input: ({ context }) => ({
          ...reportInput(context, 'completed'),
          config: context.config,
          excludePaths: context.excludePaths,
          repaired: context.repairs > 0,
        }),
        onDone: {
          target: 'deciding',
          actions: [
            { type: 'keepReportFile', params: ({ event }) => ({ written: event.output }) },
            assign(({ event }) => ({ codeTree: event.output.codeTree, compiled: event.output.compiled })),
          ],
        },
        onError: failedAt('reporting'),
      },
    },
    deciding: {
      always: [
        { guard: canRepair, target: '#research.active.repairing' },
        {
          target: '#research.active.findingConcerns',
          actions: enqueueActions(({ enqueue, context: { compiled, head, versions, scripted } }) => {
            if (compiled === null) return;
            const pages = compiled.kind === 'compiled' ? compiled.pages : 0;
            const pdf = compiled.kind === 'compiled' ? compiled.pdf : undefined;
            if (pdf !== undefined)
              enqueue.emit({
                type: 'ARTIFACT_CREATED',
                artifact: {
                  stage: 'reporting',
                  type: 'research_pdf',
                  gitPath: pdf.path,
                  commitSha: head,
                  hash: pdf.hash,
                  // Of the report that it was compiled from.
                  version: versions,
                  parsedConstraints: null,
                  scripted,
                },
              });
            enqueue.emit({ type: 'REPORT_COMPILED', pages, note: NOTES[compiled.kind] });
          }),
        },
      ],
    },
  },
});

/** An agent corrects the .tex file. */
export const repairing = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'reporting' },
  invoke: {
    id: 'report-repairer',
    src: 'repair',
    input: ({ context }) => ({
      ...agentInput(context, 'report-repairer'),
      slug: context.slug,
      errors: context.compiled?.kind === 'failed' ? context.compiled.errors : '',
    }),
    onDone: {
      target: 'compiling',
      actions: [
        ...callEnded('report-repairer'),
        assign(({ context, event }) => ({ head: event.output.commit, repairs: context.repairs + 1 })),
      ],
    },
    onError: [
      {
        guard: ({ event }) => isOfAgent(event.error),
        target: 'compiling',
        actions: assign(({ context }) => ({ repairs: context.repairs + 1 })),
      },
      failedAt('reporting'),
    ],
  },
});

export const findingConcerns = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'reporting' },
  ...findingConcernsState({
    ask: '#research.active.awaitingResult',
    publish: '#research.active.publishing',
    onError: failedAt('reporting'),
  }),
});

export const awaitingResult = researchSetup.createStateConfig({
  meta: approvalGate<ResearchContext>({
    stage: 'reporting',
    kind: 'research_result',
    decisions: ['approve', 'reject'],
    summary: ({ input, findings, rounds }) =>
      `The report on '${input.topic}' has ${counted(findings, 'finding')} of ${counted(rounds.length, 'round')}. Publish it?`,
    shows: shownResult,
    details: ({ texts }) => ({ open: texts.openQuestions }),
  }),
  on: {
    APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'publishing' },
    // The research goes on with what the person says.
    APPROVAL_REJECTED: {
      target: 'synthesising',
      actions: [
        noteFeedback,
        assign(({ context }) => ({ ends: null, compiled: null, repairs: 0, countedFrom: context.rounds.length })),
      ],
    },
  },
});

const title = ({ input }: ResearchContext): string => `Research: ${input.topic}`.slice(0, 80).toWellFormed();

export const publishing = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'publishing' },
  ...documentPublishingState({
    title,
    check: '#research.active.findingConcerns',
    done: '#research.completed',
    onError: failedAt('publishing'),
  }),
});
