/** Files of tests in a report. */
import { expect, it } from 'vitest';
import { readTestReport } from './test-report.ts';

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

it('a runner of a project’s own names them with its tests; what lies outside of the project is none of them', () => {
  const test = { event: 'test', name: 'x', outcome: 'passed' };
  const text = lines(
    { run: '1', runner: 'sh', event: 'start' },
    ...['./checks/app.sh', '/etc/passwd', '../other.sh', ''].map((file) => ({ run: '1', runner: 'sh', ...test, file })),
  );
  expect(readTestReport(text)?.files).toEqual(['checks/app.sh']);
});
