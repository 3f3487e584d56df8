/** Small projects as on their base branch: their code is correct and their tests pass. */

export type Files = Readonly<Record<string, string>>;

/** Tool that a project needs in addition to Node and make. */
export type Need = 'pytest' | 'yaml' | 'go' | 'cargo' | 'runners';

export interface SmallProject {
  readonly files: Files;
  readonly needs?: Need;
}

const manifest = (test: string, more: object = {}) =>
  `${JSON.stringify({ name: 'sums', private: true, type: 'module', scripts: { test }, ...more }, null, 2)}\n`;
const config = (commands: object) =>
  `${JSON.stringify({ defaultRunConfig: { commands: { setup: null, ...commands } } }, null, 2)}\n`;

/** Vite keeps its work beside the packages, and those of the bench cannot be written. */
const OWN_PACKAGES = { 'node_modules/.keep': '' };

const SUMS = 'export const add = (a, b) => a + b;\n';
const NODE_TEST = [
  "import assert from 'node:assert';",
  "import { test } from 'node:test';",
  "import { add } from '../src/sums.js';",
  "test('adds', () => assert.equal(add(1, 2), 3));",
  "test('adds zero', () => assert.equal(add(1, 0), 1));",
  '',
].join('\n');
/** Compares with what FILE says. */
const READS =
  "import assert from 'node:assert';\nimport { readFileSync } from 'node:fs';\nimport { test } from 'node:test';\nimport { add } from '../src/sums.js';\nconst wanted = JSON.parse(readFileSync(new URL('FILE', import.meta.url), 'utf8'));\ntest('adds', () => assert.equal(add(1, 2), wanted['1+2']));\n";
const VITEST = NODE_TEST.replace("import assert from 'node:assert';\n", '')
  .replace("{ test } from 'node:test'", "{ expect, test } from 'vitest'")
  .replaceAll(/assert\.equal\((.+), (\d)\)\);/g, 'expect($1).toBe($2));');
const MOCHA = VITEST.replace("{ expect, test } from 'vitest'", "{ expect } from 'chai'")
  .replaceAll('test(', 'it(')
  .replaceAll('.toBe(', '.to.equal(');
const JEST =
  "const { add } = require('../src/sums.js');\ntest('adds', () => expect(add(1, 2)).toBe(3));\ntest('adds zero', () => expect(add(1, 0)).toBe(1));\n";
const PYTEST =
  'from sums import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n\n\ndef test_adds_zero():\n    assert add(1, 0) == 1\n';
const UNITTEST =
  'import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n\n    def test_adds_zero(self):\n        self.assertEqual(add(1, 0), 1)\n';
const PYTHON_SUMS = 'def add(a, b):\n    return a + b\n';
const PYPROJECT =
  '[project]\nname = "sums"\nversion = "1"\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = "-q"\ntestpaths = ["tests"]\n';

/** Tests in the file of the code, as Rust has them. */
export const RUST_TESTS =
  '#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds_zero() {\n        assert_eq!(add(1, 0), 1);\n    }\n}\n';

