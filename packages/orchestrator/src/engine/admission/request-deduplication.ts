/** Requests with an idempotency key: what was done under a key is not done again, also after a crash. */
import { foldRun, type RequestKey, type RunView, Unprocessable } from '@autonomous/shared';
import type { EventStore, RequestedStep } from '../../event-store/event-store.ts';

export interface RequestDeduplicationOptions {
  readonly store: Pick<EventStore, 'recallStep' | 'readRun'>;
  readonly view: (runId: string) => Promise<RunView>;
}

/** Events that are read at once. */
const EVENTS_AT_ONCE = 500;

export class RequestDeduplication {
  readonly #options: RequestDeduplicationOptions;
  /** Keys under which something is being done. */
  readonly #doing = new Map<string, Promise<void>>();

  constructor(options: RequestDeduplicationOptions) {
    this.#options = options;
  }

  /**
   * @returns the run after the step that was stored under this key, else what `work` gives
   * @throws {Unprocessable} when the key was used for something else
   */
  async once({ key, hash }: RequestKey, work: () => Promise<RunView>): Promise<RunView> {
    for (let first = this.#doing.get(key); first; first = this.#doing.get(key)) await first.catch(() => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#doing.set(key, promise);
    try {
      const done = await this.#options.store.recallStep(key);
      if (done === null) return await work();
      if (done.requestHash === hash) return await this.#viewAfter(done);
      throw new Unprocessable(`The key '${key}' was used for something else, at run ${done.runId}; use a new one.`);
    } finally {
      this.#doing.delete(key);
      resolve();
    }
  }

  /** The run as it was after a step; as it is, where its beginning was erased. */
  async #viewAfter({ runId, sequence }: Pick<RequestedStep, 'runId' | 'sequence'>): Promise<RunView> {
    const { store, view: present } = this.#options;
    let view: RunView | null = null;
    for (let after = 0; after < sequence;) {
      const events = await store.readRun(runId, after, Math.min(EVENTS_AT_ONCE, sequence - after));
      for (const event of events) view = foldRun(view, event);
      if (view === null || events.length === 0) return present(runId);
      after += events.length;
    }
    return view ?? present(runId);
  }
}
