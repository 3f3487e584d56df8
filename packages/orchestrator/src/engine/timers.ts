/** Durable timers: the store knows what is due, this wakes up in time for the soonest. */
import type { Logger } from 'pino';
import type { EventStore, StoredTimer } from '../event-store/event-store.ts';
import type { Clock } from './clock.ts';

export interface TimersOptions {
  readonly store: Pick<EventStore, 'dueTimers' | 'nextTimer'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** May leave a timer as it is, where its run cannot take it now. */
  readonly fire: (timer: StoredTimer) => Promise<void>;
}

/** A due timer that did not fire when it was tried. */
interface Held {
  readonly tries: number;
  /** Time of the clock, ms. */
  readonly triedAt: number;
  readonly againAt: number;
}

/** The clock may jump while nothing is awaited: look again at least this often. */
const LONGEST_SLEEP_MS = 30_000;
/** A due timer that did not fire (its run waits in the queue, or is quarantined) is tried again after this, then after twice as long … */
const HELD_SLEEP_MS = 1_000;
/** … and at least so often. */
const LONGEST_HELD_SLEEP_MS = 60_000;
/** Timers that fire together share commits; more at once would only wait for each other. */
const FIRE_AT_ONCE = 256;

export class Timers {
  readonly #options: TimersOptions;
  #cancelSleep: (() => void) | null = null;
  /** Time of the clock at which it looks again, ms; infinite while it sleeps for nothing. */
  #wakesAt = Infinity;
  #checking: Promise<void> | null = null;
  /** By run: what holds one timer of it holds all. */
  #held = new Map<string, Held>();
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
  armed(timers: readonly Pick<StoredTimer, 'dueAt' | 'runId'>[]): void {
    for (const { runId } of timers) this.#held.delete(runId);
    const soonest = Math.min(this.#wakesAt, ...timers.map((timer) => Date.parse(timer.dueAt)));
    // A clock that was set forward makes it wake later than it meant to.
    const isLate = this.#wakesAt <= this.#options.clock.now().getTime();
    if (soonest < this.#wakesAt || isLate) this.#sleepUntil(soonest, 0);
  }

  /** Checks the held timers of a run again, which may accept them now. */
  freed(runId: string): void {
    if (this.#held.delete(runId)) this.#sleepUntil(this.#options.clock.now().getTime(), 0);
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
    const { store, clock, log } = this.#options;
    const now = clock.now();
    this.#wakesAt = Infinity;
    try {
      const found = await store.dueTimers(now.toISOString());
      const held = this.#stillHeld(found, now.getTime());
      const due = found.filter(({ runId }) => !held.has(runId));
      for (let from = 0; from < due.length && !this.#stopped; from += FIRE_AT_ONCE) {
        await Promise.all(due.slice(from, from + FIRE_AT_ONCE).map((timer) => this.#fire(timer)));
      }
      let next = await store.nextTimer();
      if (next !== null && Date.parse(next) <= now.getTime()) {
        await this.#hold(due, now);
        next = await store.nextTimer(now.toISOString());
      }
      const again = Math.min(...[...this.#held.values()].map(({ againAt }) => againAt));
      const wakesAt = Math.min(next === null ? Infinity : Date.parse(next), again, this.#wakesAt);
      if (wakesAt !== Infinity) this.#sleepUntil(wakesAt, HELD_SLEEP_MS);
    } catch (error) {
      if (this.#stopped) return;
      log.error({ err: error }, 'the timers could not be read; it is tried again');
      this.#sleepUntil(now.getTime() + LONGEST_SLEEP_MS, HELD_SLEEP_MS);
    }
  }

  async #fire(timer: StoredTimer): Promise<void> {
    try {
      await this.#options.fire(timer);
    } catch (error) {
      this.#options.log.error({ err: error, key: timer.key }, 'a timer could not fire');
    }
  }

  /** Runs whose timers are not tried now; those of which none is due any more are forgotten. */
  #stillHeld(due: readonly StoredTimer[], now: number): ReadonlySet<string> {
    const runs = new Set(due.map(({ runId }) => runId));
    this.#held = new Map([...this.#held].filter(([runId]) => runs.has(runId)));
    // Where the clock was set back, the time at which it was tried is still to come.
    const isWaiting = ({ triedAt, againAt }: Held): boolean => triedAt <= now && now < againAt;
    return new Set([...this.#held].flatMap(([runId, held]) => (isWaiting(held) ? [runId] : [])));
  }

  /** Runs of which a timer was tried and is still there are tried again later. */
  async #hold(tried: readonly StoredTimer[], now: Date): Promise<void> {
    const { store, clock } = this.#options;
    const keys = new Set(tried.map(({ key }) => key));
    const left = (await store.dueTimers(now.toISOString())).filter(({ key }) => keys.has(key));
    const runs = new Set(tried.map(({ runId }) => runId));
    const held = new Map([...this.#held].filter(([runId]) => !runs.has(runId)));
    for (const runId of new Set(left.map((timer) => timer.runId))) {
      const tries = this.#held.get(runId)?.tries ?? 0;
      const triedAt = clock.now().getTime();
      const sleepMs = Math.min(HELD_SLEEP_MS * 2 ** tries, LONGEST_HELD_SLEEP_MS);
      held.set(runId, { tries: tries + 1, triedAt, againAt: triedAt + sleepMs });
    }
    this.#held = held;
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
