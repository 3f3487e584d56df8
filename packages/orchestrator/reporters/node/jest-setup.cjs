/** Fails a test file of Jest when assertions that have to fail pass there, or when tests are declared by other functions than its own. */
'use strict';
/* global afterAll, expect */
const globals = typeof afterAll === 'function' ? { afterAll, expect } : require('@jest/globals');

const DECLARES = ['test', 'it', 'describe', 'expect', 'beforeEach', 'afterEach', 'beforeAll', 'afterAll'];
const before = new Map(DECLARES.map((name) => [name, globalThis[name]]));

globals.afterAll(() => {
  for (const [name, value] of before)
    if (globalThis[name] !== value)
      throw new Error(`The code under test has put another function in the place of ${name}.`);
  const { expect } = globals;
  const mustThrow = [
    () => expect(1).toBe(2),
    () => expect({ a: 1 }).toEqual({ a: 2 }),
    () => expect([1]).toStrictEqual([2]),
    () => expect(false).toBeTruthy(),
    () => expect(() => {}).toThrow('x'),
    () => expect('a').toMatch(/b/),
    () => expect([1]).toContain(2),
  ];
  for (const check of mustThrow) {
    let threw = false;
    try {
      check();
    } catch {
      threw = true;
    }
    if (!threw) throw new Error(`Assertions do not assert any more: ${check.toString()} passed, and it has to fail.`);
  }
});
