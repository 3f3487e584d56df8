/**
 * Packs the events of runs that ended long ago, now and then: what is opened, stepped and listed stays small. Before, it
 * has what runs came to summed up, so that whoever asks for figures of a time does not wait for it.
 */
import type { Logger } from 'pino';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../engine/clock.ts';

export interface ArchiverOptions {
  readonly store: Pick<EventStore, 'archive' | 'summarizeRuns'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Events of runs that ended earlier than this many days ago are packed; 0 keeps all as they are. */
  readonly afterDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** A server that has just started has other things to do. */
const FIRST_AFTER_MS = 60_000;
const EVERY_MS = 60 * 60_000;
/** Figures are asked for over so long a time at most, as a rule. */
const SUMMED_UP_DAYS = 90;
/** Bounds how long the writer is kept from the steps of runs. */
const RUNS_AT_ONCE = 20;

export class Archiver {
  readonly #options: ArchiverOptions;
  #cancelTimer: (() => void) | null = null;
  #working: Promise<void> = Promise.resolve();
  #stopped = false;
  /** Runs that ended before are summed up; milliseconds. */
  #summedUpTo: number | null = null;

  constructor(options: ArchiverOptions) {
    this.#options = options;
  }

  start(): void {
    this.#wakeIn(FIRST_AFTER_MS);
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
    const { log } = this.#options;
    try {
      await this.#sumUp();
      await this.#pack();
    } catch (error) {
      log.warn({ err: error }, 'old events could not be packed or summed up; it is tried again');
    }
    if (!this.#stopped) this.#wakeIn(EVERY_MS);
  }

  async #sumUp(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now().getTime();
    const endedSince = new Date(this.#summedUpTo ?? now - SUMMED_UP_DAYS * DAY_MS).toISOString();
    await store.summarizeRuns({ endedSince, madeBefore: new Date(now).toISOString() });
    this.#summedUpTo = now;
  }

  async #pack(): Promise<void> {
    const { store, clock, afterDays } = this.#options;
    if (afterDays === 0) return;
    const before = new Date(clock.now().getTime() - afterDays * DAY_MS).toISOString();
    let packed = RUNS_AT_ONCE;
    while (packed === RUNS_AT_ONCE && !this.#stopped) packed = await store.archive(before, RUNS_AT_ONCE);
  }
}
