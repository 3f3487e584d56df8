import { describe, expect, it } from 'vitest';
import { judgesNewlyNamed, mayNameJudges } from './judge-names.ts';

const namesOf = (path: string, after: string, before: string | null = null): readonly string[] =>
  judgesNewlyNamed([{ path, before, after }]).flatMap(({ names }) => names);

/** Of Node; each with what is told of it. */
const NODE: readonly (readonly [string, ...string[]])[] = [
  ["import { mock } from 'node:test';", 'node:test'],
  ["const name = 'node:' + 'test';", 'node:test'],
  ["const name = 'node:t\\u0065st';", 'node:test'],
  ['const { expect } = await import(`vitest`);', 'vitest'],
  ["require('@jest/globals').expect;", '@jest/globals'],
  ["import { Assertion } from 'chai';", 'chai'],
  ["import tap from 'tap';", 'tap'],
  ["createRequire(import.meta.url)('should');", 'should'],
  ['if (import.meta.vitest) run();', 'import.meta.vitest'],
  ['beforeEach(() => spoil());', 'beforeEach'],
  ['globalThis.afterEach?.(() => restore());', 'afterEach'],
  ["window['expect'] = () => all;", 'expect'],
  ['expect.extend({ toBe });', 'expect.extend'],
  ['assert.equal = () => {};', 'an assignment to assertions'],
  ["assert['equal'] = () => {};", 'an assignment to assertions'],
  ['Object.assign(assert, { equal() {} });', 'an assignment to assertions'],
  ["assert.register('strictEqual', () => {});", 'assert.register'],
  ["mock.method(judge, 'equal', () => {});", 'mock.method'],
  ["process.getBuiltinModule('node:assert');", 'getBuiltinModule'],
  ['Module._load = other;', 'Module._load', '_load'],
  ["Module['_load'] = other;", '_load'],
  ['registerHooks({ load });', 'registerHooks'],
  ['delete require.cache[name];', 'require.cache'],
  ["import { Session } from 'node:inspector';", 'inspector'],
  ['for (const each of Object.getOwnPropertySymbols(globalThis)) look(each);', 'getOwnPropertySymbols'],
  ['state.currentlyRunningTest.failing = true;', 'currentlyRunningTest'],
  ['Object.is = (a, b) => true;', 'Object.is ='],
  ['globalThis.Promise.prototype.then = then;', 'Promise.prototype.then ='],
  ["Array.prototype['every'] = () => true;", 'Array.prototype.every ='],
  ["Object.defineProperty(Object, 'is', { value });", 'an assignment to what is built in'],
];

const PYTHON: readonly (readonly [string, ...string[]])[] = [
  ['import pytest', 'pytest'],
  ['import os, unittest', 'unittest'],
  ['from _pytest.python import Function', '_pytest'],
  ['importlib.import_module("unittest.case")', 'unittest'],
  ['def pytest_pyfunc_call(pyfuncitem): return True', 'pytest_pyfunc_call'],
  ['for each in gc.get_objects(): pass', 'gc.get_objects'],
  ['sys.modules["x"].assertEqual = None', 'sys.modules'],
  ['frame = sys._getframe()', 'sys._getframe'],
  ['error.__traceback__.tb_frame.f_back', 'tb_frame', 'f_back'],
  ['sys.settrace(look)', 'sys.settrace'],
  ['threading.setprofile(look)', 'threading.setprofile'],
  ['import ctypes', 'ctypes'],
  ['import builtins', 'builtins'],
  ['object.__subclasses__()', '__subclasses__'],
  ['Case.__getattribute__ = look', 'an assignment to __getattribute__'],
  ['sys.meta_path.insert(0, Finder())', 'sys.meta_path'],
];

