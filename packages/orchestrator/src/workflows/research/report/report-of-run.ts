/** The report of a run as a model of its texts, findings and sources. Pure. */
import type { WorkflowEvent } from '@autonomous/shared';
import type { ReportModel, ReportSource } from '../../../documents/latex/report-model.ts';
import { type Contradiction, unnamedContradictions } from '../claim-checks/contradictions.ts';
import { findingsOf, leftOutOf, sourcesOf } from '../kept-findings.ts';
import { OWN_WORDS, withOwnWordsMarked } from './prose.ts';
import { withoutCitations } from './report-texts.ts';
import type { Confidence, FetchedSource, Finding, ReportTexts, RoundSummary } from '../types.ts';

export interface RunReport {
  readonly topic: string;
  /** ISO 8601. */
  readonly at: string;
  readonly texts: ReportTexts;
  readonly rounds: readonly RoundSummary[];
  readonly events: readonly WorkflowEvent[];
}

/** Contradictions that the server found and the report lists beside the conflicts of its texts. */
const MOST_UNNAMED = 40;
/** Characters of a claim in the title of its subsection. */
const LONGEST_TITLE = 80;

const REASONS: Readonly<Record<Confidence, string>> = {
  high: 'as the agent rates it, from sources that agree',
  medium: 'as the agent rates it',
  low: 'as the agent rates it: a single source, or one with an interest of its own',
};

export function reportOf({ topic, at, texts, rounds, events }: RunReport): ReportModel {
  const findings = inThemes(findingsOf(events), texts);
  const fetched = sourcesOf(events);
  const sources = citedSources(findings, fetched, at);
  return {
    topic,
    date: at.slice(0, 10),
    executiveSummary: withOwnWordsMarked(texts.executiveSummary),
    background: withOwnWordsMarked(texts.background),
    findings: findings.map(({ id, claim, evidence, confidence }) => ({
      id,
      title: titleOf(claim),
      claim: withoutCitations(claim),
      evidence: evidence.map(({ quote, address }) => ({ quote, source: shownAddress(address) })),
      sources: [...new Set(evidence.map(({ address }) => shownAddress(address)))],
      confidence,
      confidenceReason: REASONS[confidence],
      caveats: [],
    })),
    analysis: [
      ...texts.themes
        .filter(({ text }) => text !== '')
        .map(({ title, text }) => `**${plain(title)}.** ${withOwnWordsMarked(text)}`),
      withOwnWordsMarked(texts.analysis),
    ].join('\n\n'),
    conflicts: [
      ...texts.conflicts.map(({ about, positions, resolution }) => ({
        question: about,
        positions: positions.map(({ text, findings: ids }) => ({ statement: withoutCitations(text), findings: ids })),
        resolution: resolution === null ? null : withOwnWordsMarked(resolution),
      })),
      ...unnamedContradictions(findings, texts.conflicts).slice(0, MOST_UNNAMED).map(openConflict),
    ],
    openQuestions: texts.openQuestions.map((question) => ({ question, detail: '' })),
    methodology: methodologyOf(rounds),
    rounds: rounds.length,
    sourcesConsulted: new Set([...fetched, ...sources].map(({ hash }) => hash)).size,
    credibilityCriteria:
      'Each agent rates its sources: who says it, how they can know it, and what they gain by it. A rating is the judgement of an agent; that a passage stands in its source was looked up by the server.',
    sources,
    leftOut: leftOutOf(events).map(({ claim, address, reason }) => ({ claim, address: shownAddress(address), reason })),
  };
}

/** Two findings of which nobody has said which one holds. */
function openConflict(pair: Contradiction): ReportModel['conflicts'][number] {
  return {
    question: 'Which of these holds?',
    positions: pair.map(({ id, claim }) => ({ statement: withoutCitations(claim), findings: [id] })),
    resolution: null,
  };
}

function methodologyOf(rounds: readonly RoundSummary[]): string {
  const failed = rounds.reduce((sum, round) => sum + round.failed, 0);
  const known = rounds.reduce((sum, round) => sum + round.known, 0);
  return [
    `In each round several agents searched and read at the same time, each with a question of its own. The server compared every passage that they quoted with the stored text of the page, and every number, date and name of a claim with its passages. What was not found there is not in this report; it is listed at its end. A sentence marked ${OWN_WORDS} names no finding: it is what the agent says that wrote the report, and no source.`,
    `Findings that repeated a known one: ${known}.${failed === 0 ? '' : ` Agents that came to nothing: ${failed}.`}`,
  ].join('\n\n');
}

/** Findings in the order of the themes; those without one come last. */
function inThemes(findings: readonly Finding[], { themes }: ReportTexts): readonly Finding[] {
  const order = [...new Set(themes.flatMap(({ findings: ids }) => ids))];
  const byId = new Map(findings.map((finding) => [finding.id, finding]));
  const placed = order.flatMap((id) => byId.get(id) ?? []);
  return [...placed, ...findings.filter(({ id }) => !order.includes(id))];
}

/** @param at time of the report, at which the files of the project were read */
function citedSources(
  findings: readonly Finding[],
  fetched: readonly FetchedSource[],
  at: string,
): readonly ReportSource[] {
  const pages = new Map(fetched.map((source) => [`${source.address} ${source.hash ?? ''}`, source]));
  const cited = new Map<string, ReportSource>();
  for (const { evidence, sources } of findings)
    for (const { address, hash } of evidence) {
      const shown = shownAddress(address);
      if (cited.has(shown)) continue;
      const page = pages.get(`${address} ${hash}`);
      const rated = sources.find((source) => source.address === address);
      cited.set(shown, {
        address: shown,
        title: page?.title ?? shown,
        authors: page?.author === null || page?.author === undefined ? [] : [page.author],
        published: /^\d{4}/.test(page?.published ?? '') ? (page?.published ?? null) : null,
        fetchedAt: page?.at ?? at,
        hash,
        credibility: rated?.credibility ?? 'low',
        credibilityReason: rated?.why ?? '',
      });
    }
  return [...cited.values()];
}

/** A file of the project is named by its path. */
const shownAddress = (address: string): string =>
  address.startsWith('file:') ? address.slice('file:'.length).trim() : address;

const plain = (text: string): string => text.replaceAll(/[*_`[\]]/g, '').trim();

function titleOf(claim: string): string {
  const text = withoutCitations(claim).replaceAll(/\s+/g, ' ').trim();
  if (text.length <= LONGEST_TITLE) return text;
  const cut = text.slice(0, LONGEST_TITLE).toWellFormed();
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 40))} …`;
}
