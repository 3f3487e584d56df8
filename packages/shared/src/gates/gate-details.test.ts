import { expect, it } from 'vitest';
import { detailLines, firstDecisionAt } from './gate-details.ts';
import { gateInfoOf } from '../workflows/workflow-info.ts';

it('shows a text of a gate as it is, and nothing for what is empty or no text', () => {
  expect(detailLines('$ npm test\n  exit code 1')).toEqual(['$ npm test\n  exit code 1']);
  for (const empty of [undefined, null, ' ', true, { a: 'b' }, []]) expect(detailLines(empty)).toEqual([]);
});

it('shows a list of a gate with a line for each item', () => {
  expect(detailLines(['one', 2, ''])).toEqual(['one', '2']);
  const attempts = [
    { action: 'implement', summary: '', error: 'exit\n code 1' },
    { action: 'fix', summary: 'Rounded.', error: `${'x'.repeat(300)}${'y'.repeat(200)}` },
    { action: 'fix', summary: 'No idea.', error: 'No idea.' },
  ];
  expect(detailLines(attempts)).toEqual([
    'implement → exit code 1',
    `fix → Rounded. → ${'x'.repeat(100)} … ${'y'.repeat(200)}`,
    'fix → No idea.',
  ]);
});

it('shows a fact whole, however long it is', () => {
  const command = `npm test # ${'x'.repeat(10_000)}; echo end`;
  expect(detailLines([{ what: 'check command', value: command }])).toEqual([`check command → ${command}`]);
});

it('cuts a long item between its words', () => {
  const words = Array.from({ length: 100 }, (_, index) => `word${index}`);
  const [line = ''] = detailLines([words.join(' ')]);
  const [beginning = '', end = ''] = line.split(' … ');
  expect(line.length).toBeLessThan(310);
  for (const part of [beginning, end]) for (const word of part.split(' ')) expect(words).toContain(word);
});

it('offers no merge first while remarks wait, the forge has refused it, or red checks were accepted', () => {
  const info = gateInfoOf(undefined, 'pull_request');
  const decisions = ['approve', 'reject', 'accept', 'close'] as const;
  const first = (details: Readonly<Record<string, string | readonly string[]>>) =>
    firstDecisionAt(info, { decisions, details });
  expect(first({ url: 'https://forge.example/pull/1', waiting: [] })).toBe('approve');
  expect(first({ waiting: ['anna: Rename it.'] })).toBeUndefined();
  expect(first({ refused: 'a review is missing' })).toBeUndefined();
  expect(first({ failure: 'The checks fail.' })).toBeUndefined();
  expect(firstDecisionAt({}, { decisions: ['retry', 'reject'], details: {} })).toBe('retry');
});
