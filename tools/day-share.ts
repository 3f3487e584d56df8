/** The seventh of a list that is run on one day, so that each entry is run within any seven days in a row. */
import { InvalidRequest } from '../packages/shared/src/errors.ts';

export const DAYS = 7;
const DAY_MS = 86_400_000;

/**
 * The entries of one day.
 * @param names in any order; their places follow from the sorted list
 * @param date as `2026-11-23`
 * @throws {InvalidRequest} when `date` is none
 */
export function shareOfDay(names: readonly string[], date: string): string[] {
  const { day } = dayOf(date);
  return names.toSorted((a, b) => (a < b ? -1 : 1)).filter((_, place) => place % DAYS === day);
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
