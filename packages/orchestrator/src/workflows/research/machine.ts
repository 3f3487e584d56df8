/**
 * A research run: in each round agents search and read, the server checks what they bring back, and the synthesiser works it into the
 * report and says what is to be asked next. The research ends when the rounds bring little that is new.
 */
import { assign, enqueueActions } from 'xstate';
import { callEnded } from '../parts/costs.ts';
import { documentWays } from '../parts/document-publishing.ts';
import { takenEverywhere } from '../parts/notes.ts';
import { pausedState } from '../parts/pausing.ts';
import { preparingState, projectRunContext } from '../parts/project-run.ts';
import { outcomeOf } from '../parts/pull-request.ts';
import { headerOf } from '../parts/run-context.ts';
import { agentEnds, isOfAgent } from '../parts/topics/rounds.ts';
import { awaitingResult, compiling, findingConcerns, publishing, repairing } from './finishing.ts';
import { directionsOf, NO_TEXTS } from './report/report-texts.ts';
import { agentInput, counted, failedAt, messageOf, reasonOf, reportInput, researchSetup, round } from './setup.ts';
import { type ResearchActivities, type ResearchContext, researchInputSchema, type ResearchRunInput } from './types.ts';

/** Looks what there is to work with: files of the project, and a search. */
const reading = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'preparation' },
  invoke: {
    id: 'readTopic',
    src: 'readTopic',
    input: ({ context }) => ({
      ...headerOf(context),
      baseCommit: context.baseCommit,
      topic: context.input.topic,
      researchers: context.input.researchers,
    }),
    onDone: {
      target: 'synthesising',
      actions: enqueueActions(({ enqueue, event }) => {
        const { slug, hasCode, canSearch } = event.output;
        enqueue.assign({ slug, hasCode });
        if (!canSearch)
          enqueue.emit({
            type: 'NOTICE',
            message:
              'No search is configured: researchers read only addresses that the request names or that they know. Set EXA_API_KEY or BRAVE_API_KEY of the server, or give the researcher a search of an MCP server.',
          });
      }),
    },
    onError: failedAt('preparation'),
  },
});

const pausing = round.pausing('#research.paused', 'researching');

/** The agents of the round work at the same time, each on a question of its own. */
const researching = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'researching' },
  entry: 'startAgents',
  always: [pausing, { guard: round.isOver, target: 'checking' }],
});

/** The passages that were not found go back to those who reported them. */
const correcting = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'researching' },
  entry: 'startAgents',
  always: [pausing, { guard: round.isOver, target: 'checking' }],
});

/** The server looks up each passage, and compares the findings with those that are known. */
const checking = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'researching' },
  initial: 'comparing',
  states: {
    comparing: {
      invoke: {
        id: 'checkFindings',
        src: 'checkFindings',
        input: ({ context }) => ({
          ...headerOf(context),
          baseCommit: context.baseCommit,
          round: context.round,
          reports: context.reports,
        }),
        onDone: {
          target: 'deciding',
          actions: { type: 'keepChecked', params: ({ event }) => ({ checked: event.output }) },
        },
        onError: failedAt('researching'),
      },
    },
    deciding: {
      always: [
        {
          guard: ({ context }) => !context.correcting && (context.checked?.leftOut.length ?? 0) > 0,
          target: '#research.active.correcting',
          actions: 'sendBack',
        },
        { guard: ({ context }) => (context.checked?.doubts.length ?? 0) > 0, target: 'judging' },
        { target: '#research.active.synthesising', actions: 'endRound' },
      ],
    },
    judging: {
      invoke: {
        id: 'novelty-judge',
        src: 'judge',
        input: ({ context }) => ({
          ...agentInput(context, 'novelty-judge'),
          doubts: context.checked?.doubts ?? [],
        }),
        onDone: {
          target: 'deciding',
          actions: [
            ...callEnded('novelty-judge'),
            {
              type: 'keepVerdicts',
              params: ({ event }) => ({ isNew: event.output.isNew, why: event.output.why }),
            },
          ],
        },
        onError: [
          {
            // Better a finding that is there twice than one that is missing.
            guard: ({ event }) => isOfAgent(event.error) || reasonOf(event.error) === 'model_unavailable',
            target: 'deciding',
            actions: {
              type: 'keepVerdicts',
              params: ({ context, event }) => ({
                isNew: [],
                why: (context.checked?.doubts ?? []).map(
                  () => `No judge was to be had, so that it counts as new: ${messageOf(event.error)}`,
                ),
              }),
            },
          },
          failedAt('researching'),
        ],
      },
    },
  },
});

