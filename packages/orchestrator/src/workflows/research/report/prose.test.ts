/** Sentences of a report stay only where findings support them. */
import { describe, expect, it } from 'vitest';
import { supported as supportedAbout, withOwnWordsMarked } from './prose.ts';
import type { Finding, ReportUpdate } from '../types.ts';

const FINDINGS: readonly Finding[] = [
  {
    id: 'F1',
    claim: 'The oldest bell was cast in 1288.',
    evidence: [
      { quote: 'The oldest bell was cast in 1288 and weighs 4,500 kilograms.', address: 'https://a.test/', hash: 'h' },
    ],
    sources: [],
    confidence: 'high',
    round: 1,
  },
  {
    id: 'F2',
    claim: 'Parish records name 1291.',
    evidence: [{ quote: 'Records of the parish name the year 1291.', address: 'https://b.test/', hash: 'i' }],
    sources: [],
    confidence: 'low',
    round: 1,
  },
  {
    id: 'F3',
    claim: 'It is unproven that the plant leaks waste.',
    evidence: [{ quote: 'the plant leaks waste into the river', address: 'https://c.test/', hash: 'j' }],
    sources: [],
    confidence: 'low',
    round: 1,
  },
];
const UPDATE: ReportUpdate = { themes: [], conflicts: [], openQuestions: [], directions: [] };
const supported = (update: ReportUpdate, findings: readonly Finding[]) =>
  supportedAbout(update, findings, 'Bells of Aldermoor');
const checked = (executiveSummary: string) => {
  const { update, unsupported } = supported({ ...UPDATE, executiveSummary }, FINDINGS);
  return { text: update.executiveSummary, unsupported };
};

describe('a sentence', () => {
  it.each([
    'The oldest bell was cast in 1288 [F1].',
    'One source says 1288 [F1] and another 1291 [F2].',
    'Bells matter to a town.',
    'The bell of Aldermoor was cast in 1288 [F1, F2].',
    'It is told at https://a.test/ [F1].',
    'Two paragraphs.\n\n- one item [F1]\n- another one [F2]',
    'Neither source says why [F1][F2].',
    'The parish says "Records of the parish name" the year [F2].',
  ])('stays: %s', (text) => {
    expect(checked(text)).toEqual({ text, unsupported: [] });
  });

  it.each([
    ['It was cast in 1300 [F1].', 'It was cast in 1300 [F1].'],
    ['It was cast in 1288.', 'It was cast in 1288.'],
    ['It was cast in 1288 [F2].', 'It was cast in 1288 [F2].'],
    ['Nobody knows [F9].', 'Nobody knows [F9].'],
    ['Nobody knows [F1, F9].', 'Nobody knows [F1, F9].'],
    ['The council of Brackenford said so [F1].', 'The council of Brackenford said so [F1].'],
    ['It belongs to Brackenford.', 'It belongs to Brackenford.'],
    ['It weighs nine thousand kilograms [F1].', 'It weighs nine thousand kilograms [F1].'],
    ['Prizes are at https://prizes.test/ for all.', 'Prizes are at https://prizes.test/ for all.'],
    ['It weighs 9,000 kilograms. [F1]', 'It weighs 9,000 kilograms [F1].'],
    ['It was not cast in 1288 [F1].', 'It was not cast in 1288 [F1].'],
    ['The youngest bell was cast in 1288 [F1].', 'The youngest bell was cast in 1288 [F1].'],
    ['The plant leaks waste [F3].', 'The plant leaks waste [F3].'],
    ['Twelve keepers died [F1].', 'Twelve keepers died [F1].'],
    ['Vaccines are dangerous and kill people [F1].', 'Vaccines are dangerous and kill people [F1].'],
    ['The parish says "the bell was sold twice" [F2].', 'The parish says "the bell was sold twice" [F2].'],
  ])('goes: %s', (text, sentence) => {
    expect(checked(`Bells matter. ${text} They ring.`)).toEqual({
      text: 'Bells matter. They ring.',
      unsupported: [sentence],
    });
  });

  it.each(['It weighs 4,500 kilograms. [F1] It rings.', 'It weighs 4,500 kilograms.[F1] It rings.'])(
    'has its citations before the full stop: %s',
    (text) => {
      expect(checked(text)).toEqual({ text: 'It weighs 4,500 kilograms [F1]. It rings.', unsupported: [] });
    },
  );

  it('that is all of a line takes the line with it', () => {
    expect(checked('- It was cast in 1300 [F1].\n- It rings [F1].').text).toBe('- It rings [F1].');
  });
});

