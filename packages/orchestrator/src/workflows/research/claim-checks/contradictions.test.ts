/** Findings that contradict each other. */
import { expect, it } from 'vitest';
import { contradictionsIn, unnamedContradictions } from './contradictions.ts';
import type { Finding } from '../types.ts';

const findings = (...claims: readonly string[]): readonly Finding[] =>
  claims.map((claim, index) => ({
    id: `F${index + 1}`,
    claim,
    evidence: [],
    sources: [],
    confidence: 'low',
    round: 1,
  }));
const pairs = (...claims: readonly string[]) =>
  contradictionsIn(findings(...claims)).map(([one, other]) => `${one.id} ${other.id}`);

it.each([
  ['The bell of Aldermoor was cast in 1288.', 'According to the parish the bell of Aldermoor was cast in 1291.'],
  ['The bell of Aldermoor weighs 4,500 kilograms.', 'The bell of Aldermoor weighs 5,400 kilograms.'],
  ['The bell of Aldermoor has a crack.', 'The bell of Aldermoor has no crack.'],
  ['Sodium cells last 3,000 cycles at 25 degrees.', 'At 25 degrees sodium cells last 1,200 cycles.'],
  ['Sales of melatonin rose in Sweden in 2020.', 'In Sweden, sales of melatonin fell in 2020.'],
])('contradict each other: %j and %j', (one, other) => {
  expect(pairs(one, other)).toEqual(['F1 F2']);
});

it.each([
  ['The bell of Aldermoor was cast in 1288.', 'The bell of Brackenford was cast in 1291.'],
  ['The bell of Aldermoor weighs 4,500 kilograms.', 'The bell of Aldermoor rings 12 times a day.'],
  ['The oldest bell of the town was cast in 1288.', 'The oldest bell of the town weighs 4,500 kilograms.'],
  ['The town had 3,000 people in 1900.', 'The town had 5,000 people in 1950.'],
  ['The bell of Aldermoor was cast.', 'The bell of Aldermoor was cast in 1288.'],
  ['The bell of Aldermoor weighs 4,500 kilograms.', 'The bell of Aldermoor weighs 4.5 thousand kilograms.'],
  ['The bell of Aldermoor was cast in 1288.', 'The bell of Aldermoor, the oldest of all, was cast in 1288.'],
])('do not contradict each other: %j and %j', (one, other) => {
  expect(pairs(one, other)).toEqual([]);
});

it('leaves out those of which a conflict has both', () => {
  const all = findings(
    'The bell weighs 3 tons at noon.',
    'The bell weighs 4 tons at noon.',
    'The bell weighs 5 tons at noon.',
  );
  const conflict = {
    id: 'C1',
    about: 'Weight',
    positions: [
      { text: '3', findings: ['F1'] },
      { text: '4', findings: ['F2'] },
    ],
    resolution: null,
  };
  const left = unnamedContradictions(all, [conflict]).map(([one, other]) => `${one.id} ${other.id}`);
  expect(left).toEqual(['F1 F3', 'F2 F3']);
});
