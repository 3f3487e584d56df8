/** Chance that repeats: the same seed gives the same choices. */

export class Random {
  #state: number;

  /** @param seed any integer; neighbours give unrelated choices */
  constructor(seed: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ (seed >>> 15)) >>> 0;
    for (let round = 0; round < 4; round += 1) this.next();
  }

  /** From 0 to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to `limit`, without `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** @param list not empty */
  pick<Item>(list: readonly Item[]): Item {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }
}
