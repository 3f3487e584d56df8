/** The projection of a research run: what each event adds to it, and its limits. */
import type { JsonObject, ProjectionSection, WorkflowEvent } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import type { ResearchFact } from './events.ts';
import { projectionOf } from './projection.ts';
import { NO_TEXTS } from './report/report-texts.ts';
import { researchInputSchema, type ResearchContext } from './types.ts';

const AT = (second: number): string => new Date(Date.UTC(2030, 0, 1) + second * 1_000).toISOString();

/** Facts as the log has them, a second apart. */
const events = (...facts: readonly ResearchFact[]): readonly WorkflowEvent[] =>
  facts.map(({ type, ...payload }, index) => ({
    id: `e-${index + 1}`,
    position: index + 1,
    workflowRunId: 'r-1',
    sequence: index + 1,
    type,
    origin: 'emitted',
    payload: payload as JsonObject,
    timestamp: AT(index),
  }));

const aContext = (parts: Partial<ResearchContext> = {}): JsonObject =>
  ({
    input: researchInputSchema.parse({ topic: 'Bells' }),
    texts: NO_TEXTS,
    round: 1,
    agents: null,
    compiled: null,
    ...parts,
  }) as unknown as JsonObject;

type OfKind<Kind extends ProjectionSection['kind']> = Extract<ProjectionSection, { kind: Kind }>;

function section<Kind extends ProjectionSection['kind']>(
  kind: Kind,
  id: string,
  log: readonly WorkflowEvent[],
  context = aContext(),
): OfKind<Kind> {
  const found = projectionOf(aRun(), log, context).sections.find((each) => each.id === id);
  if (found?.kind !== kind) throw new Error(`there is no ${kind} '${id}'`);
  return found as OfKind<Kind>;
}

const [ONE, TWO] = ['agent-1-researcher-1', 'agent-1-analyst-1'];
const started: ResearchFact = {
  type: 'ROUND_STARTED',
  round: 1,
  questions: ['How old?', 'Which files?'],
  agents: [ONE, TWO],
};
const read = (address: string, parts: object = {}): ResearchFact => ({
  type: 'SOURCE_FETCHED',
  round: 1,
  agent: ONE,
  requested: address,
  address,
  at: AT(1),
  hash: 'abcdef0123456789',
  title: 'The oldest bell',
  author: '',
  published: '',
  mediaType: 'text/html',
  ...parts,
});
const kept = (finding: string, address: string, parts: object = {}): ResearchFact => ({
  type: 'FINDING_KEPT',
  round: 1,
  finding,
  agent: ONE,
  claim: 'It is old.',
  confidence: 'high',
  evidence: [{ quote: 'old', address, hash: 'abcdef0123456789' }],
  sources: [{ address, credibility: 'medium', why: 'A page of the town.' }],
  ...parts,
});
const ended = (round: number, parts: object = {}): ResearchFact => ({
  type: 'ROUND_ENDED',
  round,
  agents: 2,
  failed: 0,
  kept: 2,
  known: 0,
  leftOut: 0,
  ...parts,
});
const WEB = 'https://example.org/bells';

describe('The rounds of a research', () => {
  it('say what each agent brought, and what came of the round', () => {
    const log = events(
      started,
      read(WEB),
      { type: 'SOURCE_REFUSED', round: 1, agent: ONE, address: 'https://example.org/gone', at: AT(2), reason: '404' },
      { type: 'AGENT_FAILED', round: 1, agent: TWO, reason: 'it stalled' },
      kept('F1', WEB),
      { type: 'CITATION_LEFT_OUT', round: 1, agent: ONE, claim: 'x', quote: 'y', address: WEB, reason: 'not there' },
      ended(1, { kept: 1, leftOut: 1, failed: 1 }),
      { type: 'RESEARCH_ENDED', round: 1, why: 'it has had its 1 rounds' },
    );
    expect(section('timeline', 'rounds', log).entries).toEqual([
      {
        title: 'Round 1',
        startedAt: AT(0),
        endedAt: AT(6),
        mark: { text: 'quiet', tone: 'quiet' },
        facts: ['1 new finding', '0 known', '1 left out', 'The research ends: it has had its 1 rounds'],
        parts: [
          { title: 'Researcher 1', text: 'How old?', facts: ['1 read', '1 not read', '1 new', '1 left out'] },
          { title: 'Analyst 1', text: 'Which files?', note: 'Came to nothing: it stalled', tone: 'bad', facts: [] },
        ],
      },
    ]);
  });

  it('are quiet below the threshold alone, and neither quiet nor productive where all agents failed', () => {
    const marks = (parts: object) =>
      section('timeline', 'rounds', events(started, ended(1, parts))).entries.map(({ mark }) => mark?.text);
    expect(marks({ kept: 1 })).toEqual(['quiet']);
    expect(marks({ kept: 2 })).toEqual(['productive']);
    expect(marks({ kept: 0, failed: 2 })).toEqual(['no agent came to anything']);
  });

  it('name the agents that are at work', () => {
    const fan = { ids: [ONE, TWO], atOnce: 2, policy: 'collect', running: [`${ONE}-again`], outcomes: {} } as const;
    const [round] = section('timeline', 'rounds', events(started), aContext({ agents: fan })).entries;
    expect(round?.endedAt).toBeNull();
    expect(round?.parts.map(({ facts }) => facts)).toEqual([['at work'], []]);
  });

  it('are drawn with the threshold as a line', () => {
    const plot = section('plot', 'new-findings', events(started, ended(1), ended(2, { kept: 0 })));
    expect(plot.labels).toEqual(['1', '2']);
    expect(plot.series).toEqual([{ label: 'New findings', values: [2, 0] }]);
    expect(plot.threshold?.value).toBe(2);
    expect(plot.about).toContain('after 3 rounds in a row with fewer than 2 new findings');
  });

  it('have not begun at first', () => {
    expect(section('timeline', 'rounds', []).empty).toBe('The first round has not begun.');
    expect(section('table', 'sources', []).total).toBe(0);
  });
});

