import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { leftOutBy, SLOW_TESTS } from './slow-tests.mjs';

const workspaces = [];
afterAll(() => workspaces.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

it('ends with the number of tests that passed', () => {
  const { lines, exitCode } = runTests({ 'a.test.mjs': `it('adds', () => {}); it('subtracts', () => {});` });
  expect(lines.at(-1)).toBe('2 passed, 0 failed');
  expect(exitCode).toBe(0);
});

it('fails and names, at its end, the failing test, the broken module and hook, and the stray error, each with its message', () => {
  const { lines, exitCode } = runTests({
    'a.test.mjs': `it('breaks', () => { throw new Error('no'); });`,
    'b.test.mjs': `import './missing.mjs';`,
    'd.test.mjs': `beforeAll(() => { throw new Error('not ready'); }); it('is never begun', () => {});`,
    'c.test.mjs': `it('leaks', async () => { Promise.reject(new Error('stray')); await new Promise(setImmediate); });`,
  });
  const output = lines.join('\n');
  expect(output).toContain('a.test.mjs > breaks: no');
  expect(output).toMatch(/^ {2}.*b\.test\.mjs: .*missing\.mjs/m);
  expect(output).toContain('d.test.mjs: not ready');
  expect(lines.at(-2)).toContain('unhandled error: stray');
  expect(lines.at(-1)).toBe('1 passed, 4 failed, 1 skipped');
  expect(exitCode).toBe(1);
});

it('fails when no test was found', () => {
  const { lines, exitCode } = runTests({});
  expect(lines.at(-1)).toBe('0 passed, 1 failed');
  expect(exitCode).toBe(1);
});

const SKIPPING = {
  'a.test.mjs': `it('runs', () => {}); it('needs a sandbox', (context) => context.skip('no bubblewrap'));`,
};

it('counts skipped tests and gives their reasons', () => {
  const { lines, exitCode } = runTests(SKIPPING);
  expect(lines.at(-2)).toContain('a.test.mjs > needs a sandbox: no bubblewrap');
  expect(lines.at(-1)).toBe('1 passed, 0 failed, 1 skipped');
  expect(exitCode).toBe(0);
});

it.each([
  ['--no-skips', { arguments_: ['--no-skips'] }],
  ['CI=true', { CI: 'true' }],
])('takes a skipped test for a failure with %s', (_, options) => {
  expect(runTests(SKIPPING, options).exitCode).toBe(1);
});

it('runs a sample of the slow test files, and names those that it leaves out', () => {
  const [slow] = leftOutBy('monday');
  const files = { 'a.test.mjs': `it('is quick', () => {});`, [slow]: `it('is slow', () => {});` };
  const { lines, exitCode } = runTests(files, { arguments_: ['--sample', 'monday'] });
  expect(exitCode).toBe(0);
  expect(lines.at(-1)).toBe('1 passed, 0 failed');
  expect(lines.slice(lines.indexOf('Slow tests that are not in the sample monday:'))).toContain(`  ${slow}`);
  expect(runTests(files).lines.at(-1)).toBe('2 passed, 0 failed');
  expect(runTests(files, { arguments_: ['--sample', '--no-skips'] }).exitCode).toBe(64);
});

it('draws other slow tests with another seed, and each of them with some', () => {
  const all = Object.keys(SLOW_TESTS);
  expect(all.filter((file) => !existsSync(path.join(import.meta.dirname, '..', file)))).toEqual([]);
  const samples = Array.from({ length: 200 }, (_, day) => new Set(leftOutBy(`day ${day}`)));
  expect(all.filter((file) => samples.every((leftOut) => leftOut.has(file)))).toEqual([]);
  expect(all.filter((file) => samples.every((leftOut) => !leftOut.has(file)))).toEqual([]);
});

function runTests(files, { arguments_ = [], CI = '' } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'autonomous-fixture-'));
  workspaces.push(folder);
  writeFileSync(path.join(folder, 'vitest.config.mjs'), 'export default { test: { globals: true } };');
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), source);
  }
  const script = path.join(import.meta.dirname, 'test.mjs');
  const { stdout, status } = spawnSync(process.execPath, [script, ...arguments_, '--root', folder], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: process.env.HOME, CI },
  });
  return { lines: stdout.trimEnd().split('\n'), exitCode: status };
}
