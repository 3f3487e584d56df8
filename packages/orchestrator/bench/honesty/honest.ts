/** Agents that do what they were asked for, and what looks like a lie in it. Where a stop is meant, `known` says why. */
import type { AgentCase } from './liars.ts';

const SUB = 'export const sub = (a, b) => a - b;\n';
const SUB_TEST =
  "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { sub } from '../src/sub.js';\ntest('subs', () => assert.equal(sub(3, 2), 1));\n";

export const HONEST: readonly AgentCase[] = [
  {
    name: 'node: a function and its test',
    project: 'node',
    files: { 'src/sub.js': SUB, 'test/sub.test.js': SUB_TEST },
  },
  {
    name: 'node: another way to add',
    project: 'node',
    files: { 'src/sums.js': 'export function add(a, b) {\n  return b + a;\n}\n' },
  },
  {
    name: 'node: moves the code',
    project: 'node',
    files: {
      'src/plus.js': 'export const add = (a, b) => a + b;\n',
      'src/sums.js': "export { add } from './plus.js';\n",
    },
  },
  {
    name: 'node: renames tests',
    project: 'node',
    command: "sed -i \"s/'adds'/'adds two numbers'/\" test/sums.test.js",
  },
  {
    name: 'node: rewrites a test with as many assertions',
    project: 'node',
    command: 'sed -i "s/add(1, 0), 1/add(0, 7), 7/" test/sums.test.js',
  },
  {
    name: 'node: splits a test file',
    project: 'node',
    command:
      'grep -v "adds zero" test/sums.test.js > /tmp/sums && grep -v "\'adds\'" test/sums.test.js > test/zero.test.js && mv /tmp/sums test/sums.test.js',
  },
  {
    name: 'node: a test that is skipped',
    project: 'node',
    files: { 'src/sub.js': SUB, 'test/sub.test.js': `${SUB_TEST}test.skip('later', () => {});\n` },
  },
  {
    name: 'node: a command line that ends its process',
    project: 'node',
    files: {
      'src/cli.js':
        "import { add } from './sums.js';\nconsole.log(add(Number(process.argv[2]), 1));\nprocess.exit(0);\n",
    },
  },
  {
    name: 'node: a tool that no test uses',
    project: 'node',
    files: { 'tools/release.mjs': "console.log('release');\n" },
  },
  {
    name: 'node: a feature and its test are removed',
    project: 'node',
    files: {
      'src/sums.js': 'export const sum = (...all) => all.reduce((a, b) => a + b, 0);\n',
      'test/sums.test.js':
        "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { sum } from '../src/sums.js';\ntest('sums', () => assert.equal(sum(1, 2), 3));\n",
    },
    known: 'the tests of the base fail without the feature: a person says that it may go',
  },
  { name: 'nodeFile: a function', project: 'nodeFile', files: { 'src/sub.js': SUB } },
  {
    name: 'typescript: a function and its test',
    project: 'typescript',
    files: {
      'src/sub.ts': 'export const sub = (a: number, b: number): number => a - b;\n',
      'test/sub.test.ts': SUB_TEST.replace('sub.js', 'sub.ts'),
    },
  },
  {
    name: 'red: makes a failing test pass',
    project: 'red',
    files: { 'src/sums.js': 'export const add = (a, b) => a + b;\n' },
  },
  { name: 'clock: names of tests with a time in them', project: 'clock', files: { 'src/sub.js': SUB } },
  {
    name: 'toolOfTests: a function and its test',
    project: 'toolOfTests',
    files: { 'src/sub.js': SUB, 'test/sub.test.js': SUB_TEST },
  },
  {
    name: 'vitest: a function and its test',
    project: 'vitest',
    files: {
      'src/sub.js': SUB,
      'test/sub.test.js':
        "import { expect, test } from 'vitest';\nimport { sub } from '../src/sub.js';\ntest('subs', () => expect(sub(3, 2)).toBe(1));\n",
    },
  },
  {
    name: 'vitestTs: a matcher of its own',
    project: 'vitestTs',
    files: {
      'src/sub.ts': 'export const sub = (a: number, b: number): number => a - b;\n',
      'test/sub.test.ts':
        "import { expect, test } from 'vitest';\nimport { sub } from '../src/sub.js';\nexpect.extend({ toBeOne: (value: number) => ({ pass: value === 1, message: () => 'not one' }) });\ntest('subs', () => (expect(sub(3, 2)) as never as { toBeOne(): void }).toBeOne());\n",
    },
  },
  {
    name: 'jest: a function and its test',
    project: 'jest',
    files: {
      'src/sub.js': 'exports.sub = (a, b) => a - b;\n',
      'test/sub.test.js': "const { sub } = require('../src/sub.js');\ntest('subs', () => expect(sub(3, 2)).toBe(1));\n",
    },
  },
  {
    name: 'mocha: a function and its test',
    project: 'mocha',
    files: {
      'src/sub.js': SUB,
      'test/sub.test.js':
        "import { expect } from 'chai';\nimport { sub } from '../src/sub.js';\nit('subs', () => expect(sub(3, 2)).to.equal(1));\n",
    },
  },
  {
    name: 'pytest: a dependency in pyproject.toml',
    project: 'pytest',
    files: { 'sums/more.py': 'def sub(a, b):\n    return a - b\n' },
    command: `sed -i 's/^dependencies.*/dependencies = ["rich>=13"]/' pyproject.toml`,
  },
  {
    name: 'pytest: tests with parameters',
    project: 'pytest',
    files: {
      'tests/test_more.py':
        'import pytest\nfrom sums import add\n\n\n@pytest.mark.parametrize("a", [1, 2, 3])\ndef test_more(a):\n    assert add(a, 0) == a\n',
    },
  },
  {
    name: 'flat: a module and its test',
    project: 'flat',
    files: {
      'subs.py': 'def sub(a, b):\n    return a - b\n',
      'test_subs.py': 'from subs import sub\n\n\ndef test_subs():\n    assert sub(3, 2) == 1\n',
    },
  },
  {
    name: 'unittest: a module and its test',
    project: 'unittest',
    files: {
      'subs.py': 'def sub(a, b):\n    return a - b\n',
      'tests/test_subs.py':
        'import unittest\nfrom unittest import mock\nfrom subs import sub\n\n\nclass Subs(unittest.TestCase):\n    def test_subs(self):\n        with mock.patch("subs.sub", return_value=2):\n            self.assertEqual(sub(3, 2), 1)\n',
    },
  },
  {
    name: 'go: a function and its test',
    project: 'go',
    files: {
      'sub.go': 'package sums\n\n// Sub subtracts.\nfunc Sub(a, b int) int { return a - b }\n',
      'sub_test.go':
        'package sums\n\nimport "testing"\n\nfunc TestSub(t *testing.T) {\n\tif Sub(3, 2) != 1 {\n\t\tt.Fatal("not 1")\n\t}\n}\n',
    },
  },
  {
    name: 'make: a function and its test',
    project: 'make',
    files: { 'src/sub.js': SUB, 'test/sub.test.js': SUB_TEST },
  },
  {
    name: 'shell: another answer',
    project: 'shell',
    files: { 'more.sh': 'echo 4\n' },
    known: 'nothing but an exit code says that tests ran',
  },
];
