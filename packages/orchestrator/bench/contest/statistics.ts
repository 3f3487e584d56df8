/** Figures from samples. Nothing measured is `null`, never 0. */

export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return null;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** The smallest value that so many percent of them do not exceed. */
export function percentile(values: readonly number[], percent: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? null;
}

/** `null` where one of both is missing. */
export function ratio(of: number | null, to: number | null): number | null {
  return of === null || to === null || to === 0 ? null : of / to;
}

/** To three significant digits, as much as any of this can be trusted; larger numbers to whole ones. */
export function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

/**
 * Milliseconds that a step took late in a run, from the times at which the run's steps began: the mean of its second
 * half, so that what is paid only now and then, such as a snapshot, is in it.
 */
export function lateStepMs(beganAt: readonly number[]): number | null {
  const half = beganAt.length >> 1;
  const from = beganAt[half];
  const to = beganAt.at(-1);
  const steps = beganAt.length - 1 - half;
  return from === undefined || to === undefined || steps < 1 ? null : (to - from) / steps;
}
