/** Tells listeners of each stored step, and those who wait for a run's end when it has ended. */
import type { Progress, RunView, WorkflowEvent } from '@autonomous/shared';
import type { Logger } from 'pino';
import { isFinal } from '../core/advance.ts';
import type { RunState } from '../core/run-state.ts';
import { stoppedBeforeEnd } from './stopping.ts';

export type EngineMessage =
  | { readonly events: readonly WorkflowEvent[]; readonly view: RunView }
  | { readonly progress: Progress };

/** A run that ended, as its last step left it. */
export interface RunEnd {
  readonly view: RunView;
  /** Absent where the run was ended without its machine. */
  readonly state?: RunState;
}

export class StepFeed {
  readonly #log: Logger;
  readonly #isStopped: () => boolean;
  readonly #listeners = new Set<(message: EngineMessage) => void>();
  readonly #waiting = new Map<string, Set<PromiseWithResolvers<RunEnd>>>();

  /** @param isStopped whether the engine stores no more steps */
  constructor(log: Logger, isStopped: () => boolean) {
    this.#log = log;
    this.#isStopped = isStopped;
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: (message: EngineMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param state of the run after the step; for those who wait for its end */
  publish(message: EngineMessage, state?: RunState): void {
    if ('view' in message && isFinal(message.view.status)) {
      const { view } = message;
      for (const end of this.#waiting.get(view.id) ?? []) end.resolve(state === undefined ? { view } : { view, state });
      this.#waiting.delete(view.id);
    }
    for (const listener of this.#listeners) {
      try {
        listener(message);
      } catch (error) {
        this.#log.error({ err: error }, 'a listener failed');
      }
    }
  }

  /**
   * Waits for the step that ends a run.
   * @param status of the run as it is now; `undefined` when there is no such run. It is asked for after the waiting began, so
   *   that an end in between is not missed
   * @returns `null` where the run has ended before or does not exist
   * @throws {Unavailable} the engine is stopped before
   */
  async nextEnd(runId: string, status: () => Promise<RunView['status'] | undefined>): Promise<RunEnd | null> {
    const end = Promise.withResolvers<RunEnd>();
    end.promise.catch(() => undefined);
    const waiting = this.#waiting.get(runId) ?? new Set();
    this.#waiting.set(runId, waiting.add(end));
    const now = await status();
    if (now !== undefined && !isFinal(now)) {
      if (this.#isStopped()) end.reject(stoppedBeforeEnd(runId));
      return end.promise;
    }
    waiting.delete(end);
    if (waiting.size === 0) this.#waiting.delete(runId);
    return null;
  }

  /** Rejects for all who wait for an end. */
  stop(): void {
    for (const [runId, waiting] of this.#waiting) for (const end of waiting) end.reject(stoppedBeforeEnd(runId));
    this.#waiting.clear();
  }
}
