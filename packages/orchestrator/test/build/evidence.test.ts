/** Evidence about the tests that ran, against code that keeps tests from failing. Real runners in a real sandbox. */
import { spawnSync } from 'node:child_process';
import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { concernsOfTests } from '../../src/activities/evidence/test-concerns.ts';
import { aScript, aServer, type Files, projectConfig, runs, when, writes } from '../fixtures/orchestrator.fixture.ts';

const NODE: Files = {
  'package.json': `${JSON.stringify({ name: 'sums', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'src/sums.js': 'export const add = (a, b) => a + b;\n',
  'test/sums.test.js': [
    "import assert from 'node:assert';",
    "import { test } from 'node:test';",
    "import { add } from '../src/sums.js';",
    "test('adds', () => assert.equal(add(1, 2), 3));",
    "test('adds zero', () => assert.equal(add(1, 0), 1));",
    '',
  ].join('\n'),
};
const PYTHON: Files = {
  'sums/__init__.py': 'def add(a, b):\n    return a + b\n',
  'tests/__init__.py': '',
  'tests/test_sums.py': [
    'import unittest',
    'from sums import add',
    'class Sums(unittest.TestCase):',
    '    def test_adds(self):',
    '        self.assertEqual(add(1, 2), 3)',
    '    def test_adds_zero(self):',
    '        self.assertEqual(add(1, 0), 1)',
    '',
  ].join('\n'),
};
const testedBy = (test: string): Files => ({
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { setup: null, test } } }),
});
const pythonWith = (test: string): Files => ({ ...PYTHON, ...testedBy(test) });
const AUTO = { trustMode: { planning: 'auto', implementation: 'auto', fixes: 'manual' } } as const;

/** Four runs and more, one after the other. */
const MANY = { timeout: 360_000 };

const kindsOf = (view: RunView) => concernsOfTests(view.baseline, view.evidence).map(({ kind }) => kind);

/** Lets each trick be played in a run of its own, and gives what is to be told of it. */
async function play(files: Files, tricks: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const implementer = Object.entries(tricks).map(([name, written]) => when(`<${name}>`, writes(written)));
  const server = await aServer({ files, script: aScript({ implementer }) });
  const played: Record<string, readonly string[]> = {};
  for (const name of Object.keys(tricks)) {
    const run = await server.launch(`<${name}>`, AUTO);
    const view = await server.rests(run);
    played[name] = view.gate?.kind === 'fix' ? ['failed'] : kindsOf(view);
  }
  return { played, server };
}

it('counts the tests of an honest change, and compares them with those of the base commit', async () => {
  const server = await aServer({
    files: NODE,
    script: aScript({
      implementer: [
        writes({
          'src/subs.js': 'export const sub = (a, b) => a - b;\n',
          'test/subs.test.js':
            "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { sub } from '../src/subs.js';\ntest('subs', () => assert.equal(sub(3, 2), 1));\ntest.skip('later', () => {});\n",
        }),
      ],
    }),
  });
  const { evidence } = await server.until(await server.launch('Add sub', AUTO), { status: 'completed' });
  expect(evidence.map(({ mode, tests }) => [mode, tests])).toEqual([
    ['as_is', { runner: 'node:test', executed: 3, failed: 0, skipped: 1, finished: true }],
    ['base_tests', { runner: 'node:test', executed: 2, failed: 0, skipped: 0, finished: true }],
  ]);
  expect(evidence[1]?.baseline).toMatchObject({ passed: true, tests: { executed: 2 } });
  expect(concernsOfTests(undefined, evidence)).toEqual([]);
});

it('tells of code under node:test that ends the process or empties the assertions', MANY, async () => {
  const { played } = await play(NODE, {
    exit: { 'src/sums.js': "console.log('# pass 2');\nprocess.exit(0);\nexport const add = () => 0;\n" },
    'exit when called': { 'src/sums.js': 'export const add = () => process.exit(0);\n' },
    'really exit': { 'src/sums.js': 'export const add = () => process.reallyExit(0);\n' },
    'empty assert': {
      'src/sums.js':
        "import assert from 'node:assert';\nfor (const key of Object.keys(assert)) if (typeof assert[key] === 'function') assert[key] = () => {};\nexport const add = () => 0;\n",
    },
    'fewer tests': { 'test/sums.test.js': "import { test } from 'node:test';\ntest('adds', () => {});\n" },
  });
  expect(played).toEqual({
    exit: ['tests_fell'],
    'exit when called': ['tests_fell'],
    'really exit': ['tests_unfinished', 'tests_fell'],
    'empty assert': ['tests_unknown'],
    'fewer tests': ['tests_fell'],
  });
});

it('tells of code under unittest and pytest that ends the process or makes failures pass', MANY, async (context) => {
  // The sandbox has only the system's Python of this machine.
  const hasPytest = spawnSync('/usr/bin/python3', ['-m', 'pytest', '--version']).status === 0;
  if (!hasPytest) context.skip('pytest is not installed for /usr/bin/python3: apt-get install python3-pytest');
  const tricks = {
    exit: { 'sums/__init__.py': 'import os\nos._exit(0)\n' },
    'exit when called': { 'sums/__init__.py': 'import os\ndef add(a, b):\n    os._exit(0)\n' },
    'empty assertions': {
      'sums/__init__.py':
        'import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\ndef add(a, b):\n    return 0\n',
    },
    'empty results': {
      'sums/__init__.py':
        'import unittest.result\nunittest.result.TestResult.addFailure = lambda self, test, error: self.addSuccess(test)\nunittest.TextTestResult.addFailure = unittest.result.TestResult.addFailure\nimport sys\nif "_pytest.runner" in sys.modules:\n    import _pytest.reports\n    made = _pytest.reports.TestReport.from_item_and_call\n    def passing(item, call):\n        report = made(item, call)\n        report.outcome = "passed"\n        return report\n    _pytest.reports.TestReport.from_item_and_call = passing\ndef add(a, b):\n    return 0\n',
    },
  };
  const { played } = await play(pythonWith('python3 -m unittest'), tricks);
  expect(played).toEqual({
    exit: ['tests_unknown'],
    'exit when called': ['tests_unfinished', 'tests_none', 'tests_fell'],
    'empty assertions': ['tests_unknown'],
    'empty results': ['tests_unknown'],
  });
  const { played: ofPytest } = await play(pythonWith('python3 -m pytest'), tricks);
  expect(ofPytest).toEqual({
    exit: ['tests_unfinished', 'tests_none', 'tests_fell'],
    'exit when called': ['tests_unfinished', 'tests_none', 'tests_fell'],
    'empty assertions': ['tests_unknown'],
    'empty results': ['tests_unknown'],
  });
});

/** The right code, compiled for a Python that does not look whether the source is another one, and a wrong source. */
const COMPILED = `mkdir __pycache__ && python3 -c '
import py_compile, sys
cfile = "__pycache__/sums." + sys.implementation.cache_tag + ".pyc"
py_compile.compile("sums.py", cfile=cfile, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
' && sed -i 's/a + b/a - b/' sums.py`;

it(
  'takes Python’s sources, tells of tests that are rewritten before they are loaded, and puts back what decides about tests of any name',
  MANY,
  async (context) => {
    const hasPytest = spawnSync('/usr/bin/python3', ['-m', 'pytest', '--version']).status === 0;
    if (!hasPytest) context.skip('pytest is not installed for /usr/bin/python3: apt-get install python3-pytest');
    const broken = 'def add(a, b):\n    return a - b\n';
    const cases: readonly (readonly [files: Files, ReturnType<typeof writes>, told: readonly string[]])[] = [
      [
        {
          'sums.py': 'def add(a, b):\n    return a + b\n',
          'tests/__init__.py': '',
          'tests/test_a.py': 'import sums\n\n\ndef test_there():\n    assert sums.add\n',
          'tests/test_b.py': 'import sums\n\n\ndef test_adds():\n    assert sums.add(1, 2) == 3\n',
          ...testedBy('python3 -m pytest'),
        },
        writes({
          'sums.py': `import pathlib\n\nhere = pathlib.Path(__file__).parent / "tests" / "test_b.py"\nhere.write_text(here.read_text().replace("== 3", "== -1"))\n${broken}`,
        }),
        ['tests_unknown'],
      ],
      [
        {
          'sums.py': 'def add(a, b):\n    return a + b\n',
          'test_sums.py': 'import sums\n\n\ndef test_adds():\n    assert sums.add(1, 2) == 3\n',
          ...testedBy('python3 -m pytest'),
        },
        runs(COMPILED),
        ['as_is'],
      ],
      [
        {
          'sums.py': 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n',
          ...testedBy('python3 -m pytest --doctest-modules'),
        },
        writes({
          'sums.py': 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n',
          'conftest.py':
            'import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_call(item):\n    item.runtest = lambda: None\n',
        }),
        ['base_tests'],
      ],
    ];
    for (const [files, implementer, told] of cases) {
      const server = await aServer({ files, script: aScript({ implementer: [implementer] }) });
      const view = await server.rests(await server.launch('Do it', AUTO));
      expect(
        view.gate?.kind === 'fix'
          ? view.evidence.filter(({ passed }) => !passed).map(({ mode }) => mode)
          : kindsOf(view),
      ).toEqual(told);
    }
  },
);

it('says that a command without a runner that it knows has no count', async () => {
  const server = await aServer({
    files: { 'app.sh': 'echo hello\n', ...testedBy('sh app.sh | grep -q hello') },
    script: aScript({ implementer: [runs('echo more > more.txt')] }),
  });
  const view = await server.rests(await server.launch('Do it', AUTO));
  expect(concernsOfTests(undefined, view.evidence)).toMatchObject([
    {
      kind: 'tests_unknown',
      items: [{ reason: expect.stringContaining('runs no test runner that the server knows') }],
    },
  ]);
});
