import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { shareOfDay } from './day-share.ts';
import { SLOW_TESTS } from './slow-tests.mjs';

const SCRIPT = path.join(import.meta.dirname, 'test.mjs');

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

it('leaves the slow test files out and names them, unless all, or one of them by its path, are asked for', () => {
  const [slow] = Object.keys(SLOW_TESTS);
  const files = { 'a.test.mjs': `it('is quick', () => {});`, [slow]: `it('is slow', () => {});` };
  const { lines, exitCode } = runTests(files);
  expect(exitCode).toBe(0);
  expect(lines.at(-1)).toBe('1 passed, 0 failed');
  expect(lines).toContain(`  ${slow}`);
  expect(runTests(files, { arguments_: ['--all'] }).lines.at(-1)).toBe('2 passed, 0 failed');
  expect(runTests(files, { arguments_: [slow] }).lines.at(-1)).toBe('1 passed, 0 failed');
});

it('runs other slow test files each day, and each of them within any seven days', () => {
  const all = Object.keys(SLOW_TESTS);
  expect(all.filter((file) => !existsSync(path.join(import.meta.dirname, '..', file)))).toEqual([]);
  const days = Array.from({ length: 7 }, (_, day) =>
    shareOfDay(all, `2026-12-0${day + 1}`, (file) => SLOW_TESTS[file]),
  );
  expect(new Set(days.flat())).toEqual(new Set(all));
  expect(days.flat()).toHaveLength(all.length);
  const seconds = days.map((files) => files.reduce((sum, file) => sum + SLOW_TESTS[file], 0));
  expect(Math.max(...seconds)).toBeLessThan(1.1 * Math.min(...seconds));
  const [slow] = days[2];
  const files = { 'a.test.mjs': `it('is quick', () => {});`, [slow]: `it('is slow', () => {});` };
  expect(runTests(files, { arguments_: ['--day', '2026-12-03'] }).lines.at(-1)).toBe('2 passed, 0 failed');
  expect(runTests(files, { arguments_: ['--day', '2026-12-04'] }).lines.at(-1)).toBe('1 passed, 0 failed');
});

it.each([
  [['--day', '--no-skips'], '--day needs a day, such as 2026-11-23.'],
  [['--day', 'monday'], "'monday' is no day such as 2026-11-23."],
  [['--since', 'no-such-commit'], '--since no-such-commit: git knows no such commit here.'],
  [['--all', '--since', 'HEAD'], '--all and --since exclude each other.'],
])('refuses %j', (arguments_, message) => {
  const { exitCode, errors } = runTests({}, { arguments_ });
  expect(exitCode).toBe(64);
  expect(errors.trim()).toBe(message);
});

it('runs files in one process, of which each finds what the first one found, and fails a file that leaves it changed', () => {
  const setUp = path.join(import.meta.dirname, 'surroundings.setup.mjs');
  const file = `it('finds the process as it was, and changes it', () => {
      const { LEFT, STUBBED } = process.env;
      const folder = process.cwd() === '/' ? '/' : 'own';
      const listeners = process.listenerCount('unhandledRejection');
      globalThis.first ??= { folder, listeners, timers: false };
      expect({ LEFT, STUBBED, folder, listeners, global: globalThis.stubbed, timers: vi.isFakeTimers() }).toEqual(globalThis.first);
      vi.stubEnv('STUBBED', 'x');
      vi.stubGlobal('stubbed', 'x');
      vi.useFakeTimers();
      process.env.LEFT = 'x';
      process.chdir('/');
      process.on('unhandledRejection', () => {});
    });`;
  const files = { 'a.test.mjs': file, 'b.test.mjs': file };
  const { lines } = runTests(files, { config: { isolate: false, maxWorkers: 1, setupFiles: [setUp] } });
  const told = 'this file leaves changed for the next: listeners of unhandledRejection, the current folder, LEFT';
  for (const name of Object.keys(files)) expect(lines.join('\n')).toContain(`${name}: ${told}`);
  expect(lines.at(-1)).toBe('2 passed, 2 failed');
});

it('does not count the tests that a name leaves out as skipped, and fails where no test has the name', () => {
  const files = { 'a.test.mjs': `it('adds', () => {}); it('subtracts', () => {});` };
  expect(runTests(files, { arguments_: ['-t', 'adds'] }).lines.at(-1)).toBe('1 passed, 0 failed');
  const { lines, exitCode } = runTests(files, { arguments_: ['-t', 'divides'] });
  expect(lines.at(-2)).toContain('no test has the name');
  expect(exitCode).toBe(1);
});

it('numbers the files, keeps what was found when it is stopped, and ends the processes that tests have started', async () => {
  const folder = workspaceOf({
    'a.test.mjs': `it('is quick', () => {});`,
    'b.test.mjs': `
      import { spawn } from 'node:child_process';
      it('never ends', async () => {
        const server = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
        // With an environment of its own, as a person's server has it.
        const other = spawn('sh', ['-c', 'sleep 1000; :', process.env.TMPDIR], { detached: true, stdio: 'ignore', env: {} });
        console.log('server ' + server.pid + ' and ' + other.pid);
        await new Promise(() => {});
      }, 1_000_000);`,
  });
  const child = spawn(process.execPath, [SCRIPT, '--root', folder], { env: environment() });
  let output = '';
  const ended = new Promise((resolve) => child.once('close', resolve));
  await new Promise((resolve) => {
    child.stdout.on('data', (text) => {
      output += text;
      if (/server \d+ and \d+/.test(output) && output.includes('1 of 2  ')) resolve();
    });
  });
  child.kill('SIGTERM');
  expect(await ended).toBe(130);
  expect(output.trimEnd().split('\n').slice(-2)).toEqual([
    'Stopped by SIGTERM after 1 of 2 files.',
    '1 passed, 0 failed',
  ]);
  const [, ...pids] = /server (\d+) and (\d+)/.exec(output);
  // A process that was killed ends when the machine next comes to it.
  for (const pid of pids) await expect.poll(() => readStateOf(pid)).toMatch(/^(?:Z|none)/);
});

function runTests(files, { arguments_ = [], CI = '', config = {} } = {}) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [SCRIPT, ...arguments_, '--root', workspaceOf(files, config)],
    { encoding: 'utf8', env: environment(CI) },
  );
  return { lines: stdout.trimEnd().split('\n'), errors: stderr, exitCode: status };
}

function workspaceOf(files, config = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'autonomous-fixture-'));
  workspaces.push(folder);
  const test = JSON.stringify({ globals: true, maxWorkers: 2, ...config });
  writeFileSync(path.join(folder, 'vitest.config.mjs'), `export default { test: ${test} };`);
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), source);
  }
  return folder;
}

function environment(CI = '') {
  return { PATH: process.env.PATH, HOME: process.env.HOME, CI };
}

/** @returns the state of a process as Linux has it, such as `S`, or `none` */
function readStateOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0];
  } catch {
    return 'none';
  }
}