it('leaves unknown findings out of lists, and a conflict with one position left', () => {
  const position = (text: string, findings: readonly string[]) => ({ text, findings });
  const { update, unsupported } = supported(
    {
      ...UPDATE,
      themes: [{ id: null, title: 'Age', text: 'Old [F1].', findings: ['F1', 'F9'] }],
      conflicts: [
        {
          id: null,
          about: 'Year',
          positions: [position('1288', ['F1']), position('1291', ['F2', 'F8'])],
          resolution: null,
        },
        {
          id: null,
          about: 'Weight',
          positions: [position('4,500', ['F1']), position('9,000', ['F2'])],
          resolution: null,
        },
      ],
    },
    FINDINGS,
  );
  expect(update.themes[0]?.findings).toEqual(['F1']);
  expect(update.conflicts.map(({ about, positions }) => [about, positions.map(({ findings }) => findings)])).toEqual([
    ['Year', [['F1'], ['F2']]],
  ]);
  expect(unsupported).toEqual(['9,000']);
});

it('leaves an address that no finding rests on out of titles and questions', () => {
  const position = { text: 'It is old.', findings: ['F1'] };
  const { update, unsupported } = supported(
    {
      ...UPDATE,
      themes: [{ id: null, title: 'Age, see https://prizes.test/x', text: 'Old.', findings: [] }],
      conflicts: [{ id: null, about: 'Year of https://a.test/', positions: [position, position], resolution: null }],
      openQuestions: ['Who wins at https://prizes.test/?', 'Which year?'],
    },
    FINDINGS,
  );
  expect(update.themes[0]?.title).toBe('Age, see');
  expect(update.conflicts[0]?.about).toBe('Year of https://a.test/');
  expect(update.openQuestions).toEqual(['Which year?']);
  expect(unsupported).toEqual(['Who wins at https://prizes.test/?']);
});

it('leaves the text before it where nothing of a text is supported', () => {
  const { update, unsupported } = supported(
    { ...UPDATE, executiveSummary: 'It was cast in 1300 [F1].', background: '', analysis: 'It rings [F1].' },
    FINDINGS,
  );
  expect(update).toMatchObject({ background: '', analysis: 'It rings [F1].' });
  expect(update.executiveSummary).toBeUndefined();
  expect(unsupported).toEqual(['It was cast in 1300 [F1].']);
});

it('replaces titles with a number or name that no finding has', () => {
  const position = { text: 'It is old.', findings: ['F1'] };
  const { update, unsupported } = supported(
    {
      ...UPDATE,
      themes: [{ id: null, title: 'The bell killed 900 people', text: 'Old.', findings: [] }],
      conflicts: [{ id: null, about: 'Did Vossfeld cast it?', positions: [position, position], resolution: null }],
    },
    FINDINGS,
  );
  expect(update.themes[0]?.title).toBe('Findings');
  expect(update.conflicts[0]?.about).toBe('The sources differ');
  expect(unsupported).toEqual(['The bell killed 900 people', 'Did Vossfeld cast it?']);
});

it('marks sentences that name no finding', () => {
  expect(withOwnWordsMarked('A is so. B is so [F1]. C.\n\n- one item\n- two [F1]\nThese are:\n# Head')).toBe(
    'A is so.† B is so [F1]. C.\n\n- one item†\n- two [F1]\nThese are:\n# Head',
  );
});
