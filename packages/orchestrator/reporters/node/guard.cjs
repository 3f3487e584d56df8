/**
 * Notices code under test that makes assertions pass: it compares Node's own assertions and test functions with what they
 * were before any code of the project ran, and tries whether they still fail what has to fail.
 */
'use strict';

const assert = require('node:assert');

const watched = [];

/** Remembers the functions of an object as they are now. */
const watch = (name, target) => {
  for (const key of Object.getOwnPropertyNames(target)) {
    const descriptor = Object.getOwnPropertyDescriptor(target, key);
    if (descriptor !== undefined && typeof descriptor.value === 'function' && key !== 'constructor')
      watched.push({ name: `${name}.${key}`, target, key, value: descriptor.value });
  }
};
exports.watch = watch;

watch('node:assert', assert);
watch('node:assert/strict', assert.strict);
watch('AssertionError', assert.AssertionError.prototype);

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

const passes = (check) => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};

/** Names what was changed since; an empty list where nothing was. */
exports.changes = (more = []) => {
  const changed = watched.filter(({ target, key, value }) => {
    const now = Object.getOwnPropertyDescriptor(target, key);
    return now === undefined || now.value !== value;
  });
  const found = changed.map(({ name }) => name);
  if (found.length === 0 && [...MUST_THROW, ...more].some(passes)) found.push('an assertion that has to fail passed');
  return found;
};
