/** Types, signals and actions of the machine, and what its fragments read of the context. */
import type { ActivityError } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { Cost } from '../../activities/types.ts';
import type { StateMeta } from '../../core/definition.ts';
import { callActions } from '../parts/costs.ts';
import { declared } from '../parts/declared-activities.ts';
import { failed, fanOut, startable, started, succeeded } from '../parts/fan-out.ts';
import { approves, type Shown } from '../parts/gate.ts';
import { keptOf } from '../parts/new-findings.ts';
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
import { judgedRound } from './checked-round.ts';
import type { ResearchFact } from './events.ts';
import { updated } from './report/report-texts.ts';
import { researchTransition } from '../parts/transition.ts';
import type {
  AgentReport,
  CheckedRound,
  Direction,
  Finding,
  LeftOut,
  ReportUpdate,
  ResearchActivities,
  ResearchContext,
  ResearchEnd,
  ResearchRole,
  ResearchRunInput,
  RoundSummary,
  WrittenReport,
} from './types.ts';

/** Signals that a research run accepts. */
export const researchSignals = { ...projectRunSignals, ...decisionsOf('APPROVAL_REJECTED') };

type Output<Name extends keyof ResearchActivities> = ResearchActivities[Name]['output'];

/** The ends of the agents of a round, which are spawned and belong to no state. */
type AgentEnd =
  | { readonly type: `xstate.done.actor.agent-${string}`; readonly output: Output<'research'> }
  | { readonly type: `xstate.error.actor.agent-${string}`; readonly error: unknown };

type ResearchEvent = Extract<DecisionSignal, { type: keyof typeof researchSignals }> | Forked | AgentEnd;

const withParts = setup({
  types: {
    context: {} as ResearchContext,
    input: {} as ResearchRunInput,
    events: {} as ResearchEvent,
    emitted: {} as RunFact | ResearchFact,
    meta: {} as StateMeta<ResearchContext>,
  },
  actors: {
    ...declared<ResearchActivities>()(
      ...PROJECT_RUN,
      'readTopic',
      'research',
      'checkFindings',
      'judge',
      'synthesise',
      'commitReport',
      'compile',
      'repair',
    ),
  },
  delays: projectRunDelays,
  guards: projectRunGuards,
  actions: {
    ...projectRunActions<ResearchContext, ResearchEvent>(),
    ...callActions<ResearchContext, ResearchEvent>(),
  },
});

export const failedAt = pausesAt('#research.paused');

/** The engine gives every failed activity an error of this shape. */
export const reasonOf = (error: unknown): ActivityError['reason'] => (error as ActivityError).reason;
export const messageOf = (error: unknown): string => (error as ActivityError).message;

export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

/** An agent that came to nothing leaves its question open; a missing key or a used-up budget needs a person. */
export const isOfAgent = (error: unknown): boolean => reasonOf(error) === 'agent_failed';

/** Id of the actor that is an agent of a round. */
export const agentId = (round: number, kind: Direction['kind'], number: number): string =>
  `agent-${round}-${kind === 'web' ? 'researcher' : 'analyst'}-${number}`;

const CORRECTION = '-again';
const firstIdOf = (id: string): string => (id.endsWith(CORRECTION) ? id.slice(0, -CORRECTION.length) : id);

/** Ids of the agents of a round with the question of each. */
export function agentsOf({ round, directions }: Pick<ResearchContext, 'round' | 'directions'>) {
  const counts = { web: 0, repository: 0 };
  return directions.map((direction) => ({ id: agentId(round, direction.kind, ++counts[direction.kind]), direction }));
}

/** Reports in the order of the round's questions, whichever agent ended first. */
function inOrder(context: ResearchContext, reports: readonly AgentReport[]): readonly AgentReport[] {
  return agentsOf(context).flatMap(({ id }) => reports.filter(({ agent }) => agent === id));
}

const roleOf = ({ kind }: Direction): ResearchRole => (kind === 'web' ? 'researcher' : 'repo-analyst');

/** Input that every agent of this workflow gets. */
export function agentInput(context: ResearchContext, role: ResearchRole) {
  return {
    ...headerOf(context),
    config: context.config,
    head: context.head === '' ? context.baseCommit : context.head,
    baseCommit: context.baseCommit,
    excludePaths: context.excludePaths,
    notes: context.notes,
    call: (context.calls[role] ?? 0) + 1,
    topic: context.input.topic,
  };
}

/** Failures of this round's agents that a person has to deal with. */
export function blockingFailures({ agents, correcting }: Pick<ResearchContext, 'agents' | 'correcting'>) {
  const outcomes = Object.entries(agents?.outcomes ?? {});
  const failures = outcomes.flatMap(([id, outcome]) => (outcome.ok ? [] : [{ id, error: outcome.error }]));
  const blocking = failures.filter(({ error }) => !isOfAgent(error));
  if (blocking.length > 0) return blocking;
  // None of them came to anything, and there is nothing to go on with.
  return !correcting && failures.length > 0 && failures.length === outcomes.length ? failures : [];
}

