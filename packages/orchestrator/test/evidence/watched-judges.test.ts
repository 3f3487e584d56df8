/** Reporters that detect code which changes its judge and hides that before the end. Real runners, no server. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it, type TestContext } from 'vitest';
import { readTestReport } from '../../src/project-analysis/test-report.ts';

const REPORTERS = path.join(import.meta.dirname, '..', '..', 'reporters');
const PYTHON = '/usr/bin/python3';
const BROKEN = 'export const add = (a, b) => a - b;\n';
const BROKEN_PYTHON = 'def add(a, b):\n    return a - b\n';
const SLOW = { timeout: 240_000 };

type Files = Readonly<Record<string, string>>;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs a command with the reporters in a folder with these files; what they say was changed, and how it ended. */
function watched(command: readonly [string, ...string[]], files: Files, packages: readonly string[] = []) {
  const folder = mkdtempSync(path.join(tmpdir(), 'watched-'));
  folders.push(folder);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
  for (const name of packages) {
    mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
    symlinkSync(
      path.join(import.meta.dirname, '../../../../node_modules', name),
      path.join(folder, 'node_modules', name),
    );
  }
  const report = path.join(folder, 'report');
  const { PATH = '' } = process.env;
  const { status, stdout, stderr } = spawnSync(command[0], command.slice(1), {
    cwd: folder,
    encoding: 'utf8',
    env: {
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${PATH}`,
      HOME: folder,
      AUTONOMOUS_TEST_REPORT: report,
      NODE_OPTIONS: `--require=${path.join(REPORTERS, 'node/preload.cjs')}`,
      PYTHONPATH: path.join(REPORTERS, 'python'),
      PYTHONDONTWRITEBYTECODE: '1',
    },
  });
  const read = existsSync(report) ? readTestReport(readFileSync(report, 'utf8')) : null;
  return { status, count: read?.count, output: `${stdout}${stderr}` };
}

const NODE_TEST =
  "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { add } from '../src/sums.js';\ntest('adds', () => assert.equal(add(1, 2), 3));\ntest('adds zero', (t) => t.assert.strictEqual(add(1, 0), 1));\n";
const NODE: Files = { 'package.json': '{ "type": "module" }\n', 'test/sums.test.js': NODE_TEST };

it.each([
  [
    'by a double between hooks',
    `import assert from 'node:assert';\nimport { afterEach, beforeEach, mock } from 'node:test';\nbeforeEach(() => mock.method(assert, 'equal', () => {}));\nafterEach(() => mock.restoreAll());\n${BROKEN}`,
    'node:assert.equal',
  ],
  [
    'back at the end of the process',
    `import assert from 'node:assert';\nconst { equal } = assert;\nassert.equal = () => {};\nprocess.on('beforeExit', () => { assert.equal = equal; });\n${BROKEN}`,
    'node:assert.equal',
  ],
  [
    'back with its first call',
    `import judge from 'node:assert';\nconst { equal } = judge;\njudge.equal = () => { judge.equal = equal; };\n${BROKEN}`,
    'node:assert.equal',
  ],
  [
    'for each test alone',
    `import { afterEach, beforeEach } from 'node:test';\nconst { is } = Object;\nbeforeEach(() => { Object.is = (a, b) => b === 3 || is(a, b); });\nafterEach(() => { Object.is = is; });\n${BROKEN}`,
    'Object.is',
  ],
  [
    'by the name of another assertion',
    `import { assert } from 'node:test';\nassert.register('strictEqual', () => {});\n${BROKEN}`,
    'node:test assert.strictEqual',
  ],
  [
    'by the loader',
    `import Module from 'node:module';\nconst load = Module._load;\nModule._load = (...all) => load(...all);\n${BROKEN}`,
    'Module._load',
  ],
])('node:test: an assertion that is put in the place of another, %s, is seen', SLOW, (_, sums, what) => {
  const { count } = watched([process.execPath, '--test'], { ...NODE, 'src/sums.js': sums });
  expect(count?.replaced).toContain(what);
});

it('node:test: nothing is said of tests that use all of it', SLOW, () => {
  const test = [
    "import assert, { equal, strict } from 'node:assert';",
    "import { afterEach, assert as own, beforeEach, describe, it, mock, test } from 'node:test';",
    "import { createRequire } from 'node:module';",
    'beforeEach(() => {});',
    'afterEach(() => mock.restoreAll());',
    "own.register('isOne', (value) => assert.equal(value, 1));",
    "test('mocks', (t) => { const o = { a: () => 1 }; t.mock.method(o, 'a', () => 2); equal(o.a(), 2); mock.method(JSON, 'parse', () => 1); });",
    "describe('more', () => { it('waits', (t, done) => setImmediate(done)); });",
    "test('inner', async (t) => { await t.test('one', (u) => u.assert.isOne(1)); strict.deepEqual({ a: [1] }, { a: [1] }); });",
    "createRequire(import.meta.url)('../plain.cjs');",
  ].join('\n');
  const files = { ...NODE, 'src/sums.js': 'export const add = (a, b) => a + b;\n', 'test/more.test.js': test };
  const plain = "const assert = require('assert');\nconst { ok } = assert;\nok(1);\nObject.create(assert).equal = 1;\n";
  for (const isolation of [[], ['--test-isolation=none']]) {
    const { status, count, output } = watched([process.execPath, '--test', ...isolation], {
      ...files,
      'plain.cjs': plain,
      'test/none.test.js': "console.log('no test in here');\n",
    });
    expect(output).toContain('fail 0');
    expect(status).toBe(0);
    expect(count).toMatchObject({ failed: 0, finished: true });
    expect(count?.replaced).toBeUndefined();
  }
});

const VITEST: Files = {
  'package.json': '{ "type": "module" }\n',
  'test/sums.test.js':
    "import { expect, test } from 'vitest';\nimport { add } from '../src/sums.js';\ntest('adds', () => expect(add(1, 2)).toBe(3));\n",
};
const VITEST_RUN = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run'] as const;

it.each([
  [
    'a matcher that lets the wrong answer pass',
    `import { expect } from 'vitest';\nexpect.extend({ toBe: (a, b) => ({ pass: Object.is(a, b) || a === -1, message: () => '' }) });\n${BROKEN}`,
    'expect.toBe',
  ],
  [
    'a test that has to fail',
    `import { beforeEach } from 'vitest';\nbeforeEach(({ task }) => { task.fails = true; return () => { task.fails = undefined; }; });\n${BROKEN}`,
    'test.fails',
  ],
  [
    'another comparison during the test',
    `import { afterEach, beforeEach } from 'vitest';\nconst { is } = Object;\nbeforeEach(() => { Object.is = () => true; });\nafterEach(() => { Object.is = is; });\n${BROKEN}`,
    'Object.is',
  ],
])('Vitest: %s is seen', SLOW, (_, sums, what) => {
  const { count } = watched(VITEST_RUN, { ...VITEST, 'src/sums.js': sums }, ['vitest']);
  expect(count?.replaced).toContain(what);
});

it('Vitest: nothing is said of tests that use all of it', SLOW, () => {
  const test = [
    "import { afterEach, beforeEach, chai, describe, expect, it, test, vi } from 'vitest';",
    'beforeEach(() => { vi.useFakeTimers(); return () => vi.useRealTimers(); });',
    'afterEach(() => vi.restoreAllMocks());',
    "expect.extend({ toBeOne: (value) => ({ pass: value === 1, message: () => 'no' }) });",
    "chai.use((c, u) => u.addMethod(c.Assertion.prototype, 'shiny', function () {}));",
    'const own = test.extend({ page: async ({}, use) => { await use(7); } });',
    "own('has a fixture', ({ page, task }) => { expect(page).toBe(7); expect(task.name).toBe('has a fixture'); });",
    "test.fails('fails', () => expect(1).toBe(2));",
    "test.each([1, 2])('each %d', (n) => expect(n).toBeGreaterThan(0));",
    "describe.concurrent('at once', () => { it('a', async ({ expect }) => { await Promise.resolve(); expect(1).toBeOne(); }); it('b', () => {}); });",
    "let n = 0; test('again', { retry: 2 }, () => { n += 1; if (n < 2) throw new Error('x'); });",
    // Text of a test file that the judges read: a skipped test must be reported as skipped.
    "test.skip('not', () => {}); test('left', (context) => context.skip());",
    "test('spies', () => { vi.spyOn(JSON, 'parse').mockReturnValue(1); expect(JSON.parse('2')).toBe(1); });",
  ].join('\n');
  const files = { 'package.json': '{ "type": "module" }\n', 'test/more.test.js': test };
  const { status, count, output } = watched(VITEST_RUN, files, ['vitest']);
  expect(status, output).toBe(0);
  expect(count).toMatchObject({ failed: 0, finished: true });
  expect(count?.replaced).toBeUndefined();
});

const PYTEST: Files = {
  'test_sums.py':
    'import pytest\nfrom sums import add\n\n\ndef test_adds():\n    assert add(1, 2) == pytest.approx(3)\n',
};
const UNITTEST: Files = {
  'test_sums.py':
    'import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n',
};

const needsPytest = (context: TestContext): void => {
  const hasPytest = spawnSync(PYTHON, ['-m', 'pytest', '--version']).status === 0;
  if (!hasPytest) context.skip('pytest is not installed for /usr/bin/python3: apt-get install python3-pytest');
};

it.for([
  [
    'a plugin that runs no test',
    'import gc\n\n\nclass Plugin:\n    def pytest_pyfunc_call(self, pyfuncitem):\n        return True\n\n\nfor each in gc.get_objects():\n    if type(each).__name__ == "PytestPluginManager":\n        each.register(Plugin())\n',
    'pytest_pyfunc_call in sums.py',
  ],
  [
    'a plugin that says it stands in a conftest',
    'import gc\n\ncode = "def pytest_pyfunc_call(pyfuncitem): return True"\nmade = type(gc)("made")\nexec(compile(code, "conftest.py", "exec"), vars(made))\nfor each in gc.get_objects():\n    if type(each).__name__ == "PytestPluginManager":\n        each.register(made)\n',
    'pytest_pyfunc_call in conftest.py',
  ],
  [
    'an approximation of everything',
    'import pytest\n\npytest.approx = lambda *a, **k: type("Near", (), {"__eq__": lambda self, other: True})()\n',
    'pytest.approx',
  ],
  ['another `raises`', 'import contextlib, pytest\n\npytest.raises = contextlib.nullcontext\n', 'pytest.raises'],
  ['a tracer of the tests', 'import sys\n\nsys.settrace(lambda *a: None)\n', 'sys.settrace'],
] as const)('pytest: %s is seen', SLOW, ([, code, what], context) => {
  needsPytest(context);
  const { count } = watched([PYTHON, '-m', 'pytest'], { ...PYTEST, 'sums.py': `${code}${BROKEN_PYTHON}` });
  expect(count?.replaced).toContain(what);
});

it.each([
  [
    'an attribute that all tests have anew',
    'import unittest\n\n\ndef look(self, name):\n    if name.startswith("assert"):\n        return lambda *a, **k: None\n    return object.__getattribute__(self, name)\n\n\nunittest.TestCase.__getattribute__ = look\n',
    'unittest.case.TestCase.__getattribute__',
  ],
  [
    'an assertion that puts itself back',
    'import unittest\n\nreal = unittest.TestCase.assertEqual\n\n\ndef quiet(self, *a):\n    unittest.TestCase.assertEqual = real\n\n\nunittest.TestCase.assertEqual = quiet\n',
    'unittest.case.TestCase.assertEqual',
  ],
  [
    'an assertion in the place of another',
    'import unittest\n\nunittest.TestCase.assertEqual = unittest.TestCase.assertNotEqual\n',
    'unittest.case.TestCase.assertEqual',
  ],
])('unittest: %s is seen', SLOW, (_, code, what) => {
  const { count } = watched([PYTHON, '-m', 'unittest'], { ...UNITTEST, 'sums.py': `${code}${BROKEN_PYTHON}` });
  expect(count?.replaced).toContain(what);
});

it('pytest: nothing is said of plugins of conftest files, of doubles and of all kinds of tests', SLOW, (context) => {
  needsPytest(context);
  const files = {
    'conftest.py':
      'import pytest\n\n\nclass Plugin:\n    def pytest_runtest_logreport(self, report):\n        pass\n\n\ndef pytest_configure(config):\n    config.pluginmanager.register(Plugin())\n\n\n@pytest.fixture\ndef silent(monkeypatch):\n    monkeypatch.setattr("builtins.print", lambda *a: None)\n',
    'tests/sub/conftest.py': 'def pytest_runtest_setup(item):\n    pass\n',
    'tests/sub/test_all.py':
      'import asyncio, unittest\nfrom unittest import mock\nimport pytest\n\n\ndef test_silent(silent):\n    print("a")\n\n\ndef test_raises():\n    with pytest.raises(ValueError):\n        raise ValueError("a")\n    assert 0.1 + 0.2 == pytest.approx(0.3)\n\n\ndef test_patch(monkeypatch):\n    monkeypatch.setattr("os.getcwd", lambda: "x")\n    with mock.patch("builtins.open", mock.mock_open(read_data="a")):\n        assert open("x").read() == "a"\n\n\n@pytest.mark.xfail\ndef test_xfail():\n    assert False\n\n\nclass TestCases(unittest.IsolatedAsyncioTestCase):\n    async def test_waits(self):\n        await asyncio.sleep(0)\n        with self.subTest(i=1), self.assertRaises(KeyError):\n            {}["a"]\n',
  };
  const { status, count, output } = watched([PYTHON, '-m', 'pytest'], files);
  expect(status, output).toBe(0);
  expect(count).toMatchObject({ failed: 0, finished: true });
  expect(count?.replaced).toBeUndefined();
});
