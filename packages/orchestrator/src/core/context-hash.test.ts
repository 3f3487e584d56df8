import type { JsonObject, JsonValue } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { newRun } from './advance.ts';
import { contextChanges, findOtherChange } from './context-hash.ts';

const state = (context: object) => ({ ...newRun('r'), snapshot: { context } as never });
const changes = (before: object, after: object, given: JsonObject = {}) =>
  contextChanges(state(before), state(after), given);

it.each<[what: string, before: JsonValue, after: JsonValue, other: JsonValue]>([
  ['value', 1, 2, 3],
  ['entry of a list', [1, 2], [1, 3], [1, 4]],
  ['length of a list', [1, 2, 3], [1, 2], [1]],
  ['list that became an object', [1], { 0: 1 }, { 0: 2 }],
  ['list within an object within a list', [{ a: [1, 2] }], [{ a: [1, 3] }], [{ a: [3, 2] }]],
  ['field that is gone', { a: 1, b: 1 }, { a: 1 }, { b: 1 }],
  ['field with the name of a method', { constructor: 1 }, {}, { constructor: 2 }],
  ['field that was null', { a: null }, { a: {} }, { a: [] }],
])('another change of a %s is noticed', (_what, before, after, other) => {
  const stored = changes({ field: before, same: [1] }, { field: after, same: [1] });
  expect(Object.keys(stored)).toEqual(['field']);
  expect(changes({ field: structuredClone(before) }, { field: structuredClone(after) })).toEqual(stored);
  expect(findOtherChange(state({ field: before }), state({ field: other }), {}, stored)).toBe('field');
  expect(findOtherChange(state({ field: before }), state({ field: after }), {}, stored)).toBeNull();
});

it('a copy is no change, whatever the order of its keys', () => {
  expect(changes({ a: { b: [1, { c: 2, d: null }], e: 3 } }, { a: { e: 3, b: [1, { d: null, c: 2 }] } })).toEqual({});
  expect(changes({}, { a: { b: 1, c: 2 } })).toEqual(changes({}, { a: { c: 2, b: 1 } }));
});

it('the output of an activity is named where it is long enough', () => {
  const long = 'x'.repeat(64);
  expect(changes({ a: '' }, { a: long }, { output: long })).toEqual({ a: 'output' });
  expect(changes({ a: '' }, { a: long.slice(1) }, { output: long.slice(1) })['a']).toMatch(/^[\da-f]{16}$/);
  expect(changes({ a: 1 }, { a: null })['a']).toMatch(/^[\da-f]{16}$/);
  expect(changes({ a: 1, b: 2 }, { a: 1 })).toEqual({ b: expect.stringMatching(/^[\da-f]{16}$/) });
});