export const shownResult = ({ reportHash, concerns }: ResearchContext): Shown => ({
  artifactHash: reportHash,
  concerns,
});

/** Input of the activity that writes the report. */
export function reportInput(context: ResearchContext, status: 'in_progress' | 'completed') {
  const { input, slug, round, rounds, texts, request } = context;
  return {
    ...headerOf(context),
    head: context.head === '' ? context.baseCommit : context.head,
    topic: input.topic,
    slug,
    prompt: request,
    round,
    rounds,
    texts,
    status,
    quietRounds: input.quietRounds,
  };
}

/** Why the research ends after these rounds; `null` where it goes on. */
function endAfter(
  rounds: readonly RoundSummary[],
  { input, countedFrom }: Pick<ResearchContext, 'input' | 'countedFrom'>,
): ResearchEnd | null {
  const verdict = researchTransition(
    rounds
      .slice(countedFrom)
      .map(({ kept: newFindings, agents, failed: without }) => ({ newFindings, failed: without === agents })),
    { threshold: input.newFindings, rounds: input.quietRounds, ceiling: input.maxRounds },
  );
  return verdict.kind === 'ends' ? { why: verdict.why, round: countedFrom + verdict.round } : null;
}

const EMPTY: CheckedRound = { sound: [], doubts: [], leftOut: [], known: 0 };

