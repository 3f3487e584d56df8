import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { eachInSlices, filterInSlices, findInSlices, inSlices, sortInSlices } from './foreign-text-slices.ts';

const items = Array.from({ length: 60 }, (_, index) => index);

/** Turns that others have while this works. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const done = new AbortController();
  const others = (async () => {
    for (; !done.signal.aborted; turns += 1) await turn();
  })();
  await work();
  done.abort();
  await others;
  return turns;
}

function slow(): boolean {
  const until = performance.now() + 1;
  while (performance.now() < until);
  return false;
}

it.each([
  ['each item', () => eachInSlices(items, slow)],
  ['a filter', () => filterInSlices(items, slow)],
  ['a search', () => findInSlices(items, slow)],
  [
    'a loop that waits for nothing else',
    async () => {
      for await (const _ of inSlices(items)) slow();
    },
  ],
  [
    'a sort',
    () =>
      sortInSlices(items.concat(items, items), (a, b) => {
        slow();
        return a - b;
      }),
  ],
])('others have their turns during %s', async (_, work) => {
  expect(await turnsDuring(work)).toBeGreaterThan(5);
});

it('gives the items that pass, and the first of them', async () => {
  expect(await filterInSlices(items, (item, index) => item > 57 && item === index)).toEqual([58, 59]);
  expect(await findInSlices(items, (item) => item > 57)).toBe(58);
  expect(await findInSlices(items, (item) => item > 59)).toBeUndefined();
});

it('sorts as an array does, equal items as they were', async () => {
  const pairs = fc.array(fc.tuple(fc.nat(20), fc.nat()), { maxLength: 500 });
  const compare = ([a]: readonly [number, number], [b]: readonly [number, number]) => a - b;
  await fc.assert(
    fc.asyncProperty(pairs, async (list) => {
      expect(await sortInSlices(list, compare)).toEqual(list.toSorted(compare));
    }),
  );
});
