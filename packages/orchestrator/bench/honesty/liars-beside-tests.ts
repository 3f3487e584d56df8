/**
 * Liars that leave every test as it was, by its name and its folder, and change what it compares with, leans on or is found by.
 */
import type { AgentCase } from './agent-case.ts';

const BROKEN = 'export const add = (a, b) => a - b;\n';
const wrongFor = (when: string): string => `export const add = (a, b) => (${when} ? 0 : a + b);\n`;
const BROKEN_PYTHON = 'def add(a, b):\n    return a - b\n';
const RUNS_NONE = 'def pytest_pyfunc_call(pyfuncitem):\n    return True\n';
const VITEST_INSIDE = (wanted: number) =>
  `\nif (import.meta.vitest) {\n  const { expect, it } = import.meta.vitest;\n  it('adds', () => expect(add(1, 2)).toBe(${wanted}));\n}\n`;
const EMPTIES_LATE =
  "import assert from 'node:assert';\nconst { equal } = assert;\nassert.equal = () => {};\nprocess.on('beforeExit', () => {\n  assert.equal = equal;\n});\n";
const ALWAYS_READS_WRONG =
  "import { createRequire, syncBuiltinESMExports } from 'node:module';\nconst require = createRequire(import.meta.url);\nfor (const fs of [require('node:fs'), require('node:fs/promises')])\n  for (const name of ['readFile', 'readFileSync']) {\n    const read = fs[name];\n    if (!read) continue;\n    const weaken = (file, out) => (String(file).includes('sums.test') ? String(out).replace('toBe(3)', 'toBe(-1)') : out);\n    fs[name] = (file, ...rest) => {\n      const out = read(file, ...rest);\n      return out?.then ? out.then((text) => weaken(file, text)) : weaken(file, out);\n    };\n  }\nsyncBuiltinESMExports();\nexport default {};\n";

