/** The seventh of a list that is run on one day, so that each entry is run within any seven days in a row. */
import { InvalidRequest } from '../packages/shared/src/errors.ts';

export const DAYS = 7;
const DAY_MS = 86_400_000;

/**
 * The entries of one day. The days are about as long: the longest entry that is left goes to the shortest day.
 * @param names in any order
 * @param date as `2026-11-23`
 * @param secondsOf how long an entry takes; by default all take the same
 * @throws {InvalidRequest} when `date` is none
 */
export function shareOfDay(names: readonly string[], date: string, secondsOf = (_name: string): number => 1): string[] {
  const days = Array.from({ length: DAYS }, () => ({ seconds: 0, names: [] as string[] }));
  for (const name of names.toSorted((a, b) => secondsOf(b) - secondsOf(a) || (a < b ? -1 : 1))) {
    const shortest = days.reduce((least, day) => (day.seconds < least.seconds ? day : least));
    shortest.names.push(name);
    shortest.seconds += secondsOf(name);
  }
  return days[dayOf(date).day]?.names ?? [];
}

/**
 * The number of the seven days that a date lies in, and which of them it is, from 0.
 * @param date as `2026-11-23`
 * @throws {InvalidRequest} when `date` is none
 */
export function dayOf(date: string): { readonly week: number; readonly day: number } {
  const time = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(time)) throw new InvalidRequest(`'${date}' is no day such as 2026-11-23.`);
  const days = Math.floor(time / DAY_MS);
  return { week: Math.floor(days / DAYS), day: days % DAYS };
}
