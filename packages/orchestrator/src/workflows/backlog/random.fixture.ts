/** Chance that repeats, for tests: the same seed gives the same choices. */

export interface Choices {
  /** An integer from 0 to `limit`, without `limit`. */
  below(limit: number): number;
  pick<Item>(list: readonly [Item, ...Item[]]): Item;
  shuffled<Item>(list: readonly Item[]): Item[];
}

/** Mulberry32. */
export function choices(seed: number): Choices {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    pick: (list) => list[below(list.length)] ?? list[0],
    shuffled: (list) => {
      const rest = [...list];
      return list.flatMap(() => rest.splice(below(rest.length), 1));
    },
  };
}