/** The texts of the report, and the questions of the next round. */
const synthesising = researchSetup.createStateConfig({
  meta: { status: 'running', stage: 'synthesising' },
  initial: 'writing',
  states: {
    writing: {
      invoke: {
        id: 'synthesiser',
        src: 'synthesise',
        input: ({ context }) => ({
          ...agentInput(context, 'synthesiser'),
          round: context.round,
          wanted: {
            web: context.ends === null ? context.input.researchers : 0,
            repository: context.ends === null && context.hasCode ? context.input.analysts : 0,
          },
          texts: context.texts,
          fresh: context.fresh,
          summaries: context.reports.map(({ summary }) => summary),
          contradictions: context.reports.flatMap(({ contradictions }) => contradictions),
          followUps: context.reports.flatMap(({ followUps }) => followUps),
          unsupported: context.unsupported,
        }),
        onDone: {
          target: 'committing',
          actions: [
            ...callEnded('synthesiser'),
            {
              type: 'keepTexts',
              params: ({ context, event }) => ({
                update: event.output.update,
                unsupported: event.output.unsupported,
                directions: directionsOf(context, event.output.update.directions),
              }),
            },
            assign({ scripted: ({ event }) => event.output.cost.scripted }),
          ],
        },
        onError: failedAt('synthesising'),
      },
    },
    committing: {
      invoke: {
        id: 'commitReport',
        src: 'commitReport',
        input: ({ context }) => reportInput(context, 'in_progress'),
        onDone: {
          target: 'deciding',
          actions: { type: 'keepReportFile', params: ({ event }) => ({ written: event.output }) },
        },
        onError: failedAt('synthesising'),
      },
    },
    deciding: {
      always: [
        { guard: ({ context }) => context.ends !== null, target: '#research.active.compiling' },
        { target: '#research.active.researching', actions: 'beginRound' },
      ],
    },
  },
});

export const researchMachine = researchSetup.createMachine({
  id: 'research',
  initial: 'active',
  context: ({ input }) => initialContext(input),
  on: { ...takenEverywhere('.cancelled'), ...agentEnds<ResearchActivities['research']['output']>() },
  states: {
    active: {
      initial: 'preparing',
      states: {
        preparing: preparingState('reading', 'preparation', failedAt),
        reading,
        researching,
        correcting,
        checking,
        synthesising,
        compiling,
        repairing,
        findingConcerns,
        awaitingResult,
        publishing,
        last: { type: 'history', history: 'deep' },
      },
    },
    paused: researchSetup.createStateConfig(
      pausedState(
        '#research.active.last',
        documentWays({
          resumeAt: '#research.active.last',
          done: '#research.completed',
          recording: '#research.active.publishing.recording',
          pushingBeside: '#research.active.publishing.pushingBeside',
        }),
      ),
    ),
    completed: {
      type: 'final',
      meta: {
        status: 'completed',
        message: (context) =>
          `The report on '${context.input.topic}' has ${counted(context.findings, 'finding')} of ${counted(context.rounds.length, 'round')}. ${outcomeOf(context)}`,
      },
    },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

function initialContext(input: ResearchRunInput): ResearchContext {
  const values = researchInputSchema.parse(input.input ?? {});
  return {
    ...projectRunContext(input, values),
    calls: {},
    slug: '',
    hasCode: false,
    round: 0,
    rounds: [],
    countedFrom: 0,
    directions: [],
    agents: null,
    correcting: false,
    sentBack: {},
    reports: [],
    checked: null,
    fresh: [],
    findings: 0,
    sources: 0,
    texts: NO_TEXTS,
    unsupported: [],
    ends: null,
    repairs: 0,
    versions: 0,
    reportHash: null,
    scripted: false,
    compiled: null,
  };
}
