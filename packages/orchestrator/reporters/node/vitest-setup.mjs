/** Watches the assertions, the hooks and the tests of one test file of Vitest, from before any code of the project in it. */
import * as vitest from 'vitest';

const { afterAll, afterEach, assert, beforeAll, beforeEach, chai, expect } = vitest;

const ours = await loadOurs();
const guard = ours?.guardFile({
  watching: ours.watching,
  runner: 'vitest',
  session: ours.session,
  expect,
  holders: [
    ['expect', expect],
    ['assert', assert],
    ['expect', chai.Assertion.prototype, keysThatStay(chai.Assertion.prototype)],
  ],
  mustThrow: [
    () => expect(1).to.equal(2),
    () => assert.equal(1, 2),
    () => assert.deepEqual({ a: 1 }, { a: 2 }),
    // Not in each version.
    ...('toSatisfy' in chai.Assertion.prototype ? [() => expect(1).toSatisfy(() => false)] : []),
    ...('toBeOneOf' in chai.Assertion.prototype ? [() => expect(1).toBeOneOf([2])] : []),
  ],
  ofProcess: globalThis[Symbol.for('autonomous.guard')],
});

if (guard !== undefined) {
  const { getFn, getHooks } = await partsOfRunner();
  const declared = new Map();
  const see = ({ task }) => {
    guard.look();
    const known = declared.get(task);
    if (known === undefined) return;
    if (task.fails !== known.fails) guard.note('test.fails');
    if (getFn?.(task) !== known.fn) guard.note('the function of a test');
  };
  // Once all tests and hooks of the file are declared: ours stand next to the test, within those of the code under test.
  // Without parameters: what comes first, and how it has to be written, is another thing in each version.
  beforeAll(function () {
    const file = Array.from(arguments).find((each) => Array.isArray(each?.tasks));
    if (file === undefined) return;
    remember(file);
    const hooks = getHooks?.(file);
    if (!Array.isArray(hooks?.beforeEach) || !Array.isArray(hooks.afterEach)) return;
    hooks.beforeEach.push((context) => see(context));
    // The first or the last of them is called first, as the project has it.
    hooks.afterEach.unshift((context) => see(context));
    hooks.afterEach.push((context) => see(context));
  });
  beforeEach(() => guard.look());
  afterEach(() => guard.look());
  afterAll(() => guard.finish());

  function remember({ tasks }) {
    for (const task of tasks) {
      if (task.type === 'suite') remember(task);
      else if (task.type === 'test') declared.set(task, { fails: task.fails, fn: getFn?.(task) });
    }
  }
} else {
  afterAll(() => {
    try {
      expect(1).toBe(2);
    } catch {
      return;
    }
    throw new Error('Assertions do not assert any more: 1 was 2.');
  });
}

/** An `expect` for one test, which Vitest makes when a test asks for it, defines some assertions anew for all tests. */
function keysThatStay(prototype) {
  const before = Object.getOwnPropertyDescriptors(prototype);
  vitest.createExpect?.();
  const after = Object.getOwnPropertyDescriptors(prototype);
  return Reflect.ownKeys(after).filter(
    (key) => after[key].value === before[key]?.value && after[key].get === before[key]?.get,
  );
}

/** How to ask Vitest for the function of a test and the hooks of a file, by version; absent where there is no way. */
async function partsOfRunner() {
  const { TestRunner } = vitest;
  if (TestRunner !== undefined) return { getFn: TestRunner.getTestFn, getHooks: TestRunner.getSuiteHooks };
  const name = 'vitest/suite';
  return import(/* @vite-ignore */ name).catch(() => ({}));
}

/** `null` in a browser, which has no file to write to and loads nothing of ours. */
async function loadOurs() {
  if (typeof process === 'undefined' || process.versions?.node === undefined) return null;
  const name = 'node:module';
  const { createRequire } = await import(/* @vite-ignore */ name);
  const require = createRequire(import.meta.url);
  const { guardFile } = require('./setup-guard.cjs');
  return { guardFile, watching: require('./watch.cjs'), session: require('./record.cjs').session };
}