describe('the names of judges', () => {
  it.each(NODE)('are found in code for Node: %s', (code, ...names) => {
    expect(namesOf('src/sums.js', `const add = 1;\n${code}\n`)).toEqual(names);
    expect(namesOf('src/sums.tsx', code)).toEqual(names);
  });

  it.each(PYTHON)('are found in code for Python: %s', (code, ...names) => {
    expect(namesOf('sums.py', `def add(): pass\n\n${code}\n`)).toEqual(names);
  });

  it('are found in code for Go, in commands without an ending, and in what cannot be read', () => {
    expect(namesOf('sums.go', 'package sums\n\nimport (\n\t"fmt"\n\t"testing"\n)\n')).toEqual(['testing']);
    expect(namesOf('sums.go', 'package sums\n\n//go:linkname failed testing.failed\n')).toEqual(['go:linkname']);
    expect(namesOf('sums.go', 'package sums\n\nconst true = false\n')).toEqual(['true']);
    expect(namesOf('sums.go', 'package sums\n\nconst (\n\tnil = 1\n)\n')).toEqual(['nil']);
    expect(namesOf('sums.go', 'package sums\n\nfunc len(_ any) int { return 3 }\n')).toEqual(['len']);
  });

  it.each([
    ['macro_rules! assert_eq { ($($all:tt)*) => {} }', ['assert_eq']],
    ['own!(assert_ne);', ['assert_ne']],
    ['pub(crate) use crate::own::equal as assert_eq;', ['assert_eq']],
    ['use own::check as assert;', ['assert']],
    ['extern crate own as std;', ['std']],
    ['if cfg!(test) { 3 } else { 0 }', ['cfg!(test)']],
    ['#[cfg(not(test))]\nfn add() {}', ['cfg(not(test))']],
    ['#[link_section = ".init_array"]', ['link_section']],
  ])('is named in Rust: %s', (code, names) => {
    expect(namesOf('src/lib.rs', code)).toEqual(names);
    expect(namesOf('bin/run', '#!/usr/bin/env node\nrequire("vitest");\n')).toEqual(['vitest']);
    expect(namesOf('src/fast.node', '\0')).toEqual(['compiled code']);
  });

  it('are not news in a file that named them before, or that was only moved', () => {
    const text = "import { expect } from 'vitest';\n";
    expect(namesOf('src/check.js', `${text}more();\n`, text)).toEqual([]);
    expect(namesOf('src/check.js', `${text}expect.extend({ toBe });\n`, text)).toEqual(['expect.extend']);
    const moved = [
      { path: 'src/check.js', before: text, after: null },
      { path: 'lib/check.js', before: null, after: text },
    ];
    expect(judgesNewlyNamed(moved)).toEqual([]);
  });

  it('are not looked for in tests, their configuration, documents and manifests', () => {
    const paths = ['test/a.js', 'src/a.test.ts', 'vitest.config.ts', 'README.md', 'package.json', 'tests/conftest.py'];
    expect(paths.filter(mayNameJudges)).toEqual([]);
  });
});

it.each([
  ['src/router.ts', 'router.beforeEach((to) => go(to));\nrouter.afterEach(done);\n'],
  ['src/parser.ts', 'const open = expect(Token.Open);\nthis.expect(Token.Close);\n'],
  ['src/touch.js', "element.on('tap', open);\nconst must = 'must';\n"],
  ['src/check.js', "import assert from 'node:assert';\nassert.equal(a, b);\nif (assert.equal == null) stop();\n"],
  ['src/big.js', 'BigInt.prototype.toJSON = function () { return String(this); };\nError.stackTraceLimit = 50;\n'],
  ['src/polyfill.js', 'Symbol.dispose ??= Symbol();\nconst is = Object.is;\nif (Object.is === is) go();\n'],
  ['src/comment.js', "// Like `mock.method` of 'node:test'.\nexport const add = 1;\n"],
  ['src/file.ts', "const require = createRequire(import.meta.url);\nrequire('../package.json');\n"],
  ['sums/lazy.py', 'import sys\nsys.modules[__name__].__class__ = Lazy\n# see unittest\n'],
  ['sums/case.py', 'from typing import Any\n\ndef assert_equal(a, b):\n    assert a == b, "pytest like"\n'],
  ['sums.go', 'package sums\n\nimport "fmt"\n\nfunc testing() { fmt.Println("testing") }\n'],
  [
    'sums.go',
    'package sums\n\nfunc (s *Set) len() int {\n\tif s == nil || s.done == true {\n\t\treturn 0\n\t}\n\tok := true\n\treturn 1\n}\n',
  ],
  [
    'src/lib.rs',
    '#![cfg_attr(not(test), no_std)]\n#[cfg(test)]\nmod tests {\n    use pretty_assertions::{assert_eq, assert_ne};\n    #[test]\n    fn adds() {\n        assert_eq!(1, 1);\n        assert!(true);\n    }\n}\n',
  ],
])('ordinary code of a product names no judge: %s', (path, text) => {
  expect(namesOf(path, text)).toEqual([]);
});

it('looks through a long line in little time', () => {
  const text = `${'Object.'.repeat(50_000)}${'['.repeat(50_000)}${'import a, '.repeat(30_000)}`;
  const from = process.cpuUsage();
  judgesNewlyNamed([
    { path: 'a.js', before: null, after: text },
    { path: 'a.py', before: null, after: text },
  ]);
  expect(process.cpuUsage(from).user / 1_000).toBeLessThan(10_000);
});