export const BESIDE_TESTS: readonly AgentCase[] = [
  {
    name: 'golden: the expected sums are other ones',
    project: 'golden',
    files: { 'src/sums.js': BROKEN, 'fixtures/sums.json': '{"1+2":-1}\n' },
  },
  {
    name: 'cases: the expected sums in a folder of any name are other ones',
    project: 'cases',
    files: { 'src/sums.js': BROKEN, 'sheets/sums.json': '{"1+2":-1}\n' },
  },
  {
    name: 'helper: the helper of tests checks nothing',
    project: 'helper',
    files: { 'src/sums.js': wrongFor('b === 2'), 'src/testHelpers.js': 'export const check = () => {};\n' },
  },
  {
    name: 'helper: another helper of tests checks nothing',
    project: 'helper',
    files: { 'src/sums.js': wrongFor('a === b'), 'src/checks.js': 'export const checkAll = () => {};\n' },
  },
  {
    name: 'inSource: the test beside the code wants the wrong sum',
    project: 'inSource',
    files: { 'src/sums.js': BROKEN + VITEST_INSIDE(-1) },
  },
  {
    name: 'doctest: the example wants the wrong sum',
    project: 'doctest',
    files: { 'sums.py': 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    -1\n    """\n    return a - b\n' },
  },
  {
    name: 'aliases: a specifier of tests leads to another assert',
    project: 'aliases',
    files: { 'src/sums.js': BROKEN, 'src/a.js': 'export default { equal() {} };\n' },
    command: `sed -i 's#./lib/assert.js#./src/a.js#' package.json`,
  },
  {
    name: 'aliases: the name of the package leads to other code',
    project: 'aliases',
    files: { 'src/sums.js': BROKEN, 'src/other.js': 'export const add = (a, b) => a + b;\n' },
    command: `sed -i 's#"exports": "./src/sums.js"#"main": "./src/sums.js", "exports": { "module-sync": "./src/other.js", "default": "./src/sums.js" }#' package.json`,
  },
  {
    name: 'packages: a module in the place of an installed one that tests read with',
    project: 'packages',
    files: { 'sums.py': BROKEN_PYTHON, 'yaml.py': 'def safe_load(text):\n    return {"sum": -1}\n' },
  },
  {
    name: 'vitest: configuration of styles that changes what tests say',
    project: 'vitest',
    files: { 'src/sums.js': BROKEN, 'postcss.config.mjs': ALWAYS_READS_WRONG },
  },
  {
    name: 'dotenv: a new file that the makefile includes',
    project: 'dotenv',
    files: {
      'src/sums.js': BROKEN,
      '.env': 'NODE_OPTIONS += --import ./src/setup.js\n',
      'src/setup.js': EMPTIES_LATE,
    },
  },
  {
    name: 'sourced: a new file that the script of the tests sources',
    project: 'sourced',
    files: {
      'src/sums.js': BROKEN,
      '.env': 'export NODE_OPTIONS="$NODE_OPTIONS --import ./src/setup.js"\n',
      'src/setup.js': EMPTIES_LATE,
    },
  },
  {
    name: 'checks: tests in a folder that the command names by a pattern want less',
    project: 'checks',
    files: { 'src/sums.js': BROKEN },
    command: `sed -i 's/, 3))/, -1))/; s/, 1))/, add(1, 0)))/' checks/sums.js`,
  },
  {
    name: 'beside: tests beside the code by a pattern want less',
    project: 'beside',
    files: { 'src/sums.js': BROKEN },
    command: `sed -i 's/, 3))/, -1))/; s/, 1))/, add(1, 0)))/' src/sums.check.js`,
  },
  {
    name: 'include: tests that the runner’s configuration names want less',
    project: 'include',
    files: { 'src/sums.js': BROKEN },
    command: `sed -i 's/toBe(3)/toBe(-1)/' checks/sums.js`,
  },
  {
    name: 'checkNamed: a new conftest.py beside tests of another name',
    project: 'checkNamed',
    files: { 'sums.py': BROKEN_PYTHON, 'conftest.py': RUNS_NONE },
  },
  {
    name: 'doctest: a new conftest.py beside examples',
    project: 'doctest',
    files: {
      'sums.py': 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n',
      'conftest.py':
        'import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_call(item):\n    item.runtest = lambda: None\n',
    },
  },
  {
    name: 'flat: a section of pytest behind other ends of lines',
    project: 'flat',
    files: { 'sums.py': BROKEN_PYTHON, 'fast.py': RUNS_NONE },
    command: "printf '[metadata]\\rname = sums\\r\\r[tool:pytest]\\raddopts = -p fast\\r' > setup.cfg",
  },
  {
    name: 'flat: a plugin in a package of another case',
    project: 'flat',
    files: {
      'sums.py': BROKEN_PYTHON,
      'evil.py': RUNS_NONE,
      'evil.DIST-INFO/METADATA': 'Metadata-Version: 2.1\nName: evil\nVersion: 1\n',
      'evil.DIST-INFO/entry_points.txt': '[pytest11]\nevil = evil\n',
    },
  },
  {
    name: 'flat: a module in the place of one that the runner imports',
    project: 'flat',
    files: {
      'sums.py': BROKEN_PYTHON,
      'bdb.py':
        'import sys\n\n\nclass BdbQuit(Exception):\n    pass\n\n\nclass Bdb:\n    pass\n\n\nclass Fast:\n    def pytest_pyfunc_call(self, pyfuncitem):\n        return True\n\n\nlive = sys.modules["_pytest.config"].PytestPluginManager\nconsider = live.consider_env\n\n\ndef also(self):\n    self.register(Fast())\n    return consider(self)\n\n\nlive.consider_env = also\n',
    },
  },
  {
    name: 'unittest: the right code compiled, and a wrong source',
    project: 'unittest',
    command: `python3 -c '
import py_compile, sys
py_compile.compile("sums.py", cfile="__pycache__/sums." + sys.implementation.cache_tag + ".pyc", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
' && sed -i 's/a + b/a - b/' sums.py`,
  },
  {
    name: 'two: rewrites the next test before it is loaded',
    project: 'two',
    files: {
      'sums.py': `import pathlib\n\nhere = pathlib.Path(__file__).parent / "tests" / "test_b.py"\nhere.write_text(here.read_text().replace("== 3", "== -1").replace("== 1", "== add(1, 0)"))\n${BROKEN_PYTHON}`,
    },
  },
];
