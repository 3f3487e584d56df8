/** Watches the assertions, the hooks and the tests of one test file of Jest, from before any code of the project in it. */
'use strict';
/* global afterAll, afterEach, beforeEach, expect, jest */
const ofJest =
  typeof afterAll === 'function' ? { afterAll, afterEach, beforeEach, expect, jest } : require('@jest/globals');
// With `automock` our own files would be emptied, too.
const load = ofJest.jest?.requireActual ?? require;
const { guardFile } = load('./setup-guard.cjs');
const { session } = load('./record.cjs');

const matchers = globalThis[Symbol.for('$$jest-matchers-object')]?.matchers;
const guard = guardFile({
  watching: load('./watch.cjs'),
  runner: 'jest',
  session,
  expect: ofJest.expect,
  holders: [['expect', ofJest.expect], ...(matchers === undefined ? [] : [['expect', matchers]])],
});

ofJest.beforeEach(() => guard.look());
ofJest.afterEach(() => guard.look());
ofJest.afterAll(() => guard.finish());

// Right before and after the body of a test, inside of all hooks.
const handlers = globalThis[Symbol.for('EVENT_HANDLERS')];
if (Array.isArray(handlers)) {
  const declared = new Map();
  handlers.push(({ name, test }, state) => {
    if (name === 'run_start') remember(state?.rootDescribeBlock);
    if (name !== 'test_fn_start' && name !== 'test_fn_success') return;
    guard.look();
    const known = declared.get(test);
    if (known === undefined) return;
    if (test.fn !== known.fn) guard.note('the function of a test');
    if (test.failing !== known.failing) guard.note('test.failing');
  });
  function remember(block) {
    for (const child of block?.children ?? []) {
      if (child.type === 'describeBlock') remember(child);
      else declared.set(child, { fn: child.fn, failing: child.failing });
    }
  }
}
