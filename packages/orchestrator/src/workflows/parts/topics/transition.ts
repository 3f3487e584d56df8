/** Decides when research and planning end. Pure: the history of the rounds is the only input. */

/** A round of research. */
export interface ResearchRound {
  /** Findings that were new when the round ended. */
  readonly newFindings: number;
  /** True when every researcher of the round failed. */
  readonly failed: boolean;
}

export interface ResearchLimits {
  /** A round with fewer new findings than this is a quiet round. */
  readonly threshold: number;
  /** Research ends after this many quiet rounds in a row, from 1. */
  readonly rounds: number;
  /** Research ends after this many rounds in any case, from 1. Failed rounds count. */
  readonly ceiling: number;
}

/** Fewer than 2 new findings for 3 rounds in a row, and 30 rounds at most. */
export const RESEARCH_LIMITS: ResearchLimits = { threshold: 2, rounds: 3, ceiling: 30 };

export type ResearchTransition =
  | { readonly kind: 'goes_on' }
  /** `round` counts from 1. */
  | { readonly kind: 'ends'; readonly why: 'few_new' | 'ceiling'; readonly round: number };

/**
 * The first round after which research ends; `few_new` comes before `ceiling` when both hold for the same round. A failed round
 * is neither quiet nor productive: nobody looked, so that it does not count as a round with few findings, and it does not
 * interrupt the quiet rounds before and after it. It does count for the ceiling.
 * @param history all rounds so far, oldest first
 */
export function researchTransition(
  history: readonly ResearchRound[],
  limits: ResearchLimits = RESEARCH_LIMITS,
): ResearchTransition {
  let quiet = 0;
  for (const [index, { newFindings, failed }] of history.entries()) {
    const round = index + 1;
    if (!failed) quiet = newFindings < limits.threshold ? quiet + 1 : 0;
    if (quiet >= Math.max(1, limits.rounds)) return { kind: 'ends', why: 'few_new', round };
    if (round >= Math.max(1, limits.ceiling)) return { kind: 'ends', why: 'ceiling', round };
  }
  return { kind: 'goes_on' };
}

/** A round of planning. */
export interface PlanRound {
  /** Digest of the plan at the end of the round. */
  readonly planHash: string;
  /** Ids of the blockers that are open at the end of the round. */
  readonly blockers: readonly string[];
  /** True when every critic of the round failed, so that nobody looked for blockers. */
  readonly failed: boolean;
  /** The plan has no task yet, so that there is nothing that could be settled. Absent: it has one. */
  readonly withoutTasks?: boolean;
}

export interface PlanLimits {
  /** Planning ends after this many settled rounds in a row, from 1. */
  readonly stableRounds: number;
  /** Planning stops for a person after this many rounds, from 1. Failed rounds count. */
  readonly ceiling: number;
}

/** No blocker and an unchanged plan for 2 rounds in a row, and 40 rounds at most. */
export const PLAN_LIMITS: PlanLimits = { stableRounds: 2, ceiling: 40 };

export type PlanTransition =
  | { readonly kind: 'goes_on' }
  | { readonly kind: 'ends'; readonly why: 'stable'; readonly round: number }
  /** `blockers` are those of the last round whose critics did not all fail; empty when the plan only kept changing. */
  | { readonly kind: 'ends'; readonly why: 'ceiling'; readonly round: number; readonly blockers: readonly string[] };

/**
 * The first round after which planning ends. A round is settled when its plan has tasks and no open blocker, and ends with the plan
 * hash of the round before it; the first round compares with `hashBefore`. A failed round is not settled. It interrupts the settled rounds
 * before it only when it changed the plan.
 * @param history all rounds so far, oldest first
 * @param hashBefore digest of the plan before the first round; `null` when there was no plan
 */
export function planTransition(
  history: readonly PlanRound[],
  hashBefore: string | null = null,
  limits: PlanLimits = PLAN_LIMITS,
): PlanTransition {
  let settled = 0;
  let before = hashBefore;
  let blockers: readonly string[] = [];
  for (const [index, round] of history.entries()) {
    const unchanged = round.planHash === before;
    before = round.planHash;
    if (!round.failed) blockers = round.blockers;
    if (!unchanged || round.withoutTasks === true || (!round.failed && round.blockers.length > 0)) settled = 0;
    else if (!round.failed) settled += 1;
    if (settled >= Math.max(1, limits.stableRounds)) return { kind: 'ends', why: 'stable', round: index + 1 };
    if (index + 1 >= Math.max(1, limits.ceiling)) return { kind: 'ends', why: 'ceiling', round: index + 1, blockers };
  }
  return { kind: 'goes_on' };
}