describe('The sources of a research', () => {
  const rows = (...facts: readonly ResearchFact[]) =>
    section('table', 'sources', events(...facts)).rows.map((row) => row.map(({ text }) => text));

  it('are counted by the findings that quote them, most quoted first', () => {
    const table = rows(
      read('https://example.org/other', { title: 'Other' }),
      read(`${WEB}/`, { requested: WEB }),
      read(`${WEB}/`, { requested: WEB }),
      kept('F1', WEB),
      kept('F2', WEB, { sources: [{ address: WEB, credibility: 'low', why: 'Copied.' }] }),
      kept('F3', 'file:README.md'),
    );
    expect(table).toEqual([
      ['The oldest bell', 'Read', '2 findings', 'low', '', 'abcdef01'],
      ['file:README.md', 'File of the project', '1 finding', 'medium', '–', 'abcdef01'],
      ['Other', 'Read', 'no finding', '–', '', 'abcdef01'],
    ]);
  });

  it('have the reason why a page was not read', () => {
    const refused: ResearchFact = {
      type: 'SOURCE_REFUSED',
      round: 1,
      agent: ONE,
      address: 'https://example.org/private',
      at: AT(3),
      reason: 'robots.txt forbids it',
    };
    const [row] = section('table', 'sources', events(refused, refused)).rows;
    expect(row?.[1]).toEqual({ text: 'Not read', note: 'robots.txt forbids it', tone: 'bad' });
    expect(row?.[4]).toEqual({ text: '', at: AT(3) });
  });

  it('are cut to what a screen can show, and lead to addresses of the web alone', () => {
    const long = `https://example.org/${'a'.repeat(2_000)}`;
    const table = section(
      'table',
      'sources',
      events(read(long, { title: 'T'.repeat(900) }), read('javascript:alert(1)', { title: '', hash: 'other' })),
    );
    const [[first = { text: '' }] = [], [second = { text: '' }] = []] = table.rows;
    expect(first.text).toHaveLength(500);
    expect(first.note).toHaveLength(300);
    expect(first.href).toBe(long);
    expect(second).toEqual({ text: 'javascript:alert(1)' });
  });
});

describe('The rest of a research', () => {
  it('lists citations and sentences that were left out, with their reasons', () => {
    const { items } = section(
      'list',
      'left-out',
      events(
        {
          type: 'CITATION_LEFT_OUT',
          round: 2,
          agent: ONE,
          claim: 'Seven bishops.',
          quote: 'seven',
          address: WEB,
          reason: 'It is not there.',
        },
        { type: 'SENTENCE_LEFT_OUT', round: 2, sentence: 'It weighs 3 tons.' },
      ),
    );
    expect(items).toEqual([
      {
        text: 'Seven bishops.',
        note: 'Round 2, Researcher 1: It is not there.',
        quote: 'seven',
        source: { text: WEB, href: WEB },
      },
      { text: 'It weighs 3 tons.', note: 'Round 2, report: no finding supports this sentence.' },
    ]);
  });

  it('has open questions and contradictions from the newest texts', () => {
    const conflict = {
      id: 'C1',
      about: 'Year',
      positions: [{ text: '1288', findings: ['F1', 'F2'] }],
      resolution: null,
    };
    const context = aContext({ texts: { ...NO_TEXTS, openQuestions: ['Who cast it?'], conflicts: [conflict] } });
    expect(section('list', 'open-questions', [], context).items).toEqual([{ text: 'Who cast it?' }]);
    expect(section('list', 'contradictions', [], context).items).toEqual([
      { text: 'Year', note: 'Not resolved.', items: [{ text: '1288 [F1, F2]' }] },
    ]);
  });

  it('says why there is no PDF', () => {
    const why = (context: Partial<ResearchContext>, log: readonly WorkflowEvent[] = [], run = aRun()) =>
      projectionOf(run, log, aContext(context)).absent?.['research_pdf'];
    expect(why({})).toContain('compiled when the research ends');
    const note = 'There is no LaTeX where commands run: the report is there as Markdown and as .tex.';
    expect(why({ compiled: { kind: 'absent' } }, events({ type: 'REPORT_COMPILED', pages: 0, note }))).toBe(note);
    expect(why({ compiled: { kind: 'failed', errors: 'line 3: Undefined control sequence' } })).toContain('line 3');
    expect(why({}, [], aRun({ status: 'cancelled', completedAt: AT(9) }))).toContain('ended before');
  });

  it('stays small in the longest research', () => {
    const rounds = Array.from({ length: 30 }, (_, index) => index + 1);
    const log = events(
      ...rounds.flatMap((round): readonly ResearchFact[] => [
        { ...started, round },
        ...Array.from({ length: 50 }, (_, page) => read(`${WEB}/${round}/${page}`, { round, title: 'T'.repeat(120) })),
        ended(round),
      ]),
    );
    const projection = projectionOf(aRun(), log, aContext({ round: 30 }));
    expect(section('table', 'sources', log).rows).toHaveLength(1_500);
    expect(JSON.stringify(projection).length).toBeLessThan(1_000_000);
    const more = events(...Array.from({ length: 2_001 }, (_, page) => read(`${WEB}/${page}`)));
    expect(section('table', 'sources', more)).toMatchObject({ total: 2_001, rows: { length: 2_000 } });
  });
});
