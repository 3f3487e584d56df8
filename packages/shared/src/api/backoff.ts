/** Computes the wait before the next attempt. */

/** Waits between tries grow from `minMs` to `maxMs`. */
export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Milliseconds before the try that follows `failures` failed ones: exponential, with jitter of one half. */
export function waitBefore(failures: number, { minMs, maxMs }: Backoff): number {
  return Math.min(maxMs, minMs * 2 ** Math.min(failures, 20)) * (0.5 + Math.random() / 2);
}

/** Resolves after `ms`, at once when `signal` aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener('abort', wake);
  });
}
