/** The second phase: in each round architects propose, researchers look into new claims, and critics examine the plan. */
import { headerOf } from '../parts/run-context.ts';
import { faultsOfDrafts, faultsOfReviews, planSetup } from './rounds.ts';
import { failedAt, planInput, round, SEATS } from './setup.ts';
import type { PlanContext } from './types.ts';

type Has = { readonly context: PlanContext };

const pausing = round.pausing('#research-and-plan.paused', 'planning');

const askArchitects = { type: 'ask', params: { kind: 'architect', count: SEATS } } as const;
const askCritics = { type: 'ask', params: { kind: 'critic', count: SEATS } } as const;

const hasFaults = (faults: object): boolean => Object.keys(faults).length > 0;

export const planning = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'planning' },
  initial: 'beginning',
  states: {
    beginning: { always: { target: 'drafting', actions: ['beginRound', askArchitects] } },
    drafting: {
      entry: 'startAgents',
      always: [pausing, { guard: round.isOver, target: 'judgingDrafts' }],
    },
    judgingDrafts: {
      always: [
        {
          guard: ({ context }) => !context.correcting && hasFaults(faultsOfDrafts(context)),
          target: 'drafting',
          actions: [
            { type: 'keepFaults', params: ({ context }: Has) => ({ faults: faultsOfDrafts(context) }) },
            {
              type: 'askAgain',
              params: ({ context }: Has) => ({ agents: Object.keys(faultsOfDrafts(context)) }),
            },
          ],
        },
        { target: 'choosingClaims', actions: 'takeDrafts' },
      ],
    },
    choosingClaims: {
      always: [
        {
          guard: ({ context }) => context.claims.length > 0,
          target: 'verifying',
          actions: {
            type: 'ask',
            params: ({ context }: Has) => ({ kind: 'researcher' as const, count: context.claims.length }),
          },
        },
        { target: 'criticising', actions: askCritics },
      ],
    },
    verifying: {
      entry: 'startAgents',
      always: [pausing, { guard: round.isOver, target: 'lookingUp' }],
    },
    lookingUp: {
      invoke: {
        id: 'checkFindings',
        src: 'checkFindings',
        input: ({ context }) => ({
          ...headerOf(context),
          baseCommit: context.baseCommit,
          round: context.round,
          reports: context.reports,
          researchRun: context.researchRun,
        }),
        onDone: {
          target: 'judgingClaims',
          actions: { type: 'keepChecked', params: ({ event }) => ({ checked: event.output }) },
        },
        onError: failedAt('planning'),
      },
    },
    judgingClaims: {
      always: [
        {
          guard: ({ context }) => !context.correcting && (context.checked?.leftOut.length ?? 0) > 0,
          target: 'verifying',
          actions: [
            'keepLeftOut',
            {
              type: 'askAgain',
              params: ({ context }: Has) => ({
                agents: [...new Set(context.checked?.leftOut.map(({ agent }) => agent))],
              }),
            },
          ],
        },
        { target: 'criticising', actions: ['keepFindings', askCritics] },
      ],
    },
    criticising: {
      entry: 'startAgents',
      always: [pausing, { guard: round.isOver, target: 'judgingReviews' }],
    },
    judgingReviews: {
      always: [
        {
          guard: ({ context }) => !context.correcting && hasFaults(faultsOfReviews(context)),
          target: 'criticising',
          actions: [
            { type: 'keepFaults', params: ({ context }: Has) => ({ faults: faultsOfReviews(context) }) },
            {
              type: 'askAgain',
              params: ({ context }: Has) => ({ agents: Object.keys(faultsOfReviews(context)) }),
            },
          ],
        },
        { target: 'committing', actions: ['takeReviews', 'endRound'] },
      ],
    },
    committing: {
      invoke: {
        id: 'commitPlan',
        src: 'commitPlan',
        input: ({ context }) => planInput(context, 'in_progress'),
        onDone: {
          target: 'deciding',
          actions: { type: 'keepPlanFile', params: ({ event }) => ({ written: event.output }) },
        },
        onError: failedAt('planning'),
      },
    },
    deciding: {
      always: [
        { guard: ({ context }) => context.ends?.why === 'stable', target: '#research-and-plan.active.compiling' },
        { guard: ({ context }) => context.ends !== null, target: '#research-and-plan.active.awaitingBlockers' },
        { target: 'beginning' },
      ],
    },
  },
});
