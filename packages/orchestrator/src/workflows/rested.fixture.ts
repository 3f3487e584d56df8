/** Outcomes of the activity that watches child runs. */
import type { JsonObject } from '@autonomous/shared';

/** Words of an activity that watches child runs, for one that waits at a gate. */
export function whyRested(kind: 'asks' | 'unfinished' | 'untouched'): JsonObject {
  if (kind === 'asks') return { why: 'Review the result' };
  const why = kind === 'untouched' ? 'the agent changed no file' : '2 of 4 tests failed: adds';
  return { why, hint: kind === 'untouched' ? why : `${why}\n\n$ npm test\nnot ok 1 - adds` };
}
