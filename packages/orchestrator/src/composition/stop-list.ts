/** Parts that must be stopped when the server stops, or when its start fails half-way. */
import type { Logger } from 'pino';

export class StopList {
  readonly #log: Logger;
  readonly #stops: (() => Promise<unknown>)[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Stops run in reverse order: the one that was added last runs first. */
  add(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  /** Runs every stop once, also after one that fails. May be called twice. */
  async run(): Promise<void> {
    for (const stop of this.#stops.splice(0).toReversed())
      await stop().catch((error: unknown) => this.#log.error({ err: error }, 'stopping failed'));
  }
}
