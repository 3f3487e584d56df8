/**
 * The projection of a run that researches and plans: the open blockers of each round of planning, what its agents did, the issues,
 * new claims, and what was not taken. The research has a page of its own, that of its child run. Pure.
 */
import {
  type JsonObject,
  MOST_PROJECTED,
  type PlotSection,
  type Projected,
  type ProjectedEntry,
  type ProjectedItem,
  type ProjectedPart,
  type ProjectedText,
  type ProjectionSection,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import { shortened } from '../parts/projected-text.ts';
import { factsIn, type StoredFact } from '../parts/run-facts.ts';
import type { PlanFact } from './events.ts';
import { architectOf, criticOf } from './issues.ts';
import { counted, SEATS } from './setup.ts';
import { type PlanContext, SEVERITIES } from './types.ts';

type Fact<Type extends PlanFact['type']> = StoredFact<PlanFact, Type>;
type Facts = ReturnType<typeof factsIn<PlanFact>>;

const NOTHING: ProjectedText = { text: '–', tone: 'quiet' };
/** The tasks of the seats, as their agents are told them. */
const ARCHITECTS = [
  'Vision, architecture, components and technology',
  'Tasks, risks, defensibility and open decisions',
];
const CRITICS = ['Contradictions and claims without evidence', 'Feasibility and gaps'];

export function projectionOf(view: RunView, events: readonly WorkflowEvent[], json: JsonObject): Projected {
  const context = json as unknown as PlanContext; // The machine's own context, which is plain JSON.
  const facts = factsIn<PlanFact>(events);
  const isOver = view.completedAt !== undefined;
  const rounds = facts('PLAN_ROUND_STARTED').map((started) => entryOf(started, facts));
  const issues = issueRows(facts);
  const claims = claimsOf(facts, isOver);
  const refused = facts('PLAN_PART_REFUSED').map(refusedItem);
  const sections: readonly ProjectionSection[] = [
    plotOf(facts('PLAN_ROUND_ENDED'), context),
    {
      kind: 'timeline',
      id: 'rounds',
      title: 'Rounds of planning',
      empty: isOver ? 'The run ended before its planning began.' : 'The planning begins when the research has ended.',
      entries: rounds.slice(-MOST_PROJECTED),
      total: rounds.length,
    },
    {
      kind: 'table',
      id: 'issues',
      title: 'Issues',
      empty: 'The critics have raised no issue.',
      columns: ['Issue', 'Severity', 'Status', 'Evidence', 'Last answer'],
      rows: issues.slice(0, MOST_PROJECTED),
      total: issues.length,
    },
    listOf('claims', 'New claims', 'The architects made no claim that had to be looked up.', claims),
    listOf('not-taken', 'Not taken', 'All that the agents proposed and raised was taken.', refused),
  ];
  return { sections, absent: { plan_pdf: whyNoPdf(context, facts('PLAN_COMPILED').at(-1)?.note, isOver) } };
}

function plotOf(ended: readonly Fact<'PLAN_ROUND_ENDED'>[], { input }: PlanContext): PlotSection {
  const shown = ended.slice(-MOST_PROJECTED);
  return {
    kind: 'plot',
    id: 'open-blockers',
    title: 'Open blockers',
    about: `The planning ends after ${counted(input.stableRounds, 'round')} in a row without an open blocker and without a change of the plan. After ${counted(input.maxRounds, 'round')} a person decides.`,
    empty: 'No round of planning has ended yet.',
    labelled: 'Round',
    labels: shown.map(({ round }) => String(round)),
    series: [{ label: 'Open blockers', values: shown.map(({ blockers }) => blockers.length) }],
  };
}

function entryOf({ round, storedAt }: Fact<'PLAN_ROUND_STARTED'>, facts: Facts): ProjectedEntry {
  const isOfRound = (fact: { readonly round: number }): boolean => fact.round === round;
  const end = facts('PLAN_ROUND_ENDED').find(isOfRound);
  const changed = facts('PLAN_CHANGED').find(isOfRound);
  const ending = facts('PLANNING_ENDED').find(isOfRound);
  return {
    title: `Round ${round}`,
    startedAt: storedAt,
    endedAt: end?.storedAt ?? null,
    ...(end === undefined ? {} : { mark: markOf(end, changed !== undefined) }),
    facts: [
      ...(changed === undefined ? [] : [`changed: ${changed.sections.map(sectionTitle).join(', ')}`]),
      ...(end === undefined || end.blockers.length === 0 ? [] : [`open: ${end.blockers.join(', ')}`]),
      ...(ending === undefined ? [] : [`The planning ends: ${shortened(ending.why)}`]),
    ],
    parts: [
      ...seats(ARCHITECTS, 'Architect', architectOf, (by, of) => [
        ...clause(
          'answered',
          facts('ISSUE_ANSWERED').filter((fact) => isOfRound(fact) && fact.by === by),
        ),
        ...of,
      ]),
      ...seats(CRITICS, 'Critic', criticOf, (by, of) => [
        ...clause(
          'raised',
          facts('ISSUE_RAISED').filter((fact) => isOfRound(fact) && fact.by === by),
        ),
        ...clause(
          'withdrew',
          facts('ISSUE_WITHDRAWN').filter((fact) => isOfRound(fact) && fact.by === by),
        ),
        ...of,
      ]),
    ],
  };

  function seats(
    tasks: readonly string[],
    kind: 'Architect' | 'Critic',
    nameOf: (seat: number) => string,
    factsOf: (by: string, more: readonly string[]) => readonly string[],
  ): readonly ProjectedPart[] {
    return tasks.slice(0, SEATS).map((task, index): ProjectedPart => {
      const seat = index + 1;
      const by = nameOf(seat);
      const id = `${kind.toLowerCase()}-${round}-${seat}`;
      const failure = facts('AGENT_FAILED').find(({ agent }) => agent === id);
      const notTaken = facts('PLAN_PART_REFUSED').filter((fact) => isOfRound(fact) && fact.agent === by).length;
      return {
        title: `${kind} ${seat}`,
        text: task,
        facts: factsOf(by, notTaken === 0 ? [] : [`${notTaken} not taken`]),
        ...(failure === undefined
          ? {}
          : { note: `Came to nothing: ${shortened(failure.reason)}`, tone: 'bad' as const }),
      };
    });
  }
}

/** `raised I1, I2`; nothing where there is none. */
function clause(word: string, issues: readonly { readonly issue: string }[]): readonly string[] {
  return issues.length === 0 ? [] : [`${word} ${issues.map(({ issue }) => issue).join(', ')}`];
}

function markOf({ blockers, failed }: Fact<'PLAN_ROUND_ENDED'>, isChanged: boolean): ProjectedText {
  if (failed) return { text: 'no critic came to anything', tone: 'bad' };
  if (blockers.length > 0) return { text: counted(blockers.length, 'open blocker'), tone: 'bad' };
  return isChanged ? { text: 'changed', tone: 'plain' } : { text: 'unchanged', tone: 'good' };
}

/** Open blockers first, then other open issues, then the withdrawn ones, each in the order in which they were raised. */
function issueRows(facts: Facts): readonly (readonly ProjectedText[])[] {
  const withdrawn = new Map(facts('ISSUE_WITHDRAWN').map((fact) => [fact.issue, fact]));
  const answers = new Map(facts('ISSUE_ANSWERED').map((fact) => [fact.issue, fact]));
  const rank = ({ issue, severity }: Fact<'ISSUE_RAISED'>): number =>
    withdrawn.has(issue) ? SEVERITIES.length : SEVERITIES.indexOf(severity);
  return facts('ISSUE_RAISED')
    .toSorted((one, other) => rank(one) - rank(other))
    .map(({ issue, by, round, severity, about, text, evidence }) => {
      const end = withdrawn.get(issue);
      const answer = answers.get(issue);
      const isOpenBlocker = severity === 'blocker' && end === undefined;
      return [
        { text: `${issue} ${shortened(about)}`, note: `${shortened(text)} (${by}, round ${round})` },
        { text: severity, ...(isOpenBlocker ? { tone: 'bad' as const } : {}) },
        end === undefined
          ? { text: 'open', ...(isOpenBlocker ? { tone: 'bad' as const } : {}) }
          : { text: 'withdrawn', note: `Round ${end.round}: ${shortened(end.why)}`, tone: 'good' },
        evidence.length === 0 ? NOTHING : { text: shortened(evidence.join(', '), 80) },
        answer === undefined
          ? NOTHING
          : { text: shortened(answer.answer), note: `${answer.by}, round ${answer.round}` },
      ];
    });
}

function claimsOf(facts: Facts, isOver: boolean): readonly ProjectedItem[] {
  const ended = new Set(facts('PLAN_ROUND_ENDED').map(({ round }) => round));
  const unproven = new Set(facts('CLAIM_NOT_FOUND').map(({ round, claim }) => `${round} ${claim}`));
  return facts('CLAIM_ASKED').map(({ round, claim }) => {
    const isOpen = !isOver && !ended.has(round) && !unproven.has(`${round} ${claim}`);
    const outcome = isOpen
      ? 'it is looked up.'
      : unproven.has(`${round} ${claim}`)
        ? 'nothing was found.'
        : 'a passage was found.';
    return { text: shortened(claim), note: `Round ${round}: ${outcome}` };
  });
}

const refusedItem = ({ round, agent, section, reason }: Fact<'PLAN_PART_REFUSED'>): ProjectedItem => ({
  text: shortened(reason),
  note: `Round ${round}, ${agent}, ${sectionTitle(section)}`,
});

/** `technology stack` for `technologyStack`. */
function sectionTitle(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

function listOf(id: string, title: string, empty: string, items: readonly ProjectedItem[]): ProjectionSection {
  return { kind: 'list', id, title, empty, items: items.slice(0, MOST_PROJECTED), total: items.length };
}

function whyNoPdf({ compiled }: PlanContext, note: string | undefined, isOver: boolean): string {
  if (compiled?.kind === 'failed') return `${note ?? 'LaTeX does not compile the plan.'} ${compiled.errors}`;
  if (compiled?.kind === 'absent') return note ?? 'There is no LaTeX where commands run.';
  if (isOver) return 'The run ended before the plan was compiled. The plan is there as Markdown and as .tex.';
  return 'The PDF is compiled when the planning ends, where LaTeX is installed. Until then there is the plan as Markdown.';
}
