/** Reading of test reports, and the tests of one report that another lacks. */
import { expect, it } from 'vitest';
import { readTestReport, shownTest, testsFailedAnew, testsGone, testsNotRun } from './test-report.ts';

type Reported = readonly [file: string, name: string, outcome?: 'passed' | 'failed' | 'skipped'];

const reportOf = (...tests: readonly Reported[]) => {
  const lines = tests.map(([file, name, outcome = 'passed']) => ({ event: 'test', file, name, outcome }));
  const all = [{ event: 'start' }, ...lines, { event: 'end' }];
  const report = readTestReport(all.map((line) => JSON.stringify({ run: '1', runner: 'r', ...line })).join('\n'));
  if (report === null) throw new Error('no report');
  return report;
};
const namesOf = (...tests: readonly Reported[]) => reportOf(...tests).executed;

it('names the tests that failed', () => {
  const { count, failed } = reportOf(['b.js', 'adds', 'failed'], ['a.js', 'adds'], ['a.js', 'is 3', 'failed']);
  expect(count).toMatchObject({ runner: 'r', executed: 3, failed: 2, failedNames: ['a.js: is 3', 'b.js: adds'] });
  expect(failed).toEqual(['a.js: is 3', 'b.js: adds']);
  expect(reportOf(['a.js', 'adds']).count).not.toHaveProperty('failedNames');
});

it('takes of the name of a runner, and of a test, what can stand in a line of the server', () => {
  const entry = { run: '1', runner: 'vitest)\n\n## Approved by @octo/team ![p](x)', file: 'a.js' };
  const line = JSON.stringify({ ...entry, event: 'test', name: 'adds\n\n## all', outcome: 'failed' });
  expect(readTestReport(line)?.count).toMatchObject({
    runner: 'vitest Approved by octo team p x',
    failedNames: ['a.js: adds ## all'],
  });
});

it('is none where something else has written many lines of it', () => {
  const start = JSON.stringify({ run: '1', runner: 'r', event: 'start' });
  expect(readTestReport(`${start}\n${'{\n'.repeat(1_000)}`)).not.toBeNull();
  expect(readTestReport(`${start}\n${'{\n'.repeat(1_001)}`)).toBeNull();
});

it.each([
  ['UUIDs', 'gives 0b0f9c1e-3a52-4b1d-9e57-2f6c8d1a7b33', 'gives f3b1c2d4-aaaa-4bcd-8eef-aabbccddeeff'],
  ['hexadecimal digests', 'reads commit 3ac9bbf1', 'reads commit abcdef12'],
  ['words in base 36', 'makes k3j9x0a1b2c', 'makes 9zq8w7e6r5t'],
  ['ids of several kinds', 'reads commit 3ac9bbf1', 'reads commit 42'],
  ['times', 'at 12:00:01.5', 'at 9:59:33.25'],
])('takes names for the same that differ in %s', (_what, one, other) => {
  expect(testsFailedAnew(reportOf(['a.js', one, 'failed']), reportOf(['a.js', other, 'failed']))).toEqual([]);
});

it.each([
  ['adds one', 'adds two'],
  ['reads utf8decoder', 'reads base64encode'],
  ['deadbeef', 'facade'],
])('takes %s and %s for different names', (one, other) => {
  expect(testsFailedAnew(reportOf(['a.js', one, 'failed']), reportOf(['a.js', other, 'failed']))).toEqual([
    `a.js: ${other}`,
  ]);
});

it('tells tests apart that differ in a number and ran under their names before', () => {
  const before = reportOf(['a.js', 'pays 1 of 2', 'failed'], ['a.js', 'pays 2 of 2'], ['a.js', 'is 7', 'failed']);
  const now = reportOf(['a.js', 'pays 1 of 2'], ['a.js', 'pays 2 of 2', 'failed'], ['a.js', 'is 7', 'failed']);
  expect(testsFailedAnew(before, now)).toEqual(['a.js: pays 2 of 2']);
  // A second one of a name.
  const twice = reportOf(['a.js', 'is 7', 'failed'], ['a.js', 'is 7', 'failed']);
  expect(testsFailedAnew(before, twice)).toEqual(['a.js: is 7']);
});

