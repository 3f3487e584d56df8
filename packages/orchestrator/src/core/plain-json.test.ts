import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findNonJson } from './plain-json.ts';

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
