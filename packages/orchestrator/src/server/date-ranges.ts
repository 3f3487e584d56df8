/** Days and weeks as they are by the clock of a time zone. Pure; dates are `YYYY-MM-DD`, instants milliseconds since 1970. */

const DAY_MS = 24 * 60 * 60_000;

/** From the first instant of a date to that of the next one which is not in it. */
export interface DateRange {
  /** First and last date of it. */
  readonly from: string;
  readonly to: string;
  readonly begin: number;
  /** Not in it. */
  readonly end: number;
}

export interface Calendar {
  /** The date at an instant. */
  dateAt(ms: number): string;
  /** The first instant of a date, also where its midnight is left out by a change of clocks. */
  beginOf(date: string): number;
}

/** @throws {RangeError} for a time zone that is not known */
export function calendarOf(timeZone: string): Calendar {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  /** Returns the local wall-clock time as if it were UTC, in ms. */
  const wallAt = (ms: number): number => {
    const fields: Record<string, number> = {};
    for (const { type, value } of parts.formatToParts(ms)) fields[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
  const dateAt = (ms: number): string => dateOf(wallAt(ms));
  return {
    dateAt,
    beginOf(date) {
      const midnight = Date.parse(`${date}T00:00:00.000Z`);
      const shifted = (near: number): number => midnight - (wallAt(near) - near);
      // Clocks may change between the instant at which the zone is asked for its offset and the midnight that is looked for.
      const first = shifted(midnight);
      const candidates = [first, shifted(first)].toSorted((one, other) => one - other);
      return candidates.find((ms) => dateAt(ms) === date) ?? first;
    },
  };
}

/** Days, or weeks from Monday on, of which those at the ends may be cut off. @param from to are in it */
export function dateRangesOf(
  calendar: Calendar,
  from: string,
  to: string,
  bucket: 'day' | 'week',
): readonly DateRange[] {
  const ranges: DateRange[] = [];
  for (let first = from; first <= to;) {
    const whole = bucket === 'day' ? first : addDays(first, (7 - weekday(first)) % 7);
    const last = whole < to ? whole : to;
    const next = addDays(last, 1);
    ranges.push({ from: first, to: last, begin: calendar.beginOf(first), end: calendar.beginOf(next) });
    first = next;
  }
  return ranges;
}

export function addDays(date: string, days: number): string {
  return dateOf(Date.parse(`${date}T00:00:00.000Z`) + days * DAY_MS);
}

/** How many days there are from one date to another, both of them counted. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

/** 1 is Monday, 7 is Sunday. */
function weekday(date: string): number {
  return new Date(`${date}T00:00:00.000Z`).getUTCDay() || 7;
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
