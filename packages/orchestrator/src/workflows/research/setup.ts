/** Types, signals and actions of the machine, and what its fragments read of the context. */
import type { ActivityError } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { StateMeta } from '../../core/definition.ts';
import { callActions } from '../parts/costs.ts';
import { declared } from '../parts/declared-activities.ts';
import { approves, type Shown } from '../parts/gate.ts';
import { keptOf } from '../parts/topics/new-findings.ts';
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
import { type AgentCall, asked, askedAgain, roundOf } from '../parts/topics/rounds.ts';
import { sourceFact } from '../parts/topics/source-facts.ts';
import { judgedRound } from './checked-round.ts';
import type { ResearchFact } from './events.ts';
import { updated } from './report/report-texts.ts';
import { researchTransition } from '../parts/topics/transition.ts';
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

export const failedAt = pausesAt('#research.paused');

/** The engine gives every failed activity an error of this shape. */
export const reasonOf = (error: unknown): ActivityError['reason'] => (error as ActivityError).reason;
export const messageOf = (error: unknown): string => (error as ActivityError).message;

export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

/** Id of the actor that is an agent of a round. */
export const agentId = (round: number, kind: Direction['kind'], number: number): string =>
  `agent-${round}-${kind === 'web' ? 'researcher' : 'analyst'}-${number}`;

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

/** A report in place of the one that its agent corrects, with what was read for both. */
function withReport(context: ResearchContext, report: AgentReport): Partial<ResearchContext> {
  const before = context.reports.find(({ agent }) => agent === report.agent);
  const merged = before === undefined ? report : { ...report, fetched: [...before.fetched, ...report.fetched] };
  return {
    reports: inOrder(context, [...context.reports.filter((each) => each !== before), merged]),
    sources: context.sources + report.fetched.filter(({ hash }) => hash !== null).length,
  };
}

/** The call of an agent of the round, with its question. */
function callOf(context: ResearchContext, agent: string, isCorrection: boolean): AgentCall | null {
  const direction = agentsOf(context).find(({ id }) => id === agent)?.direction;
  if (direction === undefined) return null;
  const role = roleOf(direction);
  const report = context.reports.find((each) => each.agent === agent);
  const correction = { report, leftOut: context.sentBack[agent] ?? [] };
  return {
    src: 'research',
    role,
    input: {
      ...agentInput(context, role),
      agent,
      direction,
      round: context.round,
      ...(isCorrection && report !== undefined ? { correction } : {}),
    },
  };
}

export const round = roundOf<ResearchContext, ResearchEvent, Output<'research'>, RunFact | ResearchFact>({
  call: callOf,
  kept: (context, { report }) => ({
    change: withReport(context, report),
    facts: report.fetched.map((source) => sourceFact(context.round, report.agent, source)),
  }),
});

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
    ...round.actions,
  },
});

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
        ...asked(ids),
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
    keepChecked: assign((_, { checked }: { checked: CheckedRound }) => ({ checked })),
    /** The agents get the passages back that were not found, once. */
    sendBack: assign(({ context }) => {
      const leftOut = context.checked?.leftOut ?? [];
      const sentBack: Record<string, readonly LeftOut[]> = Object.fromEntries(
        [...Map.groupBy(leftOut, ({ agent }) => agent)].map(([agent, all]) => [agent, all]),
      );
      return { sentBack, ...askedAgain(Object.keys(sentBack)) };
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
