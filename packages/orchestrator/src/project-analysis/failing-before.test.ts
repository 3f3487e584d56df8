/** Tests when failing checks count as failing in the same way as on the base commit. */
import type { Baseline, CommandEvidence } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { type CheckedBefore, failsAsBefore } from './failing-before.ts';
import type { TestReport } from './test-report.ts';

const commandOf = (exitCode: number | null, output = ''): CommandEvidence => ({
  command: 'npm test',
  exitCode,
  durationMs: 1,
  output,
});
const reportOf = (executed: readonly string[], failed: readonly string[], finished = true): TestReport => ({
  count: { runner: 'r', executed: executed.length, failed: failed.length, skipped: 0, finished },
  executed,
  failed,
  files: [],
});
const before = ({
  exitCode,
  report,
  ...more
}: Partial<Baseline> & { exitCode: number | null; report?: TestReport }): CheckedBefore => ({
  baseline: {
    commit: 'c',
    codeTree: 't',
    passed: exitCode === 0,
    command: commandOf(exitCode),
    sandbox: 'bubblewrap',
    ...(report === undefined ? {} : { tests: report.count }),
    ...more,
  },
  executed: report?.executed ?? [],
  failed: report?.failed ?? [],
});
const red = before({ exitCode: 1, report: reportOf(['a: x', 'a: y', 'a: z'], ['a: x', 'a: y']) });

it('fails as before where the failed tests all failed before and none is gone', () => {
  const fails = (executed: readonly string[], failed: readonly string[], finished = true) =>
    failsAsBefore(red, commandOf(1), reportOf(executed, failed, finished));
  expect(fails(['a: x', 'a: y', 'a: z', 'b: new'], ['a: x', 'a: y'])).toBe(true);
  expect(fails(['a: x', 'a: y', 'a: z'], ['a: x'])).toBe(true);
  expect(fails(['a: x', 'a: y', 'a: z'], ['a: x', 'a: z'])).toBe(false);
  expect(fails(['a: x', 'a: y'], ['a: x', 'a: y'])).toBe(false);
  expect(fails(['a: x', 'a: y', 'a: z'], ['a: x'], false)).toBe(false);
  // Whatever fails now is no test.
  expect(fails(['a: x', 'a: y', 'a: z'], [])).toBe(false);
  expect(failsAsBefore(red, commandOf(1), null)).toBe(false);
});

it('fails as before where the same program is missing', () => {
  const without = before({ exitCode: 127, missingTool: 'xo' });
  expect(failsAsBefore(without, commandOf(127, 'sh: 1: xo: not found'), null)).toBe(true);
  expect(failsAsBefore(without, commandOf(127, 'sh: 1: ava: not found'), null)).toBe(false);
  expect(failsAsBefore(without, commandOf(1, '1 test failed'), null)).toBe(false);
  expect(failsAsBefore(without, commandOf(127, 'sh: 1: xo: not found'), reportOf(['a: x'], ['a: x']))).toBe(false);
});

it('fails as before with the same exit code where no test failed on either side', () => {
  const unknown = before({ exitCode: 2 });
  expect(failsAsBefore(unknown, commandOf(2), null)).toBe(true);
  expect(failsAsBefore(unknown, commandOf(1), null)).toBe(false);
  const lint = before({ exitCode: 1, report: reportOf(['a: x'], []) });
  expect(failsAsBefore(lint, commandOf(1), reportOf(['a: x'], []))).toBe(true);
  expect(failsAsBefore(lint, commandOf(1), reportOf(['a: x'], ['a: x']))).toBe(false);
});

it('does not where the base commit passed, was not checked, or the checks pass now', () => {
  const green = before({ exitCode: 0, report: reportOf(['a: x'], []) });
  expect(failsAsBefore(green, commandOf(1), reportOf(['a: x'], ['a: x']))).toBe(false);
  expect(failsAsBefore(before({ exitCode: null, failure: 'no install' }), commandOf(1), null)).toBe(false);
  expect(failsAsBefore(red, commandOf(0), reportOf(['a: x'], []))).toBe(false);
});
