import { expect, it } from 'vitest';
import type { TreeChange } from '../../repository/repository.ts';
import { earlierTestsChanged } from './earlier-tests.ts';

const state = (oid: string | null) => (oid === null ? null : { mode: '100644', oid });
const child = (name: string, ...changes: readonly (readonly [string, string | null, string | null])[]) => ({
  name,
  changes: changes.map(([path, before, after]): TreeChange => ({ path, before: state(before), after: state(after) })),
});
const pathsIn = (...children: Parameters<typeof earlierTestsChanged>[0]) =>
  earlierTestsChanged(children).flatMap(({ items }) => items.map(({ path }) => path));

it('names tests that an earlier child run added or changed and a later one changed or deleted', () => {
  const one = child(
    'One',
    ['test/a.test.js', null, 'a1'],
    ['test/b.test.js', 'b0', 'b1'],
    ['test/c.test.js', null, 'c1'],
  );
  const two = child('Two', ['test/a.test.js', 'a1', 'a2'], ['test/b.test.js', 'b1', null]);
  const [concern] = earlierTestsChanged([one, two]);
  expect(concern?.title).toMatch(/: test\/a\.test\.js, test\/b\.test\.js$/);
  expect(concern?.items.map(({ reason }) => reason.split(':')[0])).toEqual([
    "Two changes a test as 'One' left it",
    "Two deletes a test as 'One' left it",
  ]);
});

it('names no test of the base commit, no new one, no other file, and none that two child runs changed side by side', () => {
  const one = child('One', ['test/a.test.js', 'a0', 'a1'], ['src/a.js', null, 's1']);
  const base = child('Two', ['test/b.test.js', 'b0', 'b1'], ['test/new.test.js', null, 'n1'], ['src/a.js', 's1', 's2']);
  expect(pathsIn(one, base)).toEqual([]);
  expect(pathsIn(one, child('Beside', ['test/a.test.js', 'a0', 'a2']))).toEqual([]);
});

it('has the same digest for the same contents, whatever the names', () => {
  const [one, two] = ['x', 'y'].map((name) =>
    earlierTestsChanged([
      child(`${name}1`, ['test/a.test.js', null, 'a1']),
      child(`${name}2`, ['test/a.test.js', 'a1', 'a2']),
    ]),
  );
  expect(one?.[0]?.hash).toBe(two?.[0]?.hash);
});
