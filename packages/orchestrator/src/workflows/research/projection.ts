/**
 * The projection of a research run: its rounds, the new findings of each, its sources, what was left out, open questions and
 * contradictions. Pure.
 */
import {
  type JsonObject,
  MOST_PROJECTED,
  type PlotSection,
  type Projected,
  type ProjectedEntry,
  type ProjectedItem,
  type ProjectedPart,
  type ProjectionSection,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { ResearchFact } from './events.ts';
import { counted } from './setup.ts';
import { factsIn, type StoredFact } from '../parts/run-facts.ts';
import { agentTitle, leadsTo, LONGEST_TEXT, shortened } from '../parts/projected-text.ts';
import { sourceRows } from './report/source-rows.ts';
import type { ResearchContext, RoundSummary } from './types.ts';

type Fact<Type extends ResearchFact['type']> = StoredFact<ResearchFact, Type>;
type Facts = ReturnType<typeof factsIn<ResearchFact>>;

export function projectionOf(view: RunView, events: readonly WorkflowEvent[], json: JsonObject): Projected {
  const context = json as unknown as ResearchContext; // The machine's own context, which is plain JSON.
  const facts = factsIn<ResearchFact>(events);
  const isOver = view.completedAt !== undefined;
  const rounds = entriesOf(facts, context, isOver);
  const sources = sourceRows(events);
  const sections: readonly ProjectionSection[] = [
    plotOf(facts('ROUND_ENDED'), context),
    {
      kind: 'timeline',
      id: 'rounds',
      title: 'Rounds',
      empty: isOver ? 'The run ended before its first round.' : 'The first round has not begun.',
      entries: rounds.slice(-MOST_PROJECTED),
      total: rounds.length,
    },
    {
      kind: 'table',
      id: 'sources',
      title: 'Sources',
      empty: 'No page has been read yet.',
      columns: ['Source', 'Status', 'Quoted by', 'Credibility', 'Fetched', 'Stored text'],
      rows: sources.slice(0, MOST_PROJECTED),
      total: sources.length,
    },
    listOf('left-out', 'Left out', 'Nothing was left out.', leftOutOf(facts)),
    listOf('open-questions', 'Open questions', 'There are no open questions.', questionsOf(context)),
    listOf('contradictions', 'Contradictions', 'No sources contradict each other.', conflictsOf(context)),
  ];
  return { sections, absent: { research_pdf: whyNoPdf(context, facts('REPORT_COMPILED').at(-1)?.note, isOver) } };
}

function plotOf(ended: readonly RoundSummary[], { input }: ResearchContext): PlotSection {
  const { newFindings, quietRounds, maxRounds } = input;
  const shown = ended.slice(-MOST_PROJECTED);
  return {
    kind: 'plot',
    id: 'new-findings',
    title: 'New findings',
    about: `The research ends after ${counted(quietRounds, 'round')} in a row with fewer than ${counted(newFindings, 'new finding')}, and after ${counted(maxRounds, 'round')} in any case.`,
    empty: 'No round has ended yet.',
    labelled: 'Round',
    labels: shown.map(({ round }) => String(round)),
    series: [{ label: 'New findings', values: shown.map(({ kept }) => kept) }],
    threshold: { label: `Fewer than ${newFindings}: a quiet round`, value: newFindings },
  };
}

function entriesOf(facts: Facts, context: ResearchContext, isOver: boolean): readonly ProjectedEntry[] {
  const ended = new Map(facts('ROUND_ENDED').map((fact) => [fact.round, fact]));
  const why = new Map(facts('RESEARCH_ENDED').map((fact) => [fact.round, fact.why]));
  const parts = partsIn(facts, context, isOver);
  return facts('ROUND_STARTED').map((started): ProjectedEntry => {
    const { round, storedAt } = started;
    const end = ended.get(round);
    const ending = why.get(round);
    return {
      title: `Round ${round}`,
      startedAt: storedAt,
      endedAt: end?.storedAt ?? null,
      ...(end === undefined ? {} : { mark: markOf(end, context) }),
      facts: [
        ...(end === undefined
          ? []
          : [counted(end.kept, 'new finding'), `${end.known} known`, `${end.leftOut} left out`]),
        ...(ending === undefined ? [] : [`The research ends: ${shortened(ending)}`]),
      ],
      parts: parts(started),
    };
  });
}

function markOf(
  { agents, failed, kept }: RoundSummary,
  { input }: ResearchContext,
): NonNullable<ProjectedEntry['mark']> {
  if (failed === agents) return { text: 'no agent came to anything', tone: 'bad' };
  return kept < input.newFindings ? { text: 'quiet', tone: 'quiet' } : { text: 'productive', tone: 'good' };
}

/** The agents of a round with what each of them brought. */
function partsIn(facts: Facts, { agents, round: current }: ResearchContext, isOver: boolean) {
  const key = ({ round, agent = '' }: { readonly round: number; readonly agent?: string }): string =>
    `${round} ${agent}`;
  const read = Map.groupBy(facts('SOURCE_FETCHED'), key);
  const refused = Map.groupBy(facts('SOURCE_REFUSED'), key);
  const kept = Map.groupBy(facts('FINDING_KEPT'), key);
  const again = Map.groupBy(facts('FINDING_SUPPORTED'), key);
  const leftOut = Map.groupBy(facts('CITATION_LEFT_OUT'), key);
  const ended = new Set(facts('ROUND_ENDED').map(({ round }) => round));
  const failed = new Map(facts('AGENT_FAILED').map((fact) => [key(fact), fact.reason]));
  const distinct = (all: readonly { readonly address: string }[] | undefined): number =>
    new Set(all?.map(({ address }) => address)).size;
  const clause = (count: number, words: string): readonly string[] => (count === 0 ? [] : [`${count} ${words}`]);
  return ({ round, questions, agents: ids }: Fact<'ROUND_STARTED'>): readonly ProjectedPart[] =>
    questions.map((question, index): ProjectedPart => {
      const agent = ids[index] ?? '';
      const of = key({ round, agent });
      const reason = failed.get(of);
      const isWorking =
        !isOver && round === current && agents?.running.some((id) => id === agent || id === `${agent}-again`) === true;
      const brought = [
        ...clause(distinct(read.get(of)), 'read'),
        ...clause(distinct(refused.get(of)), 'not read'),
        ...clause(kept.get(of)?.length ?? 0, 'new'),
        ...clause(again.get(of)?.length ?? 0, 'known'),
        ...clause(leftOut.get(of)?.length ?? 0, 'left out'),
      ];
      const isWithout = brought.length === 0 && reason === undefined && ended.has(round);
      return {
        title: agentTitle(agent),
        text: shortened(question),
        ...(reason === undefined ? {} : { note: `Came to nothing: ${shortened(reason)}`, tone: 'bad' as const }),
        facts: [...(isWorking ? ['at work'] : []), ...brought, ...(isWithout ? ['nothing new'] : [])],
      };
    });
}

function listOf(id: string, title: string, empty: string, items: readonly ProjectedItem[]): ProjectionSection {
  return { kind: 'list', id, title, empty, items: items.slice(0, MOST_PROJECTED), total: items.length };
}

/** Citations of agents that were left out, then sentences of the report. */
function leftOutOf(facts: Facts): readonly ProjectedItem[] {
  return [
    ...facts('CITATION_LEFT_OUT').map(({ round, agent, claim, quote, address, reason }): ProjectedItem => ({
      text: shortened(claim),
      note: `Round ${round}, ${agentTitle(agent)}: ${shortened(reason)}`,
      ...(quote === '' ? {} : { quote: shortened(quote) }),
      ...(address === '' ? {} : { source: { text: shortened(address), ...leadsTo(address) } }),
    })),
    ...facts('SENTENCE_LEFT_OUT').map(({ round, sentence }): ProjectedItem => ({
      text: shortened(sentence),
      note: `Round ${round}, report: no finding supports this sentence.`,
    })),
  ];
}

const questionsOf = ({ texts }: ResearchContext): readonly ProjectedItem[] =>
  texts.openQuestions.map((question) => ({ text: shortened(question) }));

const conflictsOf = ({ texts }: ResearchContext): readonly ProjectedItem[] =>
  texts.conflicts.map(({ about, positions, resolution }) => ({
    text: shortened(about),
    note: resolution === null ? 'Not resolved.' : `Resolved: ${shortened(resolution, 2 * LONGEST_TEXT)}`,
    items: positions.map(({ text, findings }) => ({
      text: `${shortened(text)}${findings.length === 0 ? '' : ` [${shortened(findings.join(', '), 80)}]`}`,
    })),
  }));

function whyNoPdf({ compiled }: ResearchContext, note: string | undefined, isOver: boolean): string {
  if (compiled?.kind === 'failed') return `${note ?? 'LaTeX does not compile the report.'} ${compiled.errors}`;
  if (compiled?.kind === 'absent') return note ?? 'There is no LaTeX where commands run.';
  if (isOver) return 'The run ended before the report was compiled. The report is there as Markdown and as .tex.';
  return 'The PDF is compiled when the research ends, where LaTeX is installed. Until then there is the report as Markdown.';
}
