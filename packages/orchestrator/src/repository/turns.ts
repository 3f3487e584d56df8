/** Carries out work one at a time per name, in the order of the calls. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Waits for the work of the same name that was asked for before, then carries out this one, whether or not that failed.
   * @param signal ends the wait; the work itself is carried out all the same
   * @throws the reason that the signal was aborted with
   */
  async take<Value>(name: string, work: () => Promise<Value>, signal?: AbortSignal): Promise<Value> {
    if (signal === undefined) return this.#queue(name, work);
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([this.#queue(name, work), aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #queue<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work, work);
    this.#last.set(name, turn);
    const clear = (): void => {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    };
    turn.then(clear, clear);
    return turn;
  }
}