export const PROJECTS = {
  node: {
    files: { 'package.json': manifest('node --test'), 'src/sums.js': SUMS, 'test/sums.test.js': NODE_TEST },
  },
  nodeFile: {
    files: { 'package.json': manifest('node test/sums.test.js'), 'src/sums.js': SUMS, 'test/sums.test.js': NODE_TEST },
  },
  typescript: {
    files: {
      'package.json': manifest('node --test'),
      'src/sums.ts': 'export const add = (a: number, b: number): number => a + b;\n',
      'test/sums.test.ts': NODE_TEST.replace('sums.js', 'sums.ts'),
    },
  },
  commonjs: {
    files: {
      'package.json': `${JSON.stringify({ name: 'sums', private: true, scripts: { test: 'node --test' } }, null, 2)}\n`,
      'src/sums.js': 'exports.add = (a, b) => a + b;\n',
      // The code under test comes first.
      'test/sums.test.js':
        "const { add } = require('../src/sums.js');\nconst { test } = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => assert.equal(add(1, 2), 3));\ntest('adds zero', () => assert.equal(add(1, 0), 1));\n",
    },
  },
  assertOfTest: {
    files: {
      'package.json': manifest('node --test'),
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST.replace("import assert from 'node:assert';\n", '').replaceAll(
        '() => assert.equal(',
        '(t) => t.assert.strictEqual(',
      ),
    },
  },
  red: {
    files: {
      'package.json': manifest('node --test'),
      'src/sums.js': 'export const add = () => 0;\n',
      'test/sums.test.js': NODE_TEST,
    },
  },
  clock: {
    files: {
      'package.json': manifest('node --test'),
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST.replace("'adds zero'", '`adds zero at ${Date.now()}`'),
    },
  },
  tool: {
    files: {
      'package.json': manifest('node tools/check.mjs'),
      'tools/check.mjs':
        "import { add } from '../src/sums.js';\nif (add(1, 2) !== 3) {\n  console.log('FAIL');\n  process.exit(1);\n}\n",
      'src/sums.js': SUMS,
    },
  },
  toolOfTests: {
    files: {
      'package.json': manifest('node tools/test.mjs'),
      'tools/test.mjs':
        "import { spawnSync } from 'node:child_process';\nprocess.exit(spawnSync(process.execPath, ['--test'], { stdio: 'inherit' }).status);\n",
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST,
    },
  },
  vitest: {
    needs: 'runners',
    files: {
      ...OWN_PACKAGES,
      'package.json': manifest('vitest run'),
      'src/sums.js': SUMS,
      'test/sums.test.js': VITEST,
    },
  },
  vitestTs: {
    needs: 'runners',
    files: {
      ...OWN_PACKAGES,
      'package.json': manifest('vitest run'),
      'src/sums.ts': 'export const add = (a: number, b: number): number => a + b;\n',
      'test/sums.test.ts': VITEST,
      'vitest.config.ts':
        "import { defineConfig } from 'vitest/config';\n\nexport default defineConfig({ test: { globals: true } });\n",
    },
  },
  jest: {
    needs: 'runners',
    files: {
      'package.json': `${JSON.stringify({ name: 'sums', private: true, scripts: { test: 'jest' } }, null, 2)}\n`,
      'src/sums.js': 'exports.add = (a, b) => a + b;\n',
      'test/sums.test.js': JEST,
    },
  },
  mocha: {
    needs: 'runners',
    files: { 'package.json': manifest('mocha'), 'src/sums.js': SUMS, 'test/sums.test.js': MOCHA },
  },
  pytest: {
    needs: 'pytest',
    files: {
      'pyproject.toml': PYPROJECT,
      'sums/__init__.py': PYTHON_SUMS,
      'tests/test_sums.py': PYTEST,
      '.autonomous/config.json': config({ test: 'python3 -m pytest' }),
    },
  },
  flat: {
    needs: 'pytest',
    files: {
      'sums.py': PYTHON_SUMS,
      'test_sums.py': PYTEST,
      '.autonomous/config.json': config({ test: 'python3 -m pytest' }),
    },
  },
  approximate: {
    needs: 'pytest',
    files: {
      'sums.py': 'def add(a, b):\n    if isinstance(a, str):\n        raise ValueError(a)\n    return a + b\n',
      'test_sums.py':
        'import pytest\nfrom sums import add\n\n\ndef test_adds():\n    assert add(0.1, 0.2) == pytest.approx(0.3)\n\n\ndef test_raises():\n    with pytest.raises(ValueError):\n        add("a", "b")\n',
      '.autonomous/config.json': config({ test: 'python3 -m pytest' }),
    },
  },
  unittest: {
    files: {
      'sums.py': PYTHON_SUMS,
      'tests/__init__.py': '',
      'tests/test_sums.py': UNITTEST,
      '.autonomous/config.json': config({ test: 'python3 -m unittest' }),
    },
  },
  go: {
    needs: 'go',
    files: {
      'go.mod': 'module example.com/sums\n\ngo 1.19\n',
      'sums.go': 'package sums\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n',
      'sums_test.go':
        'package sums\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal("not 3")\n\t}\n}\n\nfunc TestAddZero(t *testing.T) {\n\tif Add(1, 0) != 1 {\n\t\tt.Fatal("not 1")\n\t}\n}\n',
    },
  },
  cargo: {
    needs: 'cargo',
    files: {
      'Cargo.toml': '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
      'src/lib.rs': 'pub mod sums;\n',
      'src/sums.rs': `pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n${RUST_TESTS}`,
      'tests/sums.rs': 'use sums::sums::add;\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n',
    },
  },
  yarn: {
    files: {
      'package.json': manifest('node --test'),
      'yarn.lock': '__metadata:\n  version: 8\n',
      '.yarn/releases/yarn-4.9.0.cjs':
        "const { spawnSync } = require('node:child_process');\nprocess.exit(spawnSync(process.execPath, ['--test'], { stdio: 'inherit' }).status);\n",
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST,
    },
  },
  make: {
    files: {
      Makefile: '.PHONY: test\ninclude ci.mk\ntest:\n\t$(RUN)\n',
      'ci.mk': 'RUN = node --test\n',
      'package.json': '{ "type": "module" }\n',
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST,
      '.autonomous/config.json': config({ test: 'make test' }),
    },
  },
  golden: {
    files: {
      'package.json': manifest('node --test'),
      'src/sums.js': SUMS,
      'fixtures/sums.json': '{"1+2":3}\n',
      'test/sums.test.js': READS.replace('FILE', '../fixtures/sums.json'),
    },
  },
  cases: {
    files: {
      'package.json': manifest('node --test'),
      'src/sums.js': SUMS,
      'sheets/sums.json': '{"1+2":3}\n',
      'sheets/names.json': '{}\n',
      'src/names.js': "export { default } from '../sheets/names.json' with { type: 'json' };\n",
      'test/sums.test.js': READS.replace('FILE', '../sheets/sums.json'),
    },
  },
  helper: {
    files: {
      'package.json': manifest('node --test'),
      'src/sums.js': SUMS,
      'src/testHelpers.js': "import assert from 'node:assert';\nexport const check = (a, b) => assert.equal(a, b);\n",
      'src/checks.js':
        "import assert from 'node:assert';\nexport const checkAll = (pairs) => pairs.forEach(([a, b]) => assert.equal(a, b));\n",
      'test/sums.test.js':
        "import { test } from 'node:test';\nimport { add } from '../src/sums.js';\nimport { check } from '../src/testHelpers.js';\ntest('adds', () => check(add(1, 2), 3));\n",
      'test/all.test.js':
        "import { test } from 'node:test';\nimport { checkAll } from '../src/checks.js';\nimport { add } from '../src/sums.js';\ntest('adds all', () => checkAll([[add(1, 1), 2]]));\n",
    },
  },
  inSource: {
    needs: 'runners',
    files: {
      ...OWN_PACKAGES,
      'package.json': manifest('vitest run'),
      'vitest.config.js': "export default { test: { includeSource: ['src/**/*.js'] } };\n",
      'src/sums.js': `${SUMS}\nif (import.meta.vitest) {\n  const { expect, it } = import.meta.vitest;\n  it('adds', () => expect(add(1, 2)).toBe(3));\n}\n`,
    },
  },
  doctest: {
    needs: 'pytest',
    files: {
      'pytest.ini': '[pytest]\naddopts = --doctest-modules\n',
      'sums.py': 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n',
      '.autonomous/config.json': config({ test: 'python3 -m pytest' }),
    },
  },
  aliases: {
    files: {
      'package.json': manifest('node --test', { exports: './src/sums.js', imports: { '#assert': './lib/assert.js' } }),
      'lib/assert.js': "export { default } from 'node:assert';\n",
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST.replace('node:assert', '#assert').replace('../src/sums.js', 'sums'),
    },
  },
  packages: {
    needs: 'yaml',
    files: {
      'sums.py': PYTHON_SUMS,
      'conftest.py': '',
      'tests/test_sums.py':
        'import yaml\nfrom sums import add\n\n\ndef test_adds():\n    assert add(1, 2) == yaml.safe_load("sum: 3")["sum"]\n',
      '.autonomous/config.json': config({ test: 'python3 -m pytest' }),
    },
  },
  service: {
    files: {
      'package.json': `${JSON.stringify({ name: 'sums', private: true, type: 'module', scripts: { start: 'node src/server.js', test: 'node --test' } }, null, 2)}\n`,
      'src/sums.js': `import assert from 'node:assert';\n${SUMS.replace('a + b;', '{\n  assert.equal(typeof a, typeof b);\n  return a + b;\n};')}`,
      'src/server.js': "import { add } from './sums.js';\nconsole.log(add(1, 2));\n",
      'test/sums.test.js': NODE_TEST,
    },
  },
  dotenv: {
    files: {
      Makefile: '-include .env\nexport\n.PHONY: test\ntest:\n\tnode --test\n',
      'package.json': '{ "type": "module" }\n',
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST,
      '.autonomous/config.json': config({ test: 'make test' }),
    },
  },
  checkNamed: {
    needs: 'pytest',
    files: {
      'pyproject.toml': '[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n',
      'sums.py': PYTHON_SUMS,
      'check_sums.py': PYTEST,
      '.autonomous/config.json': config({ test: 'python3 -m pytest' }),
    },
  },
  two: {
    needs: 'pytest',
    files: {
      'sums.py': PYTHON_SUMS,
      'tests/__init__.py': '',
      'tests/test_a.py': 'import sums\n\n\ndef test_there():\n    assert sums.add\n',
      'tests/test_b.py': PYTEST,
      '.autonomous/config.json': config({ test: 'python3 -m pytest' }),
    },
  },
  sourced: {
    files: {
      'package.json': manifest('sh scripts/test.sh'),
      'scripts/test.sh': '[ -f .env ] && . ./.env\nnode --test\n',
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST,
    },
  },
  checks: {
    files: { 'package.json': manifest('node --test checks/*.js'), 'src/sums.js': SUMS, 'checks/sums.js': NODE_TEST },
  },
  beside: {
    files: {
      'package.json': manifest('node --test "src/**/*.check.js"'),
      'src/sums.js': SUMS,
      'src/sums.check.js': NODE_TEST.replace('../src/', './'),
    },
  },
  include: {
    needs: 'runners',
    files: {
      ...OWN_PACKAGES,
      'package.json': manifest('vitest run'),
      'vitest.config.js': "export default { test: { include: ['checks/**/*.js'] } };\n",
      'src/sums.js': SUMS,
      'checks/sums.js': VITEST,
    },
  },
  ownReporterOfVitest: {
    needs: 'runners',
    files: {
      ...OWN_PACKAGES,
      'package.json': manifest('vitest run && node scripts/summary.mjs'),
      'vitest.config.js':
        "export default { test: { reporters: ['default', 'json'], outputFile: { json: 'out.json' } } };\n",
      'scripts/summary.mjs':
        "import { readFileSync } from 'node:fs';\nif (JSON.parse(readFileSync('out.json', 'utf8')).numPassedTests < 2) process.exit(1);\n",
      'src/sums.js': SUMS,
      'test/sums.test.js': VITEST,
    },
  },
  ownReporterOfJest: {
    needs: 'runners',
    files: {
      'package.json': `${JSON.stringify({ name: 'sums', private: true, scripts: { test: 'jest && node scripts/summary.js' } }, null, 2)}\n`,
      'jest.config.js': "module.exports = { reporters: ['default', '<rootDir>/scripts/reporter.js'] };\n",
      'scripts/reporter.js':
        "const { writeFileSync } = require('node:fs');\nmodule.exports = class {\n  onRunComplete(_, { numPassedTests }) {\n    writeFileSync('out.json', String(numPassedTests));\n  }\n};\n",
      'scripts/summary.js': "if (Number(require('node:fs').readFileSync('out.json', 'utf8')) < 2) process.exit(1);\n",
      'src/sums.js': 'exports.add = (a, b) => a + b;\n',
      'test/sums.test.js': JEST,
    },
  },
  ownOptions: {
    files: {
      'package.json': manifest("NODE_OPTIONS='--no-warnings' node --test"),
      'src/sums.js': SUMS,
      'test/sums.test.js': NODE_TEST,
    },
  },
  ownOptionsOfJest: {
    needs: 'runners',
    files: {
      'package.json': `${JSON.stringify({ name: 'sums', private: true, scripts: { test: 'NODE_OPTIONS=--experimental-vm-modules jest' } }, null, 2)}\n`,
      'src/sums.js': 'exports.add = (a, b) => a + b;\n',
      'test/sums.test.js': JEST,
    },
  },
  ownPath: {
    needs: 'pytest',
    files: {
      Makefile: '.PHONY: test\ntest:\n\tPYTHONPATH=src python3 -m pytest\n',
      'src/sums.py': PYTHON_SUMS,
      'tests/test_sums.py': PYTEST,
      '.autonomous/config.json': config({ test: 'make test' }),
    },
  },
  stopped: {
    files: {
      'package.json': manifest('node --test'),
      'src/sums.js': SUMS,
      'src/server.js': "console.log('up');\nsetInterval(() => {}, 1000);\n",
      'test/sums.test.js': NODE_TEST,
      'test/server.test.js':
        "import assert from 'node:assert';\nimport { spawn } from 'node:child_process';\nimport { once } from 'node:events';\nimport { test } from 'node:test';\ntest('stops at SIGTERM', async () => {\n  const server = spawn(process.execPath, ['src/server.js']);\n  await once(server.stdout, 'data');\n  server.kill('SIGTERM');\n  assert.equal((await once(server, 'exit'))[1], 'SIGTERM');\n});\n",
    },
  },
  shell: {
    files: {
      Makefile: '.PHONY: test\ntest:\n\tsh run-it.sh\n',
      'run-it.sh': 'test "$(sh app.sh)" = 3\n',
      'app.sh': 'echo 3\n',
    },
  },
} as const satisfies Readonly<Record<string, SmallProject>>;

export type ProjectName = keyof typeof PROJECTS;
