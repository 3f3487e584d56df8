/** Types and signals of the machine, and the actions on the agents of a round. */
import { assign, emit, setup } from 'xstate';
import { type ChildRequest, childRun } from '../../core/child-runs.ts';
import type { StateMeta } from '../../core/definition.ts';
import { callActions } from '../parts/costs.ts';
import { declared } from '../parts/declared-activities.ts';
import { approves, type Shown } from '../parts/gate.ts';
import { pausesAt } from '../parts/pausing.ts';
import {
  PROJECT_RUN,
  projectRunActions,
  projectRunDelays,
  projectRunGuards,
  projectRunSignals,
} from '../parts/project-run.ts';
import { headerOf } from '../parts/run-context.ts';
import { type DecisionSignal, decisionsOf, type Forked, type RunFact } from '../parts/signals.ts';
import { type AgentCall, agentIn, asked, askedAgain, roundOf } from '../parts/topics/rounds.ts';
import { sourceFact } from '../parts/topics/source-facts.ts';
import type { PlanFact } from './events.ts';
import type { AgentKind, NewClaim, PlanActivities, PlanContext, PlanRunInput } from './types.ts';

/** Signals that a run of this workflow accepts. */
export const planSignals = { ...projectRunSignals, ...decisionsOf('APPROVAL_REJECTED', 'FIX_DECIDED') };

type Output<Name extends keyof PlanActivities> = PlanActivities[Name]['output'];

export type AgentOutput = Output<'draft'> | Output<'criticise'> | Output<'research'>;

/** The ends of the agents of a round, which are spawned and belong to no state. */
type AgentEnd =
  | { readonly type: `xstate.done.actor.${AgentKind}-${string}`; readonly output: AgentOutput }
  | { readonly type: `xstate.error.actor.${AgentKind}-${string}`; readonly error: unknown };

type PlanEvent = Extract<DecisionSignal, { type: keyof typeof planSignals }> | Forked | AgentEnd;

export const failedAt = pausesAt('#research-and-plan.paused');

export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

/** Architects of a round, and critics of a round. */
export const SEATS = 2;

const ROLES = { architect: 'plan-architect', critic: 'plan-critic', researcher: 'researcher' } as const;

