import { expect, it } from 'vitest';
import { ageOf } from './times.ts';

it.each([
  [-5_000, 'now'],
  [59_999, 'now'],
  [60_000, '1 min'],
  [3_599_999, '59 min'],
  [3_600_000, '1 h'],
  [47 * 3_600_000, '1 d'],
])('calls %i ms %s', (ms, words) => {
  const now = Date.parse('2030-01-03T00:00:00.000Z');
  expect(ageOf(new Date(now - ms).toISOString(), now)).toBe(words);
});
