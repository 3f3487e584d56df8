/** Durable timers: the store knows what is due, this wakes up in time for the soonest. */
import type { Logger } from 'pino';
import type { EventStore, StoredTimer } from '../event-store/event-store.ts';
import type { Clock } from './clock.ts';

export interface TimersOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly fire: (timer: StoredTimer) => Promise<void>;
}

/** The clock may jump while nothing is awaited: look again at least this often. */
const LONGEST_SLEEP_MS = 30_000;
/** A due timer that did not fire (its run waits in the queue) is looked at again after this. */
const SHORTEST_SLEEP_MS = 1_000;

export class Timers {
  readonly #options: TimersOptions;
  #cancelSleep: (() => void) | null = null;
  #checking: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  constructor(options: TimersOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.check();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelSleep?.();
  }

  /** The set of timers changed: the soonest may be another. */
  rearm(): void {
    if (this.#checking) this.#again = true;
    else void this.#sleep();
  }

  /** Fires everything that is due, then sleeps until the next. */
  async check(): Promise<void> {
    this.#checking ??= this.#fireDue().finally(() => {
      this.#checking = null;
    });
    await this.#checking;
    if (this.#again) {
      this.#again = false;
      await this.check();
      return;
    }
    await this.#sleep();
  }

  async #fireDue(): Promise<void> {
    const { store, clock, fire, log } = this.#options;
    for (const timer of await store.dueTimers(clock.now().toISOString())) {
      if (this.#stopped) return;
      await fire(timer).catch((error: unknown) => log.error({ err: error, key: timer.key }, 'a timer could not fire'));
    }
  }

  async #sleep(): Promise<void> {
    const { store, clock, log } = this.#options;
    try {
      const next = await store.nextTimer();
      this.#cancelSleep?.();
      this.#cancelSleep = null;
      if (this.#stopped || next === null) return;
      const untilMs = Date.parse(next) - clock.now().getTime();
      const sleepMs = untilMs > 0 ? Math.min(untilMs, LONGEST_SLEEP_MS) : SHORTEST_SLEEP_MS;
      this.#cancelSleep = clock.after(sleepMs, () => void this.check());
    } catch (error) {
      if (!this.#stopped) log.error({ err: error }, 'the timers could not be read');
    }
  }
}
