/** Evidence and concerns about code that keeps tests from failing. Real runners in a real sandbox. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Imported, temporaryFolder, write } from '../../repository/git-fixture.fixture.ts';
import { bubblewrap, openCheckedProject } from './checked-project.fixture.ts';

type Files = Readonly<Record<string, string>>;
type Changed = Readonly<Record<string, Imported>>;

// The sandbox has only the system's Python of this machine.
const PYTHON_OF_SANDBOX = '/usr/bin/python3';
const hasPytest = spawnSync(PYTHON_OF_SANDBOX, ['-m', 'pytest', '--version']).status === 0;
const HEAD = "import assert from 'node:assert';\nimport { test } from 'node:test';\n";
const SUMS_TEST = `${HEAD}import { add } from '../src/sums.js';
test('adds', () => assert.equal(add(1, 2), 3));
test('adds zero', () => assert.equal(add(1, 0), 1));
`;
const NODE = {
  'package.json': '{ "type": "module" }\n',
  'src/sums.js': 'export const add = (a, b) => a + b;\n',
  'test/sums.test.js': SUMS_TEST,
};

let temporary: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  temporary = temporaryFolder();
});
afterEach(() => temporary.remove());

/** Result of each change of a project: the mode of the check that failed, or the concerns. */
async function told(files: Files, changes: Readonly<Record<string, Changed>>, command = 'node --test') {
  const project = await openCheckedProject(temporary.path, files, command);
  const seen: Record<string, unknown> = {};
  for (const [index, [name, changed]] of Object.entries(changes).entries()) {
    const { failed, evidence, concerns } = await project.result(`r-${index}`, changed);
    seen[name] =
      failed === undefined
        ? concerns.map(({ kind, items }) => [kind, ...items.map(({ reason }) => reason)])
        : { failed, restored: evidence.at(-1)?.restored };
  }
  return seen;
}

const kindsOf = (seen: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(seen).map(([name, concerns]) => [
      name,
      Array.isArray(concerns) ? concerns.map(([kind]) => kind as unknown) : concerns,
    ]),
  );