export const agentIds = (kind: AgentKind, round: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${kind}-${round}-${index + 1}`);

const AGENT_ID = /^(architect|critic|researcher)-\d{1,9}-(\d{1,9})$/;

/** The parts of an agent's id; `null` for any other one. */
export function agentOf(agent: string): { readonly kind: AgentKind; readonly seat: number } | null {
  const [, kind, seat] = AGENT_ID.exec(agentIn(agent)) ?? [];
  // The expression allows these kinds alone.
  return kind === undefined ? null : { kind: kind as AgentKind, seat: Number(seat) };
}

/** Input that every agent that reads the project gets. */
function agentInput(context: PlanContext, kind: AgentKind) {
  return {
    ...headerOf(context),
    config: context.config,
    head: context.head,
    baseCommit: context.baseCommit,
    excludePaths: context.excludePaths,
    notes: context.notes,
    call: (context.calls[ROLES[kind]] ?? 0) + 1,
    topic: context.input.topic,
    round: context.round,
  };
}

function planningInput(context: PlanContext, kind: AgentKind) {
  const { slug, researchRun, plan, issues, refused, unproven } = context;
  return { ...agentInput(context, kind), slug, researchRun, plan, issues, refused, unproven };
}

export const shownPlan = ({ planHash, concerns }: PlanContext): Shown => ({ artifactHash: planHash, concerns });

/** Input of the activities that write the plan. */
export function planInput(context: PlanContext, status: 'in_progress' | 'completed') {
  const { input, slug, researchRun, plan, round, issues, raised, head } = context;
  return {
    ...headerOf(context),
    head,
    topic: input.topic,
    slug,
    researchRun,
    plan,
    round,
    issues,
    resolved: raised - issues.length,
    status,
  };
}

const claimOf = (context: PlanContext, seat: number): NewClaim =>
  context.claims[seat - 1] ?? { claim: '', question: context.request };

/** What an agent brought, in its place. */
function withResult({ drafts, reviews, reports }: PlanContext, output: AgentOutput): Partial<PlanContext> {
  if ('draft' in output) return { drafts: { ...drafts, [output.agent]: output.draft }, scripted: output.cost.scripted };
  if ('review' in output) return { reviews: { ...reviews, [output.agent]: output.review } };
  const { report } = output;
  const before = reports.find(({ agent }) => agent === report.agent);
  const merged = before === undefined ? report : { ...report, fetched: [...before.fetched, ...report.fetched] };
  // In the order of the claims, whichever agent ended first.
  const all = [...reports.filter((each) => each !== before), merged];
  return { reports: all.sort((one, other) => (one.agent < other.agent ? -1 : 1)) };
}

/** The call of an agent of the round, from its seat. */
function callOf(context: PlanContext, agent: string, isCorrection: boolean): AgentCall | null {
  const known = agentOf(agent);
  if (known === null) return null;
  const { kind, seat } = known;
  const { reports, drafts, reviews, leftOut, sentBack } = context;
  const role = ROLES[kind];
  const corrected = (correction: object) => (isCorrection ? { correction } : {});
  if (kind === 'researcher') {
    const report = reports.find((each) => each.agent === agent);
    const direction = { kind: 'web', question: claimOf(context, seat).question };
    const again = report === undefined ? {} : corrected({ report, leftOut: leftOut[agent] ?? [] });
    return { src: 'research', role, input: { ...agentInput(context, kind), agent, direction, ...again } };
  }
  const faults = sentBack[agent] ?? [];
  const input = { ...planningInput(context, kind), agent, seat };
  if (kind === 'architect') {
    const draft = drafts[agent];
    return { src: 'draft', role, input: { ...input, ...(draft === undefined ? {} : corrected({ draft, faults })) } };
  }
  const review = reviews[agent];
  return {
    src: 'criticise',
    role,
    input: { ...input, ...(review === undefined ? {} : corrected({ review, faults })) },
  };
}

export const round = roundOf<PlanContext, PlanEvent, AgentOutput, RunFact | PlanFact>({
  call: callOf,
  kept: (context, output) => ({
    change: withResult(context, output),
    facts:
      'report' in output
        ? output.report.fetched.map((source) => sourceFact(context.round, output.report.agent, source))
        : [],
  }),
  // Claims for which nothing is found are an outcome. Without a proposal or a review there is nothing to go on with.
  mayComeToNothing: (agents) => agents.some((agent) => agentOf(agent)?.kind === 'researcher'),
});

const withParts = setup({
  types: {
    context: {} as PlanContext,
    input: {} as PlanRunInput,
    events: {} as PlanEvent,
    emitted: {} as RunFact | PlanFact,
    meta: {} as StateMeta<PlanContext>,
  },
  actors: {
    ...declared<PlanActivities>()(
      ...PROJECT_RUN,
      'mergeChild',
      'readResearch',
      'draft',
      'criticise',
      'research',
      'checkFindings',
      'commitPlan',
      'compile',
    ),
    researchRun: childRun<ChildRequest>('research'),
  },
  delays: projectRunDelays,
  guards: projectRunGuards,
  actions: {
    ...projectRunActions<PlanContext, PlanEvent>(),
    ...callActions<PlanContext, PlanEvent>(),
    ...round.actions,
  },
});

export const agentSetup = withParts.extend({
  guards: {
    namesThePlan: approves(shownPlan),
  },
  actions: {
    /** Agents of one kind begin to work. */
    ask: assign(({ context }, { kind, count }: { kind: AgentKind; count: number }) => {
      return asked(agentIds(kind, context.round, count));
    }),
    /** Agents get back what was not taken of their results, once. They start in the order of their seats, whichever ended first. */
    askAgain: assign((_, { agents }: { agents: readonly string[] }) => askedAgain([...agents].sort())),
    reportValidation: emit(({ context }) => ({
      type: 'VALIDATION_PASSED',
      codeTree: context.codeTree ?? '',
      summary:
        'The server has looked up every passage of the report and every finding that the plan names; no code was changed.',
    })),
  },
});
