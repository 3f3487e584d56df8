/** The reporters beside what projects have of their own: reporters, variables, child processes, expected failures. Real runners, no server. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, type TestContext } from 'vitest';
import { installRunners } from '../../bench/honesty/runners.ts';
import { startReporting } from '../../src/activities/evidence/test-reporting.ts';
import { readTestReport } from '../../src/project-analysis/test-report.ts';

const ROOT = path.join(import.meta.dirname, '../../../..');
/** Jest is in no install of the workspace; without the registry its tests are skipped. */
const OF_BENCH = path.join(installRunners() ?? '', 'node_modules');
const SLOW = { timeout: 240_000 };

type Files = Readonly<Record<string, string>>;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs a command as a check does, in a folder with these files. */
function checked(command: string, files: Files, packages: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'projects-'));
  folders.push(folder);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
  for (const [name, from] of Object.entries(packages)) {
    mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
    symlinkSync(from, path.join(folder, 'node_modules', name));
  }
  const home = path.join(folder, '.home');
  mkdirSync(home);
  const { status, stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', `${startReporting({ name: 'none' }).command(command)}\n`],
    {
      cwd: folder,
      encoding: 'utf8',
      env: {
        PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
        HOME: home,
        PYTHONDONTWRITEBYTECODE: '1',
      },
    },
  );
  const [report] = spawnSync('find', [home, '-name', '.test-report-*'], { encoding: 'utf8' }).stdout.split('\n');
  const read = report ? readTestReport(readFileSync(report, 'utf8')) : null;
  return {
    status,
    count: read?.count,
    output: `${stdout}${stderr}`,
    has: (file: string) => existsSync(path.join(folder, file)),
  };
}

const needs = (context: TestContext, command: string, hint: string): void => {
  if (spawnSync('/bin/sh', ['-c', command], { env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }).status !== 0)
    context.skip(hint);
};
const needsPytest = (context: TestContext): void =>
  needs(context, 'python3 -m pytest --version', 'pytest is not installed: apt-get install python3-pytest');
const needsJest = (context: TestContext): void => {
  if (!existsSync(path.join(OF_BENCH, 'jest'))) context.skip('the registry does not give Jest');
};

const NODE_TEST =
  "import assert from 'node:assert';\nimport { test } from 'node:test';\ntest('adds', () => assert.equal(1 + 2, 3));\n";
const VITEST = { vitest: path.join(ROOT, 'node_modules/vitest') };
const VITEST_FILES: Files = {
  'package.json': '{ "type": "module" }\n',
  'test/sums.test.js': "import { expect, test } from 'vitest';\ntest('adds', () => expect(1 + 2).toBe(3));\n",
};
const OWN_REPORTER =
  "import { writeFileSync } from 'node:fs';\nexport default class {\n  onInit() {}\n  onTestRunEnd() {\n    writeFileSync('own.json', '1');\n  }\n}\n";
const JEST = { jest: path.join(OF_BENCH, 'jest') };
const JEST_FILES: Files = {
  'package.json': '{}\n',
  'test/sums.test.js': "test('adds', () => expect(1 + 2).toBe(3));\n",
};
const ONE = { executed: 1, failed: 0, skipped: 0, finished: true };

describe('reporters of the project', () => {
  it.each([
    [
      'those of its configuration',
      "export default { test: { reporters: ['verbose', ['json', { outputFile: 'out.json' }], './own.js'] } };\n",
      '',
      ['out.json', 'own.json'],
    ],
    ['those of the command line', 'export default {};\n', ' --reporter=json --outputFile=out.json', ['out.json']],
    ['none', 'export default {};\n', '', []],
  ])('Vitest runs %s beside that of the server', SLOW, (_, config, options, files) => {
    const { status, count, output, has } = checked(
      `node node_modules/vitest/vitest.mjs run${options}`,
      { ...VITEST_FILES, 'vitest.config.js': config, 'own.js': OWN_REPORTER },
      VITEST,
    );
    expect(status, output).toBe(0);
    expect(
      files.filter((file) => !has(file)),
      output,
    ).toEqual([]);
    if (options === '') expect(output).toContain('1 passed');
    expect(count).toMatchObject({ runner: 'vitest', ...ONE });
  });

  it.for([
    ['those of its configuration', "module.exports = { reporters: ['default', '<rootDir>/own.js'] };\n", '', true],
    ['those of the command line', 'module.exports = {};\n', ' --reporters=default --reporters=./own.js', true],
    ['none', 'module.exports = {};\n', '', false],
  ] as const)('Jest runs %s beside that of the server', SLOW, ([, config, options, isOwn], context) => {
    needsJest(context);
    const own =
      "const { writeFileSync } = require('node:fs');\nmodule.exports = class {\n  onRunComplete() {\n    writeFileSync('own.json', '1');\n  }\n};\n";
    const { status, count, output, has } = checked(
      `node node_modules/jest/bin/jest.js${options}`,
      { ...JEST_FILES, 'jest.config.js': config, 'own.js': own },
      JEST,
    );
    expect(status, output).toBe(0);
    expect(has('own.json')).toBe(isOwn);
    expect(output).toContain('1 passed');
    expect(count).toMatchObject({ runner: 'jest', ...ONE });
  });
});

