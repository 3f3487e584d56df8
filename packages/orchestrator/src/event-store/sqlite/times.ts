/** Times are ISO 8601 texts in the program and milliseconds since 1970 on disk. */

const LATEST_MS = 8.64e15;

let lastIso = '';
let lastMs = 0;

/** @throws {RangeError} when the text is no time */
export function toMilliseconds(iso: string): number {
  // Events come in steps that have one time.
  if (iso === lastIso) return lastMs;
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) throw new RangeError(`'${iso}' is not an ISO 8601 time`);
  lastIso = iso;
  lastMs = ms;
  return ms;
}

/** The time of a column; 1970 where a damaged one holds none. */
export function toIso(ms: unknown): string {
  const isTime = typeof ms === 'number' && Math.abs(ms) <= LATEST_MS;
  return new Date(isTime ? ms : 0).toISOString();
}
