/** Types and signals of the machine, and the actions on the agents of a round. */
import type { ActivityError } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import { type ChildRequest, childRun } from '../../core/child-runs.ts';
import type { StateMeta } from '../../core/definition.ts';
import { callActions } from '../parts/costs.ts';
import { declared } from '../parts/declared-activities.ts';
import { failed, fanOut, startable, started, succeeded, verdictOf } from '../parts/fan-out.ts';
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
import { sourceFact } from '../parts/source-facts.ts';
import type { PlanFact } from './events.ts';
import type { AgentKind, NewClaim, PlanActivities, PlanContext, PlanRunInput } from './types.ts';

/** Signals that a run of this workflow accepts. */
export const planSignals = { ...projectRunSignals, ...decisionsOf('APPROVAL_REJECTED', 'FIX_DECIDED') };

type Output<Name extends keyof PlanActivities> = PlanActivities[Name]['output'];

type AgentOutput = Output<'draft'> | Output<'criticise'> | Output<'research'>;

/** The ends of the agents of a round, which are spawned and belong to no state. */
type AgentEnd =
  | { readonly type: `xstate.done.actor.${AgentKind}-${string}`; readonly output: AgentOutput }
  | { readonly type: `xstate.error.actor.${AgentKind}-${string}`; readonly error: unknown };

type PlanEvent = Extract<DecisionSignal, { type: keyof typeof planSignals }> | Forked | AgentEnd;

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
  },
});

export const failedAt = pausesAt('#research-and-plan.paused');

/** The engine gives every failed activity an error of this shape. */
const reasonOf = (error: unknown): ActivityError['reason'] => (error as ActivityError).reason;
const messageOf = (error: unknown): string => (error as ActivityError).message;

export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

/** Architects of a round, and critics of a round. */
export const SEATS = 2;

const ROLES = { architect: 'plan-architect', critic: 'plan-critic', researcher: 'researcher' } as const;

