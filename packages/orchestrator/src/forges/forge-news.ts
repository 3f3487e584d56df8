/** Wakes those who follow something at a forge, such as a pull request, before they would look again by themselves. */
import { keyOfRepository, type RepositoryName } from './forge.ts';

export class ForgeNews {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Something of this repository may have changed. Nothing is said about what: those who wait read it from the forge. */
  tell(repository: RepositoryName): void {
    for (const wake of this.#waiting.get(keyOfRepository(repository)) ?? []) wake();
  }

  /**
   * Resolves with the next news of a repository, or after a time without any.
   * @param ms time after which it resolves
   * @param signal ends the wait; its reason is thrown
   * @returns whether there was news
   */
  async next(repository: RepositoryName, ms: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const key = keyOfRepository(repository);
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const wake = () => resolve(true);
    const stop = () => reject(signal.reason as Error);
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(wake));
    const timer = setTimeout(() => resolve(false), ms);
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      waiting.delete(wake);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    }
  }
}
