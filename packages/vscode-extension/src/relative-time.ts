/** Times as a person says them. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * `now`, `3 min`, `2 h`, `5 d`; the future counts as now, since clocks of two machines differ.
 * @param since ISO 8601
 * @param now milliseconds since the epoch
 */
export function ageOf(since: string, now: number): string {
  const ms = now - Date.parse(since);
  if (!(ms >= MINUTE)) return 'now';
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}
