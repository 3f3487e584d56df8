import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asStored, findNonJson, sharedStart } from './plain-json.ts';

class Money {
  readonly amount = 1;
}
const cycle: { self?: unknown } = {};
cycle.self = cycle;

describe('what JSON does not keep', () => {
  it.each([
    ['a date', { since: new Date(0) }, '.since', 'is a Date'],
    ['a map', { deep: { index: new Map() } }, '.deep.index', 'is a Map'],
    ['a set', [new Set()], '[0]', 'is a Set'],
    ['a function', { 'a key': () => 1 }, '["a key"]', 'is a function'],
    ['a bigint', { n: [1, 2n] }, '.n[1]', 'is a bigint'],
    ['no number', { n: Number.NaN }, '.n', 'is NaN'],
    ['an infinite number', { n: -Infinity }, '.n', 'is -Infinity'],
    ['undefined in a list', { list: ['a', undefined] }, '.list[1]', 'is undefined'],
    ['a hole in a list', { list: Array.from({ length: 2 }) }, '.list[0]', 'is undefined'],
    ['an instance', { price: new Money() }, '.price', 'is an instance of Money'],
    ['a symbol', { s: Symbol('x') }, '.s', 'is a symbol'],
    ['itself', cycle, '', 'contains itself'],
    ['a value with a JSON of its own', { at: { toJSON: () => 1 } }, '.at.toJSON', 'is a function'],
  ])('is %s, named by its place', (_name, value, path, what) => {
    const found = findNonJson(value);
    expect(found?.what).toContain(what);
    if (path !== '') expect(found?.path).toBe(path);
    expect(asStored(value)).toEqual(found);
  });

  it('is nothing of what came from JSON, and a key without a value is taken for none', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => findNonJson(value) === null));
    expect(findNonJson({ a: undefined, b: Object.assign(Object.create(null), { c: 1 }) })).toBeNull();
  });

  it('is looked for only in what changed', () => {
    const looked: string[] = [];
    const watched = (name: string, value: unknown) => ({
      get [name]() {
        looked.push(name);
        return value;
      },
    });
    const before = { big: watched('big', 1), list: [watched('first', 1)], small: 1 };
    const after = { ...before, list: [...before.list, watched('second', new Date(0))], small: 2 };
    expect(findNonJson(after, before)).toMatchObject({ path: '.list[1].second' });
    expect(looked).toEqual(['second']);
    expect(findNonJson(before, before)).toBeNull();
  });
});

describe('a value as it was stored', () => {
  const stored = (value: unknown, before?: unknown) => (asStored(value, before) as { readonly value: unknown }).value;

  it('is what JSON gives back, whatever stood there before', () => {
    const minus = fc.constant(-0);
    const values = fc.letrec((tie) => ({
      any: fc.oneof(
        fc.jsonValue(),
        minus,
        fc.array(tie('any'), { maxLength: 5 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), fc.option(tie('any'), { nil: undefined })),
      ),
    })).any;
    fc.assert(
      fc.property(values, values, (value, other) => {
        const before = stored(other);
        const once = stored({ value, again: value, before }, { value: before, again: 0, before });
        expect(isDeepStrictEqual(once, JSON.parse(JSON.stringify({ value, again: value, before })))).toBe(true);
        expect(isDeepStrictEqual(stored(value, stored(value)), stored(value))).toBe(true);
      }),
    );
  });

  it('keeps the parts that are the very same in the same place, and no object in two places', () => {
    const before = stored({ list: [{ a: 1 }, { b: 1 }], kept: { c: 1 } }) as {
      readonly list: readonly object[];
      readonly kept: object;
    };
    const next = { list: [...before.list, before.list[0]], kept: before.kept };
    const after = stored(next, before) as typeof before;
    expect(after.kept).toBe(before.kept);
    expect(after.list[1]).toBe(before.list[1]);
    expect(after.list[2]).toEqual(before.list[0]);
    expect(after.list[2]).not.toBe(before.list[0]);
    expect(Object.isFrozen(after.list) && Object.isFrozen(after.list[2])).toBe(true);
  });

  it.each([
    ['longer', (list: readonly number[]) => [...list, 1], 100],
    ['changed', (list: readonly number[]) => list.with(70, 9), 70],
    ['shorter', (list: readonly number[]) => list.slice(0, 80), 80],
    ['another', (list: readonly number[]) => [9, ...list], 0],
  ])('knows the start of a list that is %s', (_, change, items) => {
    const before = stored(Array.from({ length: 100 }, (_each, index) => index + 1)) as readonly number[];
    const after = stored(change(before), before) as readonly number[];
    expect(sharedStart(before, after)).toBe(items);
    expect(sharedStart([...before], after)).toBe(0);
  });
});
