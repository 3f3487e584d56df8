/** Points in time and lengths of time as a person says them. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
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

/** `now`, `5 min ago`, `3 h ago`, `2 d ago`; the date where it is longer ago than a month; nothing for what is no time. */
export function agoText(at: string, now: number): string {
  const passed = now - Date.parse(at);
  if (Number.isNaN(passed)) return '';
  if (passed >= 31 * DAY) return at.slice(0, 10);
  const age = ageOf(at, now);
  return age === 'now' ? age : `${age} ago`;
}

/** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h` */
export function durationText(ms: number): string {
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
  return `${Math.floor(ms / DAY)} d ${Math.floor((ms % DAY) / HOUR)} h`;
}
