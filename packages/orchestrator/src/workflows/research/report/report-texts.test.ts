/** The texts of a report: what an update changes, and what an agent is shown of them. */
import { expect, it } from 'vitest';
import {
  directionsOf,
  LONGEST_SHOWN,
  LONGEST_TEXTS,
  MOST_THEMES,
  NO_TEXTS,
  shownReport,
  touchedBy,
  updated,
} from './report-texts.ts';
import type { Finding, ReportTexts, ReportUpdate } from '../types.ts';

const UPDATE: ReportUpdate = { themes: [], conflicts: [], openQuestions: [], directions: [] };
const theme = (title: string, findings: readonly string[], id: string | null = null) => ({
  id,
  title,
  text: `On ${title}.`,
  findings,
});

const finding = (id: string, claim: string): Finding => ({
  id,
  claim,
  evidence: [],
  sources: [],
  confidence: 'medium',
  round: 1,
});

it('adds and rewrites themes, and keeps the findings that a rewritten one had', () => {
  const first = updated(NO_TEXTS, { ...UPDATE, themes: [theme('Age', ['F1'])] }, ['F1']);
  expect(first.themes).toEqual([{ id: 'T1', title: 'Age', text: 'On Age.', findings: ['F1'] }]);
  const second = updated(first, { ...UPDATE, themes: [theme('Ages', ['F2'], 'T1'), theme('State', [])] }, ['F2']);
  expect(second.themes).toEqual([
    { id: 'T1', title: 'Ages', text: 'On Ages.', findings: ['F1', 'F2'] },
    { id: 'T2', title: 'State', text: 'On State.', findings: [] },
  ]);
});

it('gives a finding a place that the agent gave none', () => {
  const { themes } = updated(NO_TEXTS, UPDATE, ['F1', 'F2']);
  expect(themes).toEqual([{ id: 'T1', title: 'Further findings', text: '', findings: ['F1', 'F2'] }]);
  expect(updated({ ...NO_TEXTS, themes }, UPDATE, ['F3']).themes).toEqual([
    { id: 'T1', title: 'Further findings', text: '', findings: ['F1', 'F2', 'F3'] },
  ]);
});

it('has no more themes than a reader can hold, and loses no finding of one too many', () => {
  let texts: ReportTexts = NO_TEXTS;
  for (let number = 1; number <= MOST_THEMES + 3; number += 1)
    texts = updated(texts, { ...UPDATE, themes: [theme(`Theme ${number}`, [`F${number}`])] }, [`F${number}`]);
  expect(texts.themes).toHaveLength(MOST_THEMES);
  expect(texts.themes.flatMap(({ findings }) => findings)).toHaveLength(MOST_THEMES + 3);
});

it('keeps texts that the update leaves out, and conflicts by their ids', () => {
  const conflict = {
    about: 'Year',
    positions: [
      { text: '1288', findings: ['F1'] },
      { text: '1291', findings: ['F2'] },
    ],
    resolution: null,
  };
  const first = updated(NO_TEXTS, { ...UPDATE, background: 'Bells.', conflicts: [{ id: null, ...conflict }] }, []);
  const second = updated(
    first,
    { ...UPDATE, conflicts: [{ ...conflict, id: 'C1', resolution: 'It is 1288 [F1].' }] },
    [],
  );
  expect(second.background).toBe('Bells.');
  expect(second.conflicts).toEqual([{ ...conflict, id: 'C1', resolution: 'It is 1288 [F1].' }]);
});

it('shows whole only the themes that new findings touch', () => {
  const themes = [
    { id: 'T1', title: 'Casting of bells', text: 'Bronze was melted in furnaces near the church.', findings: ['F1'] },
    { id: 'T2', title: 'Markets', text: 'Sellers gather on Saturdays.', findings: ['F2'] },
  ];
  const claim = 'Bronze for bells was melted in open furnaces.';
  expect(touchedBy(themes, [claim]).map(({ id }) => id)).toEqual(['T1']);
  const shown = shownReport({ ...NO_TEXTS, themes }, [finding('F3', claim)]);
  expect(shown).toContain('T1 Casting of bells:\nBronze was melted');
  expect(shown).not.toContain('T2 Markets:\n');
  expect(shown).toContain('T2 Markets (findings: 1)');
});

/** Texts of a report after so many rounds, in each of which the texts have their full length. */
function textsAfter(rounds: number): ReportTexts {
  const long = (word: string, characters: number): string => `${word} `.repeat(characters / 2).slice(0, characters);
  return Array.from({ length: rounds }).reduce<ReportTexts>(
    (texts, _, round) =>
      updated(
        texts,
        {
          ...UPDATE,
          executiveSummary: long('Summary', LONGEST_TEXTS.executiveSummary),
          background: long('Background', LONGEST_TEXTS.background),
          analysis: long('Analysis', LONGEST_TEXTS.analysis),
          themes: [1, 2, 3].map((number) => ({
            id: null,
            title: long(`Theme ${round} ${number}`, 120),
            text: long('Bronze furnaces melted bells', LONGEST_TEXTS.theme),
            findings: [`F${round * 3 + number}`],
          })),
          conflicts: [1, 2, 3].map((number) => ({
            id: null,
            about: long(`Conflict ${round} ${number}`, 200),
            positions: [],
            resolution: null,
          })),
          openQuestions: Array.from({ length: 15 }, (_, index) => long(`Question ${index}`, 300)),
        },
        [],
      ),
    NO_TEXTS,
  );
}

it.each(['touched', 'analysis', 'all'] as const)(
  'shows no more of a report of thirty rounds than of one of five: %s',
  (wanted) => {
    const shown = (rounds: number) =>
      shownReport(textsAfter(rounds), [finding('F999', 'Bronze furnaces melted bells.')], wanted);
    expect(shown(30).length / shown(5).length).toBeLessThan(1.2);
    expect(shown(30).length).toBeLessThanOrEqual(LONGEST_SHOWN);
    expect(shown(30)).toContain(`Executive summary:\n${textsAfter(1).executiveSummary}`);
    expect(shown(30)).toContain('Conflicts:\n');
  },
);

it('shows the analysis and the background whole where they are to be worked on and there is room', () => {
  const texts = { ...NO_TEXTS, analysis: 'So it is. '.repeat(100), background: 'Once upon a time. '.repeat(100) };
  const isWhole = (wanted: 'touched' | 'analysis' | 'all') => {
    const shown = shownReport(texts, [], wanted);
    return [shown.includes(texts.analysis), shown.includes(texts.background)];
  };
  expect([isWhole('touched'), isWhole('analysis'), isWhole('all')]).toEqual([
    [false, false],
    [true, false],
    [true, true],
  ]);
});

it('asks the request itself where the synthesiser named no question, and analysts only where there is code', () => {
  const input = { topic: 'Bells', researchers: 2, analysts: 1 } as never;
  const proposed = [1, 2, 3].map((number) => ({ kind: 'web' as const, question: `Question ${number}?` }));
  expect(directionsOf({ input, hasCode: true, request: 'Why?' }, proposed)).toEqual([
    { kind: 'web', question: 'Question 1?' },
    { kind: 'web', question: 'Question 2?' },
    { kind: 'repository', question: 'Why?' },
  ]);
  expect(directionsOf({ input, hasCode: false, request: 'Why?' }, [])).toEqual([{ kind: 'web', question: 'Why?' }]);
});
