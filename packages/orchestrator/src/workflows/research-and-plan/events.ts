/** Facts that the machine of a run emits while it plans, and their lines in a timeline. */
import type { EventInfo } from '@autonomous/shared';
import { RESEARCH_EVENTS, type ResearchFact } from '../research/events.ts';
import type { Severity } from './types.ts';

/** Facts of the researchers who look into new claims are those of a research run. */
type Shared = Extract<
  ResearchFact,
  {
    type:
      | 'AGENT_FAILED'
      | 'SOURCE_FETCHED'
      | 'SOURCE_REFUSED'
      | 'FINDING_KEPT'
      | 'FINDING_SUPPORTED'
      | 'CITATION_LEFT_OUT';
  }
>;

export type PlanFact =
  | Shared
  | { readonly type: 'RESEARCH_TAKEN'; readonly run: string; readonly findings: number; readonly rounds: number }
  | { readonly type: 'PLAN_ROUND_STARTED'; readonly round: number }
  | {
      /** A section of a proposal, or a part of a review, that was sent back and is still not right. */
      readonly type: 'PLAN_PART_REFUSED';
      readonly round: number;
      readonly agent: string;
      readonly section: string;
      readonly reason: string;
    }
  | { readonly type: 'PLAN_CHANGED'; readonly round: number; readonly sections: readonly string[] }
  | { readonly type: 'CLAIM_ASKED'; readonly round: number; readonly claim: string; readonly question: string }
  | { readonly type: 'CLAIM_NOT_FOUND'; readonly round: number; readonly claim: string }
  | {
      readonly type: 'ISSUE_RAISED';
      readonly round: number;
      readonly issue: string;
      readonly by: string;
      readonly severity: Severity;
      readonly about: string;
      readonly text: string;
      readonly evidence: readonly string[];
    }
  | {
      readonly type: 'ISSUE_ANSWERED';
      readonly round: number;
      readonly issue: string;
      readonly by: string;
      readonly answer: string;
    }
  | {
      readonly type: 'ISSUE_WITHDRAWN';
      readonly round: number;
      readonly issue: string;
      readonly by: string;
      readonly why: string;
    }
  | {
      readonly type: 'PLAN_ROUND_ENDED';
      readonly round: number;
      readonly planHash: string;
      /** Ids of the open blockers. */
      readonly blockers: readonly string[];
      readonly failed: boolean;
    }
  | { readonly type: 'PLANNING_ENDED'; readonly round: number; readonly why: string }
  | { readonly type: 'PLAN_COMPILED'; readonly pages: number; readonly note: string };

export const PLAN_EVENTS: Readonly<Record<PlanFact['type'], EventInfo>> = {
  AGENT_FAILED: RESEARCH_EVENTS.AGENT_FAILED,
  SOURCE_FETCHED: RESEARCH_EVENTS.SOURCE_FETCHED,
  SOURCE_REFUSED: RESEARCH_EVENTS.SOURCE_REFUSED,
  FINDING_KEPT: RESEARCH_EVENTS.FINDING_KEPT,
  FINDING_SUPPORTED: RESEARCH_EVENTS.FINDING_SUPPORTED,
  CITATION_LEFT_OUT: RESEARCH_EVENTS.CITATION_LEFT_OUT,
  RESEARCH_TAKEN: { text: 'The plan rests on the report of run {run}: {findings} findings of {rounds} rounds' },
  PLAN_ROUND_STARTED: { text: 'Round {round} of planning' },
  PLAN_PART_REFUSED: { text: 'Not taken of {agent}, {section}: {reason}', tone: 'bad' },
  PLAN_CHANGED: { text: 'Round {round}: the plan has changed: {sections}' },
  CLAIM_ASKED: { text: 'New claim, to be looked up: {claim}' },
  CLAIM_NOT_FOUND: { text: 'Nothing was found for the claim: {claim}', tone: 'bad' },
  ISSUE_RAISED: { text: '{issue}, {severity} of {by} about {about}: {text}[ (evidence: {evidence})]' },
  ISSUE_ANSWERED: { text: '{issue} answered by {by}: {answer}' },
  ISSUE_WITHDRAWN: { text: '{issue} withdrawn by {by}: {why}' },
  PLAN_ROUND_ENDED: { text: 'Round {round} of planning ended[; open blockers: {blockers}]' },
  PLANNING_ENDED: { text: 'The planning ends after round {round}: {why}' },
  PLAN_COMPILED: { text: 'Plan compiled[, {pages} pages][: {note}]' },
};
