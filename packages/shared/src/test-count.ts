/** Counts of tests in words, the same on every face. */
import type { Baseline, Evidence, TestCount } from './run.ts';

/** One line, such as `12 tests ran (node:test), 1 skipped; on the base commit it was 11`. `null` where nothing is known of either. */
export function testCountText(
  { tests, baseline }: Pick<Evidence, 'tests' | 'baseline'>,
  known?: Baseline,
): string | null {
  const before = known?.failure === undefined ? (known ?? baseline) : (baseline ?? known);
  if (tests === undefined && before === undefined) return null;
  const now = tests === undefined ? 'how many tests ran is not known' : countOf(tests);
  if (before === undefined) return now;
  return `${now}; ${baselineCountOf(before)}`;
}

function countOf({ runner, executed, failed, skipped, finished, replaced, rewritten }: TestCount): string {
  return [
    `${executed} ${executed === 1 ? 'test' : 'tests'} ran${runner === '' ? '' : ` (${runner})`}`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
    ...(finished ? [] : ['not to their end']),
    ...(replaced === undefined ? [] : ['what judges them was changed']),
    ...(rewritten === undefined ? [] : ['some were changed while they ran']),
  ].join(', ');
}

function baselineCountOf({ tests, failure }: Baseline): string {
  if (failure !== undefined) return 'the checks could not be run on the base commit';
  return tests === undefined
    ? 'on the base commit it is not known either'
    : `on the base commit it was ${tests.executed}`;
}