describe('variables that the project sets itself', () => {
  it('node:test is counted where NODE_OPTIONS is set', SLOW, () => {
    const { status, count, output } = checked("NODE_OPTIONS='--no-warnings' node --test", {
      'sums.test.mjs': NODE_TEST,
    });
    expect(status, output).toBe(0);
    expect(count).toMatchObject({ runner: 'node:test', ...ONE });
  });

  it('Jest is counted where NODE_OPTIONS is set, by the command that its package installs', SLOW, (context) => {
    needsJest(context);
    const { status, count, output } = checked(
      'NODE_OPTIONS=--experimental-vm-modules node_modules/jest/bin/jest.js',
      { ...JEST_FILES, 'package.json': '{ "type": "module" }\n' },
      JEST,
    );
    expect(status, output).toBe(0);
    expect(count).toMatchObject({ runner: 'jest', ...ONE });
  });

  it.for(['python3 -m pytest', 'pytest', 'python3 -m unittest'])(
    '`%s` is counted where PYTHONPATH is set',
    SLOW,
    (command, context) => {
      if (command !== 'python3 -m unittest') needsPytest(context);
      if (command === 'pytest') needs(context, 'command -v pytest', 'there is no command pytest');
      const { status, count, output } = checked(`PYTHONPATH=src ${command}`, {
        'src/sums.py': 'def add(a, b):\n    return a + b\n',
        'test_sums.py':
          'import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n',
      });
      expect(status, output).toBe(0);
      expect(count).toMatchObject(ONE);
    },
  );

  it('a tool that is missing is still missing, and one that is there is run with what it was given', SLOW, () => {
    const files = { 'bin/pytest': '#!/bin/sh\nprintf "<%s>" "$PYTHONPATH" "$@"\n' };
    const command = startReporting({ name: 'none' }).command(
      "PYTHONPATH=src pytest 'a b' '*'; command -v python; node",
    );
    const ran = (more: string) =>
      checked(`chmod 755 bin/pytest; PATH=/usr/bin/nowhere${more}:/bin/nowhere\n${command}`, files).output;
    expect(ran(':$PWD/bin')).toMatch(/<[^<]*python:src><a b><[*]>/);
    expect(ran(':$PWD/bin')).toMatch(/node: not found/);
    expect(ran(':$PWD/bin')).not.toContain('shims/python');
    expect(ran('')).toMatch(/pytest: not found/);
  });
});

it('node:test: a child process of a test that is ended by a signal leaves the run finished', SLOW, () => {
  const { status, count, output } = checked('node --test', {
    'server.mjs': "console.log('up');\nsetInterval(() => {}, 1000);\n",
    'server.test.mjs':
      "import assert from 'node:assert';\nimport { spawn } from 'node:child_process';\nimport { once } from 'node:events';\nimport { test } from 'node:test';\ntest('stops', async () => {\n  const server = spawn(process.execPath, ['server.mjs']);\n  await once(server.stdout, 'data');\n  server.kill('SIGTERM');\n  assert.equal((await once(server, 'exit'))[1], 'SIGTERM');\n});\n",
  });
  expect(status, output).toBe(0);
  expect(count).toMatchObject({ runner: 'node:test', ...ONE });
});

it('node:test: a test file that is ended by a signal leaves the run unfinished', SLOW, () => {
  const { count } = checked('node --test', {
    'sums.test.mjs': `${NODE_TEST}process.kill(process.pid, 'SIGKILL');\n`,
  });
  expect(count?.finished).toBe(false);
});

