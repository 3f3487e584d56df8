/**
 * A run that researches and plans: a child run writes a report with findings of which every passage was looked up, then architects and
 * critics work out a plan that rests on them. The planning ends when no blocker is open and the plan has stopped changing.
 */
import { documentWays } from '../parts/document-publishing.ts';
import { takenEverywhere } from '../parts/notes.ts';
import { pausedState } from '../parts/pausing.ts';
import { preparingState, projectRunContext } from '../parts/project-run.ts';
import { outcomeOf } from '../parts/pull-request.ts';
import { agentEnds } from '../parts/topics/rounds.ts';
import { topicFiles, topicSlug } from '../parts/topics/topic-files.ts';
import { planFiles } from './files.ts';
import { awaitingBlockers, awaitingResult, compiling, findingConcerns, publishing } from './finishing.ts';
import { blockersOf, openBlockersOf } from './issues.ts';
import type { ResearchAndPlanOutput } from './output.ts';
import { NO_PLAN } from './plan.ts';
import { planning } from './planning.ts';
import { researching } from './researching.ts';
import { planSetup } from './rounds.ts';
import { type AgentOutput, counted, failedAt } from './setup.ts';
import { type PlanContext, planInputSchema, type PlanRunInput } from './types.ts';

export const planMachine = planSetup.createMachine({
  id: 'research-and-plan',
  initial: 'active',
  context: ({ input }) => initialContext(input),
  output: ({ context }) => outputOf(context),
  on: { ...takenEverywhere('.cancelled'), ...agentEnds<AgentOutput>() },
  states: {
    active: {
      initial: 'preparing',
      states: {
        preparing: preparingState('researching', 'preparation', failedAt),
        researching,
        planning,
        awaitingBlockers,
        compiling,
        findingConcerns,
        awaitingResult,
        publishing,
        last: { type: 'history', history: 'deep' },
      },
    },
    paused: planSetup.createStateConfig(
      pausedState(
        '#research-and-plan.active.last',
        documentWays({
          resumeAt: '#research-and-plan.active.last',
          done: '#research-and-plan.completed',
          recording: '#research-and-plan.active.publishing.recording',
          pushingBeside: '#research-and-plan.active.publishing.pushingBeside',
        }),
      ),
    ),
    completed: {
      type: 'final',
      meta: {
        status: 'completed',
        message: (context) =>
          `The plan for '${context.input.topic}' has ${counted(context.plan.tasks.length, 'task')}${openWords(context)}. ${outcomeOf(context)}`,
      },
    },
    /** A person stopped the planning in spite of its open blockers; report and plan are on the branch. */
    stopped: {
      type: 'final',
      meta: {
        status: 'failed',
        message: (context) =>
          `The planning was stopped after ${counted(context.rounds.length, 'round')}${openWords(context)}: ${context.failure ?? ''}`,
      },
    },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

function openWords({ issues }: PlanContext): string {
  const open = blockersOf(issues).map(({ id }) => id);
  return open.length === 0 ? '' : ` and ${counted(open.length, 'open blocker')} (${open.join(', ')})`;
}

function outputOf({ input, slug, takenAnyway, ends, issues }: PlanContext): ResearchAndPlanOutput {
  const report = topicFiles(slug);
  const plan = planFiles(slug);
  return {
    topic: input.topic,
    directory: report.folder,
    report: report.tex,
    plan: plan.tex,
    planData: plan.data,
    converged: ends?.why === 'stable' && !takenAnyway,
    openBlockers: openBlockersOf(issues),
  };
}

function initialContext(input: PlanRunInput): PlanContext {
  const values = planInputSchema.parse(input.input ?? {});
  return {
    ...projectRunContext(input, values),
    calls: {},
    slug: topicSlug(values.topic),
    researchRun: '',
    findings: 0,
    plan: NO_PLAN,
    round: 0,
    rounds: [],
    countedFrom: 0,
    agents: null,
    correcting: false,
    sentBack: {},
    drafts: {},
    reviews: {},
    claims: [],
    reports: [],
    checked: null,
    leftOut: {},
    unproven: [],
    issues: [],
    raised: 0,
    refused: [],
    ends: null,
    takenAnyway: false,
    versions: 0,
    planHash: null,
    scripted: false,
    compiled: null,
  };
}
