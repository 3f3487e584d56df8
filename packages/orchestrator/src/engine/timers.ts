/** Durable timers: the store knows what is due, this wakes up in time for the soonest. */
import type { Logger } from 'pino';
import type { EventStore, StoredTimer } from '../event-store/event-store.ts';
import type { Clock } from './clock.ts';

export interface TimersOptions {
  readonly store: Pick<EventStore, 'dueTimers' | 'nextTimer'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly fire: (timer: StoredTimer) => Promise<void>;
}

/** The clock may jump while nothing is awaited: look again at least this often. */
const LONGEST_SLEEP_MS = 30_000;
/** A due timer that did not fire (its run waits in the queue) is looked at again after this. */
const HELD_SLEEP_MS = 1_000;
/** Timers that fire together share commits; more at once would only wait for each other. */
const FIRE_AT_ONCE = 256;

export class Timers {
  readonly #options: TimersOptions;
  #cancelSleep: (() => void) | null = null;
  /** Time of the clock at which it looks again, ms; infinite while it sleeps for nothing. */
  #wakesAt = Infinity;
  #checking: Promise<void> | null = null;
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

  /** Timers were stored: the soonest may be one of them. */
  armed(timers: readonly Pick<StoredTimer, 'dueAt'>[]): void {
    const soonest = Math.min(...timers.map((timer) => Date.parse(timer.dueAt)));
    if (soonest < this.#wakesAt) this.#sleepUntil(soonest, 0);
  }

  /** Fires everything that is due, then sleeps until the next. */
  async check(): Promise<void> {
    if (this.#checking) await this.#checking;
    this.#checking ??= this.#fireDue().finally(() => {
      this.#checking = null;
    });
    await this.#checking;
  }

  async #fireDue(): Promise<void> {
    const { store, clock, fire, log } = this.#options;
    const now = clock.now();
    this.#wakesAt = Infinity;
    try {
      const due = await store.dueTimers(now.toISOString());
      for (let from = 0; from < due.length && !this.#stopped; from += FIRE_AT_ONCE) {
        await Promise.all(
          due
            .slice(from, from + FIRE_AT_ONCE)
            .map((timer) =>
              fire(timer).catch((error: unknown) =>
                log.error({ err: error, key: timer.key }, 'a timer could not fire'),
              ),
            ),
        );
      }
      const next = await store.nextTimer();
      if (next !== null) this.#sleepUntil(Math.min(Date.parse(next), this.#wakesAt), HELD_SLEEP_MS);
    } catch (error) {
      if (this.#stopped) return;
      log.error({ err: error }, 'the timers could not be read; it is tried again');
      this.#sleepUntil(now.getTime() + LONGEST_SLEEP_MS, HELD_SLEEP_MS);
    }
  }

  #sleepUntil(due: number, shortestMs: number): void {
    this.#cancelSleep?.();
    if (this.#stopped) return;
    const now = this.#options.clock.now().getTime();
    const sleepMs = due > now ? Math.min(due - now, LONGEST_SLEEP_MS) : shortestMs;
    this.#wakesAt = now + sleepMs;
    this.#cancelSleep = this.#options.clock.after(sleepMs, () => void this.check());
  }
}
