/** Limits how many activities of one run are performed at the same time. */

interface Waiting {
  readonly limit: number;
  readonly enter: () => void;
}

export class ActivitySlots {
  #taken = 0;
  readonly #waiting = new Set<Waiting>();

  /** Takes a slot when fewer than `limit` are taken and nothing waits for one. @returns whether it did */
  take(limit: number): boolean {
    if (this.#taken >= limit || this.#waiting.size > 0) return false;
    this.#taken += 1;
    return true;
  }

  /**
   * Waits for a slot, after those that wait already.
   * @param enter called when the slot is taken
   * @returns a function that stops waiting
   */
  wait(limit: number, enter: () => void): () => void {
    const waiting = { limit, enter };
    this.#waiting.add(waiting);
    return () => {
      // The next one may have room where this one had none.
      if (this.#waiting.delete(waiting)) this.#admit();
    };
  }

  /** Gives a slot back. */
  release(): void {
    this.#taken -= 1;
    this.#admit();
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (this.#taken >= waiting.limit) return;
      this.#waiting.delete(waiting);
      this.#taken += 1;
      waiting.enter();
    }
  }
}
