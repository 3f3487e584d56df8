/** Packs the events of runs that ended long ago, now and then: what is opened, stepped and listed stays small. */
import type { Logger } from 'pino';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from './clock.ts';

export interface ArchiverOptions {
  readonly store: Pick<EventStore, 'archive'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Events of runs that ended earlier than this many days ago are packed; 0 keeps all as they are. */
  readonly afterDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** A server that has just started has other things to do. */
const FIRST_AFTER_MS = 60_000;
const EVERY_MS = 60 * 60_000;
/** Bounds how long the writer is kept from the steps of runs. */
const RUNS_AT_ONCE = 20;

export class Archiver {
  readonly #options: ArchiverOptions;
  #cancelTimer: (() => void) | null = null;
  #working: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: ArchiverOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.afterDays > 0) this.#wakeIn(FIRST_AFTER_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#working;
  }

  #wakeIn(ms: number): void {
    this.#cancelTimer = this.#options.clock.after(ms, () => {
      this.#working = this.#work();
    });
  }

  async #work(): Promise<void> {
    const { store, clock, log, afterDays } = this.#options;
    const before = new Date(clock.now().getTime() - afterDays * DAY_MS).toISOString();
    try {
      let packed = RUNS_AT_ONCE;
      while (packed === RUNS_AT_ONCE && !this.#stopped) packed = await store.archive(before, RUNS_AT_ONCE);
    } catch (error) {
      log.warn({ err: error }, 'old events could not be packed; it is tried again');
    }
    if (!this.#stopped) this.#wakeIn(EVERY_MS);
  }
}
