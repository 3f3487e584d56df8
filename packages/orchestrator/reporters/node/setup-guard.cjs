/**
 * What the set-up files of Vitest and Jest have in common: they watch the assertions and the functions that declare tests in the
 * context of one test file. Assertions that pass what has to fail, and tests that are declared by other functions, fail the file;
 * everything else that was changed is told to the server.
 */
'use strict';
const DECLARES = ['test', 'it', 'describe', 'expect', 'beforeEach', 'afterEach', 'beforeAll', 'afterAll'];

/**
 * @param {object} options
 * @param {object} options.watching `watch.cjs`, which only a set-up file can load past Jest's automatic mocks
 * @param {string} options.runner
 * @param {Function} options.session as in `record.cjs`
 * @param {Function} options.expect
 * @param {readonly (readonly [string, object, (readonly (string | symbol)[])?])[]} options.holders objects that hold assertions, and their names;
 *   with a third entry the keys that are watched, where these are not all
 * @param {readonly Function[]} [options.mustThrow] assertions of this runner alone that have to throw
 * @param {{ look: Function, changes: Function }} [options.ofProcess] the guard of a process that the test file has for itself
 */
exports.guardFile = ({ watching, runner, session, expect, holders, mustThrow = [], ofProcess }) => {
  const { createWatch, firstThatPasses } = watching;
  const { watch, look, note, found, watchBuiltIns } = createWatch();
  const before = DECLARES.map((name) => [name, globalThis[name]]);
  for (const [name, holder, keys] of holders) watch(name, holder, keys);
  watchBuiltIns();
  const mustFail = [
    () => expect(1).toBe(2),
    () => expect({ a: 1 }).toEqual({ a: 2 }),
    () => expect([1]).toStrictEqual([2]),
    () => expect(false).toBeTruthy(),
    () => expect(() => {}).toThrow('x'),
    () => expect('a').toMatch(/b/),
    () => expect([1]).toContain(2),
    ...mustThrow,
  ];
  const lookAtAll = (ofAll = ofProcess?.look) => {
    look();
    for (let index = 0; index < before.length; index += 1)
      if (globalThis[before[index][0]] !== before[index][1]) note(before[index][0]);
    const more = ofAll?.() ?? [];
    for (let index = 0; index < more.length; index += 1) note(more[index]);
  };
  return {
    note,
    look: () => lookAtAll(),
    /** After the last test of the file. */
    finish() {
      for (const [name, value] of before)
        if (globalThis[name] !== value)
          throw new Error(`The code under test has put another function in the place of ${name}.`);
      const passed = firstThatPasses(mustFail);
      if (passed !== null)
        throw new Error(`Assertions do not assert any more: ${passed.toString()} passed, and it has to fail.`);
      lookAtAll(ofProcess?.changes);
      if (found.length === 0) return;
      const file = session(`${runner} file`);
      for (const what of found) file.tampered(what);
      file.end();
    },
  };
};