export const agentIds = (kind: AgentKind, round: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${kind}-${round}-${index + 1}`);

const AGENT_ID = /^(architect|critic|researcher)-\d{1,9}-(\d{1,9})(-again)?$/;
const CORRECTION = '-again';

/** The parts of an agent's id; `null` for any other actor. */
export function agentOf(
  id: string,
): { readonly kind: AgentKind; readonly seat: number; readonly agent: string } | null {
  const [, kind, seat, again] = AGENT_ID.exec(id) ?? [];
  if (kind === undefined) return null;
  // The expression allows these kinds alone.
  return {
    kind: kind as AgentKind,
    seat: Number(seat),
    agent: again === undefined ? id : id.slice(0, -CORRECTION.length),
  };
}

/** The actor that an event of its end names. */
export const endedActor = (type: string): string => type.slice(type.indexOf('.actor.') + '.actor.'.length);

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

/** Failures of the agents at work that a person has to deal with. */
function blockingFailures({ agents, correcting }: Pick<PlanContext, 'agents' | 'correcting'>) {
  const outcomes = Object.entries(agents?.outcomes ?? {});
  const failures = outcomes.flatMap(([id, outcome]) => (outcome.ok ? [] : [{ id, error: outcome.error }]));
  // A missing key or a used-up budget needs a person.
  const blocking = failures.filter(({ error }) => reasonOf(error) !== 'agent_failed');
  if (blocking.length > 0) return blocking;
  // Claims for which nothing is found are an outcome. Without a proposal or a review there is nothing to go on with.
  const isOptional = correcting || failures.some(({ id }) => agentOf(id)?.kind === 'researcher');
  return !isOptional && failures.length > 0 && failures.length === outcomes.length ? failures : [];
}

type Has = { readonly context: PlanContext };

export const isOver = ({ context }: Has): boolean => context.agents !== null && verdictOf(context.agents) !== 'running';

/** Pauses with the first failure that a person has to deal with. */
export const pausing = {
  guard: ({ context }: Has): boolean => isOver({ context }) && blockingFailures(context).length > 0,
  target: '#research-and-plan.paused',
  actions: [
    {
      type: 'rememberFailure',
      params: ({ context }: Has) => ({ stage: 'planning', error: blockingFailures(context)[0]?.error }),
    },
    'askAgainLater',
  ],
} as const;

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

export const agentSetup = withParts.extend({
  guards: {
    namesThePlan: approves(shownPlan),
  },
  actions: {
    /** Agents of one kind begin to work. */
    ask: assign(({ context }, { kind, count }: { kind: AgentKind; count: number }) => {
      const ids = agentIds(kind, context.round, count);
      return { agents: fanOut(ids, Math.max(1, ids.length), 'collect'), correcting: false, sentBack: {} };
    }),
    /** Agents get back what was not taken of their results, once. They start in the order of their seats, whichever ended first. */
    askAgain: assign((_, { agents }: { agents: readonly string[] }) => ({
      agents: fanOut(
        [...agents].sort().map((agent) => `${agent}${CORRECTION}`),
        Math.max(1, agents.length),
        'collect',
      ),
      correcting: true,
    })),
    startAgents: enqueueActions(({ enqueue, context }) => {
      if (context.agents === null) return;
      const ids = startable(context.agents);
      const calls: Record<string, number> = { ...context.calls };
      for (const id of ids) {
        const known = agentOf(id);
        if (known === null) continue;
        const { kind, seat, agent } = known;
        const isCorrection = agent !== id;
        const faults = context.sentBack[agent] ?? [];
        const now = { ...context, calls };
        if (kind === 'researcher') {
          const report = context.reports.find((each) => each.agent === agent);
          enqueue.spawnChild('research', {
            id,
            input: {
              ...agentInput(now, kind),
              agent,
              direction: { kind: 'web', question: claimOf(context, seat).question },
              ...(isCorrection && report !== undefined
                ? { correction: { report, leftOut: context.leftOut[agent] ?? [] } }
                : {}),
            },
          });
        } else if (kind === 'architect') {
          const draft = context.drafts[agent];
          enqueue.spawnChild('draft', {
            id,
            input: {
              ...planningInput(now, kind),
              agent,
              seat,
              ...(isCorrection && draft !== undefined ? { correction: { draft, faults } } : {}),
            },
          });
        } else {
          const review = context.reviews[agent];
          enqueue.spawnChild('criticise', {
            id,
            input: {
              ...planningInput(now, kind),
              agent,
              seat,
              ...(isCorrection && review !== undefined ? { correction: { review, faults } } : {}),
            },
          });
        }
        calls[ROLES[kind]] = (calls[ROLES[kind]] ?? 0) + 1;
      }
      enqueue.assign({ agents: started(context.agents, ids), calls });
    }),
    /** One agent has ended. */
    keepResult: enqueueActions(({ enqueue, context }, { id, output }: { id: string; output: AgentOutput }) => {
      if (context.agents?.running.includes(id) !== true) return;
      enqueue.assign({ ...withResult(context, output), agents: succeeded(context.agents, id, null) });
      enqueue.stopChild(id);
      enqueue.emit({ type: 'COST_RECORDED', ...output.cost });
      if (!('report' in output)) return;
      const { agent, fetched } = output.report;
      for (const source of fetched) enqueue.emit(sourceFact(context.round, agent, source));
    }),
    keepAgentFailure: enqueueActions(({ enqueue, context }, { id, error }: { id: string; error: unknown }) => {
      if (context.agents?.running.includes(id) !== true) return;
      enqueue.assign({ agents: failed(context.agents, id, error as never) }); // an ActivityError is JSON
      enqueue.stopChild(id);
      const agent = agentOf(id)?.agent ?? id;
      enqueue.emit({ type: 'AGENT_FAILED', round: context.round, agent, reason: messageOf(error) });
    }),
    /** A person has to look first; those agents are asked again afterwards. */
    askAgainLater: assign(({ context }) => {
      const ids = new Set(blockingFailures(context).map(({ id }) => id));
      const { agents } = context;
      if (agents === null) return {};
      const outcomes = Object.fromEntries(Object.entries(agents.outcomes).filter(([id]) => !ids.has(id)));
      return { agents: { ...agents, outcomes } };
    }),
    reportValidation: emit(({ context }) => ({
      type: 'VALIDATION_PASSED',
      codeTree: context.codeTree ?? '',
      summary:
        'The server has looked up every passage of the report and every finding that the plan names; no code was changed.',
    })),
  },
});
