/** Time as the engine sees it: injected everywhere, so that tests can move it. */
export interface Clock {
  now(): Date;
  /** Calls back once after at least `ms`; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** The longest delay that Node's own timers take; longer ones fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      const part = Math.min(left, LONGEST_TIMER_MS);
      timer = setTimeout(() => (left > part ? wait(left - part) : callback()), part);
    };
    wait(Math.max(0, ms));
    return () => clearTimeout(timer);
  },
};
