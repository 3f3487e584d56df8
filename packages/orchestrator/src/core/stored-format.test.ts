import { expect, it } from 'vitest';
import { faultOfFormat } from './stored-format.ts';

const SMALLER = 'The last commit of this program that reads it is 3b643746.';
const LARGER = 'A newer version of this program wrote it: start that version.';

it.each([
  [8, `has format 8, and this program reads formats 9 to 11. ${SMALLER}`],
  [12, `has format 12, and this program reads formats 9 to 11. ${LARGER}`],
  [0, `has no format number, and this program reads formats 9 to 11. ${SMALLER}`],
  [undefined, `has no format number, and this program reads formats 9 to 11. ${SMALLER}`],
  ['10', `has no format number, and this program reads formats 9 to 11. ${SMALLER}`],
  [9.5, `has no format number, and this program reads formats 9 to 11. ${SMALLER}`],
  [9, null],
  [10, null],
  [11, null],
])('of a program that reads formats 9 to 11, takes or refuses %j', (found, fault) => {
  expect(faultOfFormat(found, 11, 9)).toBe(fault);
});

it('names the one format that a program reads', () => {
  expect(faultOfFormat(1, 2)).toBe(`has format 1, and this program reads format 2. ${SMALLER}`);
});