export const researchSetup = withParts.extend({
  guards: {
    namesTheResult: approves(shownResult),
  },
  actions: {
    /** Asks the agents of a new round. */
    beginRound: enqueueActions(({ enqueue, context }) => {
      const round = context.round + 1;
      const ids = agentsOf({ round, directions: context.directions }).map(({ id }) => id);
      enqueue.assign({
        round,
        agents: fanOut(ids, ids.length, 'collect'),
        correcting: false,
        sentBack: {},
        reports: [],
        checked: null,
        fresh: [],
      });
      enqueue.emit({
        type: 'ROUND_STARTED',
        round,
        questions: context.directions.map(({ question }) => question),
        agents: ids,
      });
    }),
    startAgents: enqueueActions(({ enqueue, context }) => {
      if (context.agents === null) return;
      const ids = startable(context.agents);
      const known = new Map(agentsOf(context).map(({ id, direction }) => [id, direction]));
      const calls: Record<string, number> = { ...context.calls };
      for (const id of ids) {
        const agent = firstIdOf(id);
        const direction = known.get(agent);
        if (direction === undefined) continue;
        const role = roleOf(direction);
        const report = context.reports.find((each) => each.agent === agent);
        enqueue.spawnChild('research', {
          id,
          input: {
            ...agentInput({ ...context, calls }, role),
            agent,
            direction,
            round: context.round,
            ...(agent === id || report === undefined
              ? {}
              : { correction: { report, leftOut: context.sentBack[agent] ?? [] } }),
          },
        });
        calls[role] = (calls[role] ?? 0) + 1;
      }
      enqueue.assign({ agents: started(context.agents, ids), calls });
    }),
    /** One agent of the round has ended. */
    keepReport: enqueueActions(
      ({ enqueue, context }, { id, report, cost }: { id: string; report: AgentReport; cost: Cost }) => {
        if (context.agents?.running.includes(id) !== true) return;
        const { round } = context;
        const before = context.reports.find(({ agent }) => agent === report.agent);
        const merged = before === undefined ? report : { ...report, fetched: [...before.fetched, ...report.fetched] };
        enqueue.assign({
          agents: succeeded(context.agents, id, null),
          reports: inOrder(context, [...context.reports.filter(({ agent }) => agent !== report.agent), merged]),
          sources: context.sources + report.fetched.filter(({ hash }) => hash !== null).length,
        });
        enqueue.stopChild(id);
        enqueue.emit({ type: 'COST_RECORDED', ...cost });
        for (const source of report.fetched) enqueue.emit(sourceFact(round, report.agent, source));
      },
    ),
    keepAgentFailure: enqueueActions(({ enqueue, context }, { id, error }: { id: string; error: unknown }) => {
      if (context.agents?.running.includes(id) !== true) return;
      enqueue.assign({ agents: failed(context.agents, id, error as never) }); // an ActivityError is JSON
      enqueue.stopChild(id);
      enqueue.emit({ type: 'AGENT_FAILED', round: context.round, agent: firstIdOf(id), reason: messageOf(error) });
    }),
    /** A person has to look first; those agents are asked again afterwards. */
    askAgainLater: assign(({ context }) => {
      const ids = new Set(blockingFailures(context).map(({ id }) => id));
      const { agents } = context;
      if (agents === null) return {};
      const outcomes = Object.fromEntries(Object.entries(agents.outcomes).filter(([id]) => !ids.has(id)));
      return { agents: { ...agents, outcomes } };
    }),
    keepChecked: assign((_, { checked }: { checked: CheckedRound }) => ({ checked })),
    /** The agents get the passages back that were not found, once. */
    sendBack: assign(({ context }) => {
      const leftOut = context.checked?.leftOut ?? [];
      const sentBack: Record<string, readonly LeftOut[]> = Object.fromEntries(
        [...Map.groupBy(leftOut, ({ agent }) => agent)].map(([agent, all]) => [agent, all]),
      );
      const ids = Object.keys(sentBack).map((agent) => `${agent}${CORRECTION}`);
      return { correcting: true, sentBack, agents: fanOut(ids, Math.max(1, ids.length), 'collect') };
    }),
    /** Keeps the judge's verdicts about findings that resemble known ones. Without a verdict a finding counts as new. */
    keepVerdicts: enqueueActions(
      ({ enqueue, context }, { isNew, why }: { isNew: readonly boolean[]; why: readonly string[] }) => {
        const checked = context.checked ?? EMPTY;
        for (const [index, doubt] of checked.doubts.entries())
          enqueue.emit({
            type: 'NOVELTY_JUDGED',
            round: context.round,
            claim: doubt.claim,
            known: /^F\d/.test(doubt.known) ? doubt.known : 'another finding of this round',
            isNew: isNew[index] ?? true,
            why: why[index] ?? 'The judge said nothing about it; it counts as new.',
          });
        enqueue.assign({ checked: judgedRound(checked, isNew) });
      },
    ),
    /** The round is over: its new findings get their ids. */
    endRound: enqueueActions(({ enqueue, context }) => {
      const { round, agents, reports, input } = context;
      const checked = context.checked ?? EMPTY;
      const { fresh: kept, repeated } = keptOf(checked.sound, context.findings);
      const fresh = kept.map(({ id, finding }): Finding => {
        const { claim, evidence, sources, confidence } = finding;
        return { id, claim, evidence, sources, confidence, round };
      });
      const finders = kept.map(({ finding }) => finding.agent);
      const failedAgents = context.directions.length - reports.length;
      const summary: RoundSummary = {
        round,
        agents: context.directions.length,
        failed: failedAgents,
        kept: fresh.length,
        known: checked.known,
        leftOut: checked.leftOut.length,
      };
      const rounds = [...context.rounds, summary];
      const ends = endAfter(rounds, context);
      if (agents === null) return;
      for (const [index, finding] of fresh.entries()) {
        const { id, claim, confidence, evidence, sources } = finding;
        const agent = finders[index] ?? '';
        enqueue.emit({ type: 'FINDING_KEPT', round, finding: id, agent, claim, confidence, evidence, sources });
      }
      for (const { id, finding } of repeated) {
        const { agent, evidence, sources } = finding;
        if (evidence.length === 0) continue;
        enqueue.emit({ type: 'FINDING_SUPPORTED', round, finding: id, agent, evidence, sources });
      }
      for (const left of checked.leftOut) enqueue.emit({ type: 'CITATION_LEFT_OUT', round, ...left });
      enqueue.emit({ type: 'ROUND_ENDED', ...summary });
      const total = ends === null ? context.countedFrom + input.maxRounds : rounds.length;
      enqueue.emit({ type: 'PROGRESS_CHANGED', total, done: rounds.length });
      if (ends !== null) enqueue.emit({ type: 'RESEARCH_ENDED', round, why: wordsFor(ends.why, input) });
      enqueue.assign({ fresh, rounds, ends, agents: null, findings: context.findings + fresh.length });
    }),
    /** The new texts of the report. */
    keepTexts: enqueueActions(
      (
        { enqueue, context },
        {
          update,
          unsupported,
          directions,
        }: {
          update: ReportUpdate;
          unsupported: readonly string[];
          directions: readonly Direction[];
        },
      ) => {
        const fresh = context.fresh.map(({ id }) => id);
        for (const sentence of unsupported) enqueue.emit({ type: 'SENTENCE_LEFT_OUT', round: context.round, sentence });
        enqueue.assign({
          texts: updated(context.texts, update, fresh),
          unsupported,
          directions,
          fresh: [],
          reports: [],
          checked: null,
        });
      },
    ),
    /** The report as it was committed. */
    keepReportFile: enqueueActions(
      ({ enqueue, context }, { written: { commit, artifactHash, path } }: { written: WrittenReport }) => {
        const version = context.versions + 1;
        enqueue.assign({ head: commit, reportHash: artifactHash, versions: version });
        if (artifactHash === context.reportHash) return;
        enqueue.emit({
          type: 'ARTIFACT_CREATED',
          artifact: {
            stage: 'synthesising',
            type: 'research_report',
            gitPath: path,
            commitSha: commit,
            hash: artifactHash,
            version,
            parsedConstraints: null,
            scripted: context.scripted,
          },
        });
      },
    ),
    reportValidation: emit(({ context }) => ({
      type: 'VALIDATION_PASSED',
      codeTree: context.codeTree ?? '',
      summary: 'The server has looked up every passage of the report; no code was changed.',
    })),
  },
});

const wordsFor = (
  why: 'few_new' | 'ceiling',
  { newFindings, quietRounds, maxRounds }: ResearchContext['input'],
): string =>
  why === 'ceiling'
    ? `it has had its ${maxRounds} rounds`
    : `fewer than ${newFindings} new findings in each of the last ${quietRounds} rounds`;
