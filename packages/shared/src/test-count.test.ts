/** Counts of tests in words. */
import { expect, it } from 'vitest';
import type { Baseline } from './run.ts';
import { baselineText, failedChecksText, failureText, moreText, namedTests, testCountText } from './test-count.ts';

const tests = { runner: 'pytest', executed: 12, failed: 0, skipped: 1, finished: true };
const command = { command: 'pytest', exitCode: 0, durationMs: 1, output: '' };
const baseline: Baseline = {
  commit: 'c',
  codeTree: 't',
  passed: true,
  command,
  sandbox: 'bubblewrap',
  tests: { ...tests, executed: 11 },
};

it('says how many tests ran, what became of them, and how many the base commit has', () => {
  expect(testCountText({ tests, baseline })).toBe('12 tests ran (pytest), 1 skipped; on the base commit it was 11');
  expect(testCountText({ tests: { ...tests, executed: 1, failed: 1, skipped: 0, finished: false } })).toBe(
    '1 test ran (pytest), 1 failed, not to their end',
  );
});

it('says what is not known, and nothing of evidence from before tests were counted', () => {
  const { tests: _, ...uncounted } = baseline;
  expect(testCountText({ baseline: uncounted })).toBe(
    'how many tests ran is not known; on the base commit it is not known either',
  );
  expect(testCountText({ tests }, { ...baseline, failure: 'no install' })).toContain(
    'could not be run on the base commit',
  );
  // Found out by the checks themselves, when what was in the way was mended.
  expect(testCountText({ tests, baseline }, { ...baseline, failure: 'no install' })).toContain('it was 11');
  expect(testCountText({})).toBeNull();
});

it('tells the outcome of the base commit, with what is missing and which tests failed', () => {
  expect(baselineText(baseline)).toBe('On the base commit the checks passed; 11 tests ran, 0 failed.');
  const failedNames = ['a: v', 'a: w', 'a: x', 'a: y'];
  const red: Baseline = {
    ...baseline,
    passed: false,
    command: { ...command, exitCode: 1 },
    tests: { ...tests, executed: 11, failed: 4, failedNames },
  };
  expect(baselineText(red)).toBe(
    'On the base commit the checks failed already (exit code 1); 11 tests ran, 4 failed: a: v, a: w, a: x and 1 more.',
  );
  expect(failureText(red)).toBe('4 failed: a: v, a: w, a: x and 1 more');
  const { tests: _, ...uncounted } = red;
  const without: Baseline = { ...uncounted, command: { ...command, exitCode: 127 }, missingTool: 'xo' };
  expect(baselineText(without)).toBe(
    'On the base commit the checks failed already (exit code 127); the program xo is missing.',
  );
  expect(failureText(without)).toBe('the program xo is missing');
  expect(failureText({ ...uncounted, command: { ...command, exitCode: null } })).toBe('they came to no end');
  expect(baselineText({ ...uncounted, missingTool: 'uv', failure: 'no install' })).toBe(
    'The checks could not be run on the base commit; the program uv is missing: no install',
  );
});

it('names the failed tests of failed checks without their files, and the commands where no test is known to have failed', () => {
  const commands = [command, { ...command, command: 'npm test', exitCode: 1 }];
  const failedNames = ['test/sum.test.js: adds two numbers', 'test/sum.test.js: of\nzero', 'c', 'd'];
  const red = (failed: number) => ({ ...tests, executed: 4, failed, failedNames: failedNames.slice(0, failed) });
  expect(failedChecksText({ commands, tests: red(1) })).toBe('1 of 4 tests failed: adds two numbers');
  expect(failedChecksText({ commands, tests: red(4) })).toBe(
    '4 of 4 tests failed: adds two numbers, of zero, c and 1 more',
  );
  expect(failedChecksText({ commands, tests })).toBe('`npm test` (exit code 1)');
  expect(failedChecksText({ commands: [] })).toBe('no check ran');
});

it('lists failed tests by their outcome on the base commit, and says of each list how many it leaves out', () => {
  const names = (prefix: string) => Array.from({ length: 20 }, (_, index) => `${prefix}.js: ${index}`);
  const listed = (parts: object) =>
    namedTests({ ...tests, ...parts }).map((list) => [list.title, list.names.length, moreText(list)]);
  expect(listed({ failed: 5020, failedNames: names('A'), failedAnew: names('z'), failedAnewCount: 5000 })).toEqual([
    ['Failed, and not on the base commit', 20, 'and 4980 more, whose names are not stored'],
    ['Failed, on the base commit too', 0, '20 tests, whose names are not stored'],
  ]);
  expect(listed({ failed: 320, failedNames: names('a'), failedAnew: names('a'), failedAnewCount: 20 })).toEqual([
    ['Failed, and not on the base commit', 20, ''],
    ['Failed, on the base commit too', 0, '300 tests, whose names are not stored'],
  ]);
  expect(listed({ failed: 401, failedNames: names('z'), failedAnew: ['q.js: new'] })).toEqual([
    ['Failed, and not on the base commit', 1, ''],
    ['Failed, on the base commit too', 20, 'and 380 more, whose names are not stored'],
  ]);
  // Of evidence from before new ones were counted, the others may be new as well.
  expect(listed({ failed: 320, failedNames: names('a'), failedAnew: names('a') })).toEqual([
    ['Failed, and not on the base commit', 20, ''],
    ['Failed', 0, '300 tests, whose names are not stored'],
  ]);
  expect(listed({ failed: 2, failedNames: ['a: x', 'b: y'] })).toEqual([['Failed', 2, '']]);
});

it('lists a test of several with one name under each of their outcomes, and the file of a test once', () => {
  const [first, other] = namedTests({ ...tests, failed: 2, failedNames: ['a: x', 'a: x'], failedAnew: ['a: x'] });
  expect([first?.names, other?.names]).toEqual([['a: x'], ['a: x']]);
  const failedNames = ['t/test_a.py: t/test_a.py::test_adds[0]', 't/b.py: t/bb.py::x'];
  expect(namedTests({ ...tests, failed: 2, failedNames })[0]?.names).toEqual([
    't/test_a.py::test_adds[0]',
    't/b.py: t/bb.py::x',
  ]);
});
