/** The end of a research run: the report is compiled, a person approves it where one is asked, and it is published. */
import { assign, enqueueActions } from 'xstate';
import { callEnded } from '../parts/costs.ts';
import { approvalGate } from '../parts/gate.ts';
import { noteFeedback } from '../parts/notes.ts';
import { choosingState, mergingState, pushingState } from '../parts/publishing.ts';
import { headerOf } from '../parts/run-context.ts';
import { agentInput, counted, failedAt, isOfAgent, reportInput, researchSetup, shownResult } from './setup.ts';
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
  initial: 'finding',
  states: {
    finding: {
      invoke: {
        id: 'findConcerns',
        src: 'findConcerns',
        input: ({ context }) => ({ ...headerOf(context), baseCommit: context.baseCommit, head: context.head }),
        onDone: {
          target: 'deciding',
          actions: [assign({ concerns: ({ event }) => event.output.concerns }), 'reportValidation'],
        },
        onError: failedAt('reporting'),
      },
    },
    deciding: {
      always: [
        {
          guard: ({ context }) => context.config.trustMode.implementation === 'manual' || context.concerns.length > 0,
          target: '#research.active.awaitingResult',
        },
        { target: '#research.active.publishing' },
      ],
    },
  },
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
  initial: 'choosingBase',
  states: {
    choosingBase: { always: [{ guard: 'merges', target: 'integrating' }, { target: 'recording' }] },
    integrating: {
      invoke: {
        id: 'integrate',
        src: 'integrate',
        input: ({ context }) => ({
          ...headerOf(context),
          head: context.head,
          baseCommit: context.baseCommit,
          baseBranch: context.config.git.baseBranch,
          planPath: '',
        }),
        onDone: [
          {
            guard: ({ context, event }) => !event.output.moved || event.output.codeTree === context.codeTree,
            target: 'recording',
            actions: { type: 'keepIntegrated', params: ({ event }) => ({ output: event.output }) },
          },
          {
            target: '#research.active.findingConcerns',
            actions: { type: 'keepIntegrated', params: ({ event }) => ({ output: event.output }) },
          },
        ],
        onError: failedAt('publishing'),
      },
    },
    recording: {
      invoke: {
        id: 'recordRun',
        src: 'recordRun',
        input: ({ context }) => ({
          ...headerOf(context),
          head: context.head,
          baseCommit: context.baseCommit,
          codeTree: context.codeTree ?? '',
          title: title(context),
        }),
        onDone: {
          target: 'pushing',
          actions: { type: 'keepRecord', params: ({ event }) => ({ output: event.output }) },
        },
        onError: failedAt('publishing'),
      },
    },
    pushing: pushingState('choosing', failedAt('publishing')),
    choosing: choosingState('merging', '#research.completed'),
    pushingBeside: pushingState('choosing', failedAt('publishing'), { id: 'pushBeside', beside: true }),
    merging: mergingState({
      title,
      done: '#research.completed',
      again: 'integrating',
      onError: failedAt('publishing'),
    }),
  },
});
