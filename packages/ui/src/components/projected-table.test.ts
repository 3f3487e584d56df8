import { expect, it } from 'vitest';
import { rowsWith } from './projected-table.tsx';

const rows = [
  [{ text: 'The oldest bell', note: 'https://example.org/bells' }, { text: 'Read' }],
  [{ text: 'Parish records' }, { text: 'Not read', note: 'robots.txt forbids it' }],
];
const found = (words: string): readonly string[] => rowsWith(rows, words).map(([cell]) => cell?.text ?? '');

it('finds rows with all words, in any cell, in the line below it and in any case', () => {
  expect(found('')).toEqual(['The oldest bell', 'Parish records']);
  expect(found('ROBOTS')).toEqual(['Parish records']);
  expect(found('read bell')).toEqual(['The oldest bell']);
  expect(found('bell parish')).toEqual([]);
});