describe('an expected failure', () => {
  const PYTEST_OF = (body: string): Files => ({
    'sums.py': body,
    'test_sums.py': 'from sums import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n',
  });

  it.for([
    ['calls pytest.xfail', 'import pytest\n\n\ndef add(a, b):\n    pytest.xfail("later")\n'],
    [
      'raises what pytest.xfail raises',
      'from _pytest.outcomes import XFailed\n\n\ndef add(a, b):\n    raise XFailed("later")\n',
    ],
  ])('pytest: a test whose code %s counts as skipped', SLOW, ([, body], context) => {
    needsPytest(context);
    const { count } = checked('python3 -m pytest', PYTEST_OF(body ?? ''));
    expect(count).toMatchObject({ executed: 0, skipped: 1, failed: 0 });
  });

  it('pytest: a marker counts only where its condition holds', SLOW, (context) => {
    needsPytest(context);
    const { count, output } = checked('python3 -m pytest', {
      'test_sums.py': `import unittest\nimport pytest\n\n\n@pytest.mark.xfail(False, reason="elsewhere")\ndef test_elsewhere():\n    pytest.xfail("later")\n\n\n@pytest.mark.xfail(reason="later")\ndef test_later():\n    assert 1 == 2\n\n\n@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.xfail), 2])\ndef test_each(x):\n    assert x == 2\n\n\nclass Case(unittest.TestCase):\n    @unittest.expectedFailure\n    def test_case(self):\n        self.fail()\n`,
    });
    expect(count, output).toMatchObject({ executed: 4, skipped: 1, failed: 0, finished: true });
  });

  it('unittest: a failure counts as a passed test only where the test itself says that it fails', SLOW, () => {
    const { count, output } = checked('python3 -m unittest', {
      'sums.py':
        'import sys\n\n\ndef add(a, b):\n    sys._getframe(1).f_locals["self"]._outcome.expecting_failure = True\n    return a - b\n',
      'test_sums.py':
        'import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n\n    @unittest.expectedFailure\n    def test_later(self):\n        self.fail()\n\n\n@unittest.expectedFailure\nclass Later(unittest.TestCase):\n    def test_all(self):\n        self.fail()\n',
    });
    expect(count, output).toMatchObject({ executed: 2, skipped: 1, failed: 0, finished: true });
    expect(count?.replaced).toEqual(['the expected failure of a test']);
  });

  it.for(['python3 -m unittest', 'python3 -m pytest'])(
    '%s: code that has a failure expected in one part of a test is seen',
    SLOW,
    (runner, context) => {
      if (runner.endsWith('pytest')) needsPytest(context);
      const { count, output } = checked(runner, {
        'sums.py':
          'import sys\n\n\ndef expect(yes):\n    sys._getframe(1).f_locals["self"]._outcome.expecting_failure = yes\n',
        'test_sums.py':
          'import unittest\nimport sums\n\n\nclass Sums(unittest.IsolatedAsyncioTestCase):\n    async def test_adds(self):\n        sums.expect(True)\n        with self.subTest():\n            self.fail()\n        sums.expect(False)\n',
      });
      expect(count?.replaced, output).toEqual(['the expected failure of a test']);
    },
  );

  it('unittest: nothing is said of parts and of failures that tests expect', SLOW, () => {
    const { count, output } = checked('python3 -m unittest', {
      'test_sums.py':
        'import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_parts(self):\n        with self.subTest():\n            pass\n\n    @unittest.expectedFailure\n    def test_later(self):\n        with self.subTest():\n            self.fail()\n\n\nclass Waits(unittest.IsolatedAsyncioTestCase):\n    async def test_waits(self):\n        self.assertTrue(True)\n',
    });
    expect(count, output).toMatchObject({ executed: 3, skipped: 0, failed: 0, finished: true });
    expect(count?.replaced).toBeUndefined();
  });
});

it('node:test: a worker of a test that is terminated leaves the run finished', SLOW, () => {
  const { status, count, output } = checked('node --test', {
    'sums.test.mjs':
      "import { once } from 'node:events';\nimport { test } from 'node:test';\nimport { Worker } from 'node:worker_threads';\ntest('stops', async () => {\n  const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });\n  await once(worker, 'online');\n  await worker.terminate();\n});\n",
  });
  expect(status, output).toBe(0);
  expect(count).toMatchObject({ runner: 'node:test', ...ONE });
});