it.each([
  ['white space', 'a b', 'a  b', 'a.js: a b'],
  ['an end that is not stored', `${'x'.repeat(300)} one`, `${'x'.repeat(300)} two`, `a.js: ${'x'.repeat(300)}…`],
])('tells names apart that differ in %s alone', (_what, one, other, shown) => {
  const before = reportOf(['a.js', one, 'failed'], ['a.js', other]);
  const now = reportOf(['a.js', one], ['a.js', other, 'failed']);
  expect(testsFailedAnew(before, now).map(shownTest)).toEqual([shown]);
  expect(now.count.failedNames).toEqual([shown]);
  expect(testsNotRun(before.executed, namesOf(['a.js', one])).map(shownTest)).toEqual([shown]);
});

it('puts tests that ran before first among those that fail now', () => {
  const now = reportOf(['a.js', 'new', 'failed'], ['a.js', 'old', 'failed'], ['b.js', 'new', 'failed']);
  expect(testsFailedAnew(reportOf(['a.js', 'old']), now)).toEqual(['a.js: old', 'a.js: new', 'b.js: new']);
});

it('misses tests by name where fewer ran in their file', () => {
  const before = namesOf(['a.js', 'adds'], ['a.js', 'adds zero'], ['b.js', 'halves'], ['b.js', 'halves']);
  expect(testsNotRun(before, namesOf(['a.js', 'adds'], ['b.js', 'halves'], ['c.js', 'new']))).toEqual([
    'a.js: adds zero',
    'b.js: halves',
  ]);
});

it('misses none in a file in which as many tests ran under other names', () => {
  const before = namesOf(['a.js', 'greets Alice'], ['a.js', 'greets Bob']);
  expect(testsNotRun(before, namesOf(['a.js', 'greets Carol'], ['a.js', 'greets Dan']))).toEqual([]);
});

it('does not take tests of another file for those that are gone, unless their names are the same', () => {
  const before = namesOf(['a.js', 'adds'], ['a.js', 'adds zero']);
  expect(testsGone(before, namesOf(['b.js', 'passes'], ['b.js', 'passes too']))).toEqual([
    'a.js: adds',
    'a.js: adds zero',
  ]);
  expect(testsGone(before, namesOf(['b.js', 'adds'], ['c.py', 'adds zero']))).toEqual([]);
  // One test elsewhere makes up for one.
  expect(testsGone(namesOf(['a.js', 'adds'], ['b.js', 'adds']), namesOf(['c.js', 'adds']))).toEqual(['b.js: adds']);
});

const lines = (...entries: readonly object[]) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
const OF = { run: '1', runner: 'mocha' };

it('a report names the files that hold tests, from the root of the project', () => {
  const text = lines(
    { ...OF, event: 'start' },
    { ...OF, event: 'file', path: 'packages/a/checks/sums.js' },
    { ...OF, event: 'test', name: 'adds', file: 'checks/sums.js', outcome: 'passed' },
    { ...OF, event: 'end' },
  );
  expect(readTestReport(text)).toMatchObject({
    count: { executed: 1, finished: true },
    executed: ['checks/sums.js: adds'],
    files: ['packages/a/checks/sums.js'],
  });
});

it('reads the files that a project’s own runner names with its tests, except those outside of the project', () => {
  const test = { event: 'test', name: 'x', outcome: 'passed' };
  const text = lines(
    { run: '1', runner: 'sh', event: 'start' },
    ...['./checks/app.sh', '/etc/passwd', '../other.sh', ''].map((file) => ({ run: '1', runner: 'sh', ...test, file })),
  );
  expect(readTestReport(text)?.files).toEqual(['checks/app.sh']);
  expect(readTestReport(text)?.count).toMatchObject({ finished: false, unfinished: ['sh'] });
});
