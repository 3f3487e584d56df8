/** Actions on a round of planning: what is taken of proposals, findings and reviews, and when the planning ends. */
import { assign, enqueueActions } from 'xstate';
import { keptOf } from '../parts/topics/new-findings.ts';
import { planTransition } from '../parts/topics/transition.ts';
import type { CheckedRound, LeftOut } from '../research/types.ts';
import { architectOf, blockersOf, criticOf, reviewFaults, withAnswers, withReview } from './issues.ts';
import { changedSections, draftFaults, planHashOf, withDraft } from './plan.ts';
import { agentIds, agentOf, agentSetup, counted, SEATS } from './setup.ts';
import type { Fault, NewClaim, PlanContext, PlanEnd, PlanRoundSummary, Refused, WrittenPlan } from './types.ts';

type Faults = Readonly<Record<string, readonly Fault[]>>;

const seatOf = (agent: string): number => agentOf(agent)?.seat ?? 0;

/** Faults of this round's proposals, by agent; agents without any are left out. */
export function faultsOfDrafts({ drafts, findings }: PlanContext): Faults {
  return withoutEmpty(
    Object.entries(drafts).map(([agent, draft]) => [agent, draftFaults(draft, seatOf(agent), findings)]),
  );
}

export function faultsOfReviews({ reviews, issues, findings }: PlanContext): Faults {
  return withoutEmpty(
    Object.entries(reviews).map(([agent, review]) => [
      agent,
      reviewFaults(review, criticOf(seatOf(agent)), issues, findings),
    ]),
  );
}

const withoutEmpty = (all: readonly (readonly [string, readonly Fault[]])[]): Faults =>
  Object.fromEntries(all.filter(([, faults]) => faults.length > 0));

/** New claims of the proposals, one for each researcher. */
function claimsOf({ drafts, round }: PlanContext): readonly NewClaim[] {
  const all = agentIds('architect', round, SEATS).flatMap((agent) => drafts[agent]?.claims.slice(0, 1) ?? []);
  return all.filter(({ claim }, index) => all.findIndex((other) => other.claim === claim) === index);
}

/** Why the planning ends after these rounds; `null` where it goes on. */
function endAfter(
  rounds: readonly PlanRoundSummary[],
  { input, countedFrom }: Pick<PlanContext, 'input' | 'countedFrom'>,
): PlanEnd | null {
  const verdict = planTransition(rounds.slice(countedFrom), rounds[countedFrom - 1]?.planHash ?? null, {
    stableRounds: input.stableRounds,
    ceiling: input.maxRounds,
  });
  return verdict.kind === 'ends' ? { why: verdict.why, round: countedFrom + verdict.round } : null;
}

const wordsFor = (why: PlanEnd['why'], { stableRounds, maxRounds }: PlanContext['input']): string =>
  why === 'ceiling'
    ? `it has had its ${counted(maxRounds, 'round')}`
    : `no blocker was open and the plan did not change in the last ${counted(stableRounds, 'round')}`;

const EMPTY: CheckedRound = { sound: [], doubts: [], leftOut: [], known: 0 };

