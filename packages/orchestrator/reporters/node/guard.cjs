/**
 * Notices code under test that makes assertions pass: it compares Node's own assertions and test functions with what they were
 * before any code of the project ran, whenever it is asked to look, and tries whether they still fail what has to fail.
 */
'use strict';

const assert = require('node:assert');
const Module = require('node:module');
const { createWatch, firstThatPasses } = require('./watch.cjs');

const { watch, trap, release, look, note, watchBuiltIns } = createWatch();
exports.watch = watch;
exports.look = look;

trap('node:assert', assert);
trap('node:assert/strict', assert.strict);
watch('AssertionError', assert.AssertionError.prototype);

/** Once the preload has put its own functions where it needs them: how modules are loaded, and what comparisons are made of. */
exports.watchLoading = () => {
  watch('Module', Module, ['_load', '_resolveFilename']);
  watch('Module.prototype', Module.prototype, ['require', '_compile']);
  watch('process', process, ['getBuiltinModule']);
  watchBuiltIns();
};

/** Node's test runner, in a process that has the code under test: before and after each test, too. */
exports.watchNodeTest = () => {
  const nodeTest = require('node:test');
  const { assert: own, beforeEach, afterEach } = nodeTest;
  if (typeof own?.register === 'function') {
    const { register } = own;
    own.register = function registerAssertion(name, ...rest) {
      if (name in assert) note(`node:test assert.${name}`);
      return register.call(this, name, ...rest);
    };
    watch('node:test assert', own);
  }
  watch('node:test', nodeTest);
  if (nodeTest.mock !== undefined) {
    const doubles = Object.getPrototypeOf(nodeTest.mock);
    const { method } = doubles;
    doubles.method = function doubleMethod(object, name, ...rest) {
      release(object, name);
      return method.call(this, object, name, ...rest);
    };
    watch('node:test mock', doubles);
  }
  if (typeof beforeEach !== 'function' || typeof afterEach !== 'function') return;
  // The first of all hooks: those of the code under test come after them, on both sides of a test.
  beforeEach(() => void look());
  afterEach(() => void look());
};

const MUST_THROW = [
  () => assert(false),
  () => assert.ok(0),
  () => assert.equal(1, 2),
  () => assert.strictEqual(1, 2),
  () => assert.deepEqual({ a: 1 }, { a: 2 }),
  () => assert.deepStrictEqual([1], [2]),
  () => assert.notStrictEqual(1, 1),
  () => assert.throws(() => {}),
  () => assert.match('a', /b/),
  () => assert.fail('x'),
];

/** Names what was changed at any look, the last one being now; an empty list where nothing was. */
exports.changes = (more = []) => {
  if (look().length === 0 && firstThatPasses([...MUST_THROW, ...more]) !== null)
    note('an assertion that has to fail passed');
  return look();
};
