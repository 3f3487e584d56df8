/** Facts that the machine of a research run emits, and their lines in a timeline. */
import type { EventInfo } from '@autonomous/shared';
import type { SourceFact } from '../parts/topics/source-facts.ts';
import type { Confidence, Evidence, Source } from './types.ts';

export type ResearchFact =
  | SourceFact
  | {
      readonly type: 'ROUND_STARTED';
      readonly round: number;
      readonly questions: readonly string[];
      /** Ids of the agents, in the order of their questions. */
      readonly agents: readonly string[];
    }
  | { readonly type: 'AGENT_FAILED'; readonly round: number; readonly agent: string; readonly reason: string }
  | {
      readonly type: 'FINDING_KEPT';
      readonly round: number;
      readonly finding: string;
      /** The agent that brought it. Absent where architects of a plan asked for it. */
      readonly agent?: string;
      readonly claim: string;
      readonly confidence: Confidence;
      readonly evidence: readonly (Evidence & { readonly hash: string })[];
      readonly sources: readonly Source[];
    }
  | {
      /** A finding that was reported again, from other sources. */
      readonly type: 'FINDING_SUPPORTED';
      readonly round: number;
      readonly finding: string;
      /** The agent that found it again. Absent where architects of a plan asked for it. */
      readonly agent?: string;
      readonly evidence: readonly (Evidence & { readonly hash: string })[];
      readonly sources: readonly Source[];
    }
  | {
      readonly type: 'CITATION_LEFT_OUT';
      readonly round: number;
      readonly agent: string;
      readonly claim: string;
      readonly quote: string;
      readonly address: string;
      readonly reason: string;
    }
  | {
      readonly type: 'NOVELTY_JUDGED';
      readonly round: number;
      readonly claim: string;
      readonly known: string;
      readonly isNew: boolean;
      readonly why: string;
    }
  | { readonly type: 'SENTENCE_LEFT_OUT'; readonly round: number; readonly sentence: string }
  | {
      readonly type: 'ROUND_ENDED';
      readonly round: number;
      readonly agents: number;
      readonly failed: number;
      readonly kept: number;
      readonly known: number;
      readonly leftOut: number;
    }
  | { readonly type: 'RESEARCH_ENDED'; readonly round: number; readonly why: string }
  | { readonly type: 'REPORT_COMPILED'; readonly pages: number; readonly note: string };

export const RESEARCH_EVENTS: Readonly<Record<ResearchFact['type'], EventInfo>> = {
  ROUND_STARTED: { text: 'Round {round}: {questions}' },
  AGENT_FAILED: { text: 'Round {round}: {agent} came to nothing: {reason}', tone: 'bad' },
  SOURCE_FETCHED: { text: 'Read: {title} ({address})' },
  SOURCE_REFUSED: { text: 'Not read: {address}: {reason}' },
  FINDING_KEPT: { text: '{finding}: {claim} (confidence: {confidence})' },
  FINDING_SUPPORTED: { text: '{finding} was found again', tone: 'quiet' },
  CITATION_LEFT_OUT: { text: 'Left out: {claim}: {reason}', tone: 'bad' },
  NOVELTY_JUDGED: { text: 'Judged against {known}: {claim}: {why}' },
  SENTENCE_LEFT_OUT: { text: 'Left out, since no finding supports it: {sentence}', tone: 'bad' },
  ROUND_ENDED: { text: 'Round {round} ended: {kept} new findings, {known} known, {leftOut} left out' },
  RESEARCH_ENDED: { text: 'The research ends after round {round}: {why}' },
  REPORT_COMPILED: { text: 'Report compiled[, {pages} pages][: {note}]' },
};
