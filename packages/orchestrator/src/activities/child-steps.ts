/** Steps of child runs, told to the activities of their parents that wait for them. */
import type { RunView } from '@autonomous/shared';

export class ChildSteps {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** To be called with the view after each stored step of any run. */
  note({ parent, gate }: Pick<RunView, 'parent' | 'gate'>): void {
    if (parent === undefined || gate === null) return;
    for (const listener of this.#listeners.get(parent.runId) ?? []) listener();
  }

  /**
   * Calls a listener after each step with which a child of a run waits at a gate.
   * @returns a function that ends it
   */
  onGate(runId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(runId) ?? new Set();
    this.#listeners.set(runId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(runId);
    };
  }
}