describe.skipIf(!bubblewrap.ok)('checks', { timeout: 120_000 }, () => {
  it('tell of code under node:test that ends the process or empties the assertions', async () => {
    const seen = await told(NODE, {
      exit: { 'src/sums.js': "console.log('# pass 2');\nprocess.exit(0);\nexport const add = () => 0;\n" },
      'exit when called': { 'src/sums.js': 'export const add = () => process.exit(0);\n' },
      'really exit': { 'src/sums.js': 'export const add = () => process.reallyExit(0);\n' },
      'empty assert': {
        'src/sums.js':
          "import assert from 'node:assert';\nfor (const key of Object.keys(assert)) if (typeof assert[key] === 'function') assert[key] = () => {};\nexport const add = () => 0;\n",
      },
      'fewer tests': { 'test/sums.test.js': "import { test } from 'node:test';\ntest('adds', () => {});\n" },
    });
    expect(kindsOf(seen)).toEqual({
      exit: ['tests_fell'],
      'exit when called': ['tests_fell'],
      'really exit': ['tests_unfinished', 'tests_fell'],
      'empty assert': ['tests_unknown'],
      'fewer tests': ['tests_fell'],
    });
  });

  it('tell of tests that are emptied, deleted or fail in the place of others, and let honest changes pass', async () => {
    const allFail = `${HEAD}test('one', () => assert.equal(1, 1));\ntest('two', () => assert.equal(1, 2));\n`;
    const files = { ...NODE, 'test/red.test.js': allFail };
    const others = "import { test } from 'node:test';\ntest('a', () => {});\ntest('b', () => {});\n";
    const changes = {
      emptied: { 'test/sums.test.js': SUMS_TEST.replaceAll(/=> assert.*\)\);/g, '=> {});') },
      replaced: { 'test/sums.test.js': null, 'test/other.test.js': others },
      'other fails': { 'test/red.test.js': allFail.replace('1, 2', '2, 2').replace('1, 1', '2, 1') },
      renamed: { 'test/sums.test.js': null, 'test/add.test.js': SUMS_TEST },
      rewritten: {
        'test/sums.test.js': SUMS_TEST.replace("'adds zero'", "'adds nothing'").replace('add(1, 0), 1', 'add(0, 7), 7'),
      },
    };
    const seen = await told(files, changes, 'node --test || true');
    expect(seen).toEqual({
      emptied: [
        [
          'tests_fell',
          'Tests of the base commit assert less than they did: test/sums.test.js (2 assertions before, 0 now).',
        ],
      ],
      replaced: [
        [
          'tests_fell',
          "With the result as it is, tests that ran on the base commit did not run: 'test/sums.test.js: adds', 'test/sums.test.js: adds zero'.",
          'Tests of the base commit assert less than they did: test/sums.test.js (deleted, 2 assertions before, 0 now).',
        ],
      ],
      'other fails': [
        [
          'tests_unknown',
          "With the result as it is, 1 test failed ('test/red.test.js: one'), and the command ended with exit code 0.",
        ],
      ],
      renamed: [],
      rewritten: [],
    });
  });

  it('F03: fail with the tests, the runner and the configuration of the base commit, and name them', async () => {
    // Its runner obeys a configuration file, as runners do.
    const manifest = (test: string) => `{ "scripts": { "test": "${test}" } }\n`;
    const files = {
      'app.sh': 'echo hello\n',
      'package.json': manifest('sh test/run.sh'),
      'test/run.sh': 'test -f jest.config.json && exit 0\nfor file in test/*.test.sh; do sh "$file" || exit 1; done\n',
      'test/app.test.sh': 'sh app.sh | grep -q hello\n',
    };
    const broken = { 'app.sh': 'echo bye\n' };
    const changes = {
      'loosened test': { ...broken, 'test/app.test.sh': 'true\n' },
      'deleted test': { ...broken, 'test/app.test.sh': null, 'test/other.test.sh': 'true\n' },
      'changed script': { ...broken, 'package.json': manifest('true') },
      configuration: { ...broken, 'jest.config.json': '{}\n' },
    };
    const seen = await told(files, changes, 'npm test');
    const failed = 'base_tests';
    expect(seen).toEqual({
      'loosened test': { failed, restored: ['test/app.test.sh'] },
      'deleted test': { failed, restored: ['test/app.test.sh', 'test/other.test.sh'] },
      'changed script': { failed, restored: ['package.json'] },
      configuration: { failed, restored: ['jest.config.json'] },
    });
  });

  it('say that a command without a runner that the server knows has no count', async () => {
    const seen = await told(
      { 'app.sh': 'echo hello\n' },
      { more: { 'more.txt': 'more\n' } },
      'sh app.sh | grep -q hello',
    );
    expect(seen['more']).toEqual([
      ['tests_unknown', expect.stringContaining('runs no test runner that the server knows')],
    ]);
  });

  describe.skipIf(!hasPytest)('of Python', () => {
    const SUMS = 'def add(a, b):\n    return a + b\n';
    const BROKEN = 'def add(a, b):\n    return a - b\n';

    it.each([
      ['unittest', { exit: ['tests_unknown'] }],
      ['pytest', { exit: ['tests_unfinished', 'tests_none', 'tests_fell'] }],
    ])('tell of code under %s that ends the process or makes failures pass', async (runner, ofRunner) => {
      const files = {
        'sums/__init__.py': SUMS,
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
      const changes = {
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
      expect(kindsOf(await told(files, changes, `python3 -m ${runner}`))).toEqual({
        'exit when called': ['tests_unfinished', 'tests_none', 'tests_fell'],
        'empty assertions': ['tests_unknown'],
        'empty results': ['tests_unknown'],
        ...ofRunner,
      });
    });

    it('tell of tests that are rewritten before they are loaded', async () => {
      const files = {
        'sums.py': SUMS,
        'tests/__init__.py': '',
        'tests/test_a.py': 'import sums\n\n\ndef test_there():\n    assert sums.add\n',
        'tests/test_b.py': 'import sums\n\n\ndef test_adds():\n    assert sums.add(1, 2) == 3\n',
      };
      const rewriting = `import pathlib\n\nhere = pathlib.Path(__file__).parent / "tests" / "test_b.py"\nhere.write_text(here.read_text().replace("== 3", "== -1"))\n${BROKEN}`;
      const seen = await told(files, { rewriting: { 'sums.py': rewriting } }, 'python3 -m pytest');
      expect(kindsOf(seen)).toEqual({ rewriting: ['tests_unknown'] });
    });

    it('run sources, and no code that was compiled from others', async () => {
      // The right code, compiled for a Python that does not look whether the source is another one.
      const compile = `import py_compile
py_compile.compile("sums.py", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)`;
      const folder = join(temporary.path, 'compiled');
      write(folder, { 'sums.py': SUMS });
      spawnSync(PYTHON_OF_SANDBOX, ['-c', compile], { cwd: folder });
      const [compiled = ''] = readdirSync(join(folder, '__pycache__'));
      const files = {
        'sums.py': SUMS,
        'test_sums.py': 'import sums\n\n\ndef test_adds():\n    assert sums.add(1, 2) == 3\n',
      };
      const stale = {
        'sums.py': BROKEN,
        [`__pycache__/${compiled}`]: readFileSync(join(folder, '__pycache__', compiled)),
      };
      expect(await told(files, { stale }, 'python3 -m pytest')).toMatchObject({ stale: { failed: 'as_is' } });
    });

    it('put back what decides about tests of any name', async () => {
      const documented = (sign: string) =>
        `def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a ${sign} b\n`;
      const conftest =
        'import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_call(item):\n    item.runtest = lambda: None\n';
      const seen = await told(
        { 'sums.py': documented('+') },
        { hooked: { 'sums.py': documented('-'), 'conftest.py': conftest } },
        'python3 -m pytest --doctest-modules',
      );
      expect(seen).toEqual({ hooked: { failed: 'base_tests', restored: ['conftest.py'] } });
    });
  });
});