export const planSetup = agentSetup.extend({
  actions: {
    beginRound: enqueueActions(({ enqueue, context }) => {
      const round = context.round + 1;
      enqueue.assign({ round, drafts: {}, reviews: {}, claims: [], reports: [], checked: null, leftOut: {} });
      enqueue.emit({ type: 'PLAN_ROUND_STARTED', round });
    }),
    keepFaults: assign((_, { faults }: { faults: Faults }) => ({ sentBack: faults })),
    /** The sections without a fault become the plan's; the others stay as they were, and are named. */
    takeDrafts: enqueueActions(({ enqueue, context }) => {
      const { round, drafts } = context;
      const faults = faultsOfDrafts(context);
      let { plan, issues } = context;
      const refused: Refused[] = [];
      for (const agent of agentIds('architect', round, SEATS)) {
        const draft = drafts[agent];
        if (draft === undefined) continue;
        const by = architectOf(seatOf(agent));
        const own = faults[agent] ?? [];
        plan = withDraft(plan, draft, seatOf(agent), own);
        const known = issues;
        issues = withAnswers(issues, draft, { by, round });
        for (const issue of issues)
          if (issue.answer !== null && !known.includes(issue))
            enqueue.emit({ type: 'ISSUE_ANSWERED', round, issue: issue.id, by, answer: issue.answer.text });
        for (const fault of own) {
          refused.push({ ...fault, agent: by });
          enqueue.emit({ type: 'PLAN_PART_REFUSED', round, agent: by, section: fault.section, reason: fault.reason });
        }
      }
      const sections = changedSections(context.plan, plan);
      if (sections.length > 0) enqueue.emit({ type: 'PLAN_CHANGED', round, sections });
      const claims = claimsOf(context);
      for (const claim of claims) enqueue.emit({ type: 'CLAIM_ASKED', round, ...claim });
      const ofCritics = context.refused.filter(({ agent }) => agent.startsWith('critic'));
      enqueue.assign({ plan, issues, claims, unproven: [], refused: [...refused, ...ofCritics], agents: null });
    }),
    keepChecked: assign((_, { checked }: { checked: CheckedRound }) => ({ checked })),
    keepLeftOut: assign(({ context }) => {
      const groups = Map.groupBy(context.checked?.leftOut ?? [], ({ agent }) => agent);
      const leftOut: Record<string, readonly LeftOut[]> = Object.fromEntries(groups);
      return { leftOut };
    }),
    /** Findings for new claims get their ids. One that resembles a known one counts as new: nobody is asked about it. */
    keepFindings: enqueueActions(({ enqueue, context }) => {
      const { round, claims } = context;
      const checked = context.checked ?? EMPTY;
      const { fresh, repeated } = keptOf(checked.sound, context.findings);
      for (const { id, finding } of fresh) {
        const { claim, confidence, evidence, sources } = finding;
        enqueue.emit({ type: 'FINDING_KEPT', round, finding: id, claim, confidence, evidence, sources });
      }
      for (const { id, finding } of repeated) {
        const { evidence, sources } = finding;
        enqueue.emit({ type: 'FINDING_SUPPORTED', round, finding: id, evidence, sources });
      }
      for (const left of checked.leftOut) enqueue.emit({ type: 'CITATION_LEFT_OUT', round, ...left });
      const proven = new Set(checked.sound.map(({ agent }) => agent));
      const researchers = agentIds('researcher', round, claims.length);
      const unproven = claims.flatMap(({ claim }, index) => (proven.has(researchers[index] ?? '') ? [] : [claim]));
      for (const claim of unproven) enqueue.emit({ type: 'CLAIM_NOT_FOUND', round, claim });
      enqueue.assign({ findings: context.findings + fresh.length, unproven, agents: null });
    }),
    takeReviews: enqueueActions(({ enqueue, context }) => {
      const { round, reviews, refused } = context;
      const faults = faultsOfReviews(context);
      const own: Refused[] = [];
      let { issues, raised } = context;
      for (const agent of agentIds('critic', round, SEATS)) {
        const review = reviews[agent];
        if (review === undefined) continue;
        const by = criticOf(seatOf(agent));
        const taken = withReview(issues, review, { by, round, raised, faults: faults[agent] ?? [] });
        issues = taken.open;
        raised += taken.raised.length;
        for (const { issue, why } of taken.withdrawn)
          enqueue.emit({ type: 'ISSUE_WITHDRAWN', round, issue: issue.id, by, why });
        for (const { id: issue, severity, about, text, evidence } of taken.raised)
          enqueue.emit({ type: 'ISSUE_RAISED', round, issue, by, severity, about, text, evidence });
        for (const fault of faults[agent] ?? []) {
          own.push({ ...fault, agent: by });
          enqueue.emit({ type: 'PLAN_PART_REFUSED', round, agent: by, section: fault.section, reason: fault.reason });
        }
      }
      const ofArchitects = refused.filter(({ agent }) => agent.startsWith('architect'));
      enqueue.assign({ issues, raised, refused: [...ofArchitects, ...own], agents: null });
    }),
    /** The round is over: whether the planning ends is decided from all rounds. */
    endRound: enqueueActions(({ enqueue, context }) => {
      const { round, reviews, plan, issues, input } = context;
      const summary: PlanRoundSummary = {
        round,
        planHash: planHashOf(plan),
        blockers: blockersOf(issues).map(({ id }) => id),
        failed: Object.keys(reviews).length === 0,
        ...(plan.tasks.length === 0 ? { withoutTasks: true as const } : {}),
      };
      const rounds = [...context.rounds, summary];
      const ends = endAfter(rounds, context);
      enqueue.emit({ type: 'PLAN_ROUND_ENDED', ...summary });
      const total = ends === null ? context.countedFrom + input.maxRounds : rounds.length;
      enqueue.emit({ type: 'PROGRESS_CHANGED', total, done: rounds.length });
      if (ends !== null) enqueue.emit({ type: 'PLANNING_ENDED', round, why: wordsFor(ends.why, input) });
      enqueue.assign({ rounds, ends });
    }),
    /** A person has the planning go on. */
    goOn: assign(({ context }) => ({
      ends: null,
      takenAnyway: false,
      compiled: null,
      countedFrom: context.rounds.length,
    })),
    /** The plan as it was committed. */
    keepPlanFile: enqueueActions(
      ({ enqueue, context }, { written: { commit, artifactHash, path } }: { written: WrittenPlan }) => {
        const version = context.versions + 1;
        enqueue.assign({ head: commit, planHash: artifactHash, versions: version });
        if (artifactHash === context.planHash) return;
        enqueue.emit({
          type: 'ARTIFACT_CREATED',
          artifact: {
            stage: 'planning',
            type: 'implementation_plan',
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
  },
});
