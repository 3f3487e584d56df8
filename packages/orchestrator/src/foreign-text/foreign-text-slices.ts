/**
 * Work over long lists that strangers decide about, such as half a million paths, on the server's own thread: in slices of a few
 * milliseconds, between which everybody else has a turn. A single item takes less than that.
 */
import { setImmediate as othersFirst } from 'node:timers/promises';

const SLICE_MS = 4;

/** Slices of the server's time that one piece of work takes. */
export class Slices {
  #until = performance.now() + SLICE_MS;

  isOver(): boolean {
    return performance.now() > this.#until;
  }

  /** Gives everybody else a turn, and begins another slice. */
  async next(): Promise<void> {
    await othersFirst();
    this.#until = performance.now() + SLICE_MS;
  }
}

/** The items one by one, for work that waits in between anyway. */
export async function* inSlices<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  const slices = new Slices();
  for (const item of items) {
    yield item;
    if (slices.isOver()) await slices.next();
  }
}

/** Does this work for each item, in their order. */
export async function eachInSlices<Item>(
  items: Iterable<Item>,
  work: (item: Item, index: number) => void,
): Promise<void> {
  const slices = new Slices();
  let index = 0;
  for (const item of items) {
    work(item, index++);
    if (slices.isOver()) await slices.next();
  }
}

/** The results of `change` for each item, in their order. */
export async function mapInSlices<Item, Result>(
  items: Iterable<Item>,
  change: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const changed: Result[] = [];
  await eachInSlices(items, (item, index) => {
    changed.push(change(item, index));
  });
  return changed;
}

/** The items that pass, in their order. */
export async function filterInSlices<Item>(
  items: Iterable<Item>,
  passes: (item: Item, index: number) => boolean,
): Promise<Item[]> {
  const passed: Item[] = [];
  await eachInSlices(items, (item, index) => {
    if (passes(item, index)) passed.push(item);
  });
  return passed;
}

/** The first item that passes. */
export async function findInSlices<Item>(
  items: Iterable<Item>,
  passes: (item: Item) => boolean,
): Promise<Item | undefined> {
  const slices = new Slices();
  for (const item of items) {
    if (passes(item)) return item;
    if (slices.isOver()) await slices.next();
  }
  return undefined;
}

/** Items that are sorted at once. */
const RUN = 64;

/** The items in the order of `compare`; equal ones stay as they are. */
export async function sortInSlices<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Promise<readonly Item[]> {
  const slices = new Slices();
  let runs: Item[][] = [];
  for (let at = 0; at < items.length; at += RUN) {
    runs.push(items.slice(at, at + RUN).sort(compare));
    if (slices.isOver()) await slices.next();
  }
  while (runs.length > 1) {
    const merged: Item[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await mergeInSlices(runs[at] ?? [], runs[at + 1] ?? [], compare, slices));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergeInSlices<Item>(
  a: readonly Item[],
  b: readonly Item[],
  compare: (a: Item, b: Item) => number,
  slices: Slices,
): Promise<Item[]> {
  const merged: Item[] = [];
  for (let [i, j] = [0, 0]; i < a.length || j < b.length;) {
    const takesA = j >= b.length || (i < a.length && compare(a[i] as Item, b[j] as Item) <= 0);
    merged.push((takesA ? a[i++] : b[j++]) as Item);
    if (slices.isOver()) await slices.next();
  }
  return merged;
}
