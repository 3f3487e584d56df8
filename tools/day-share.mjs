/** The seventh of a list that is run on one day, so that each entry is run within any seven days in a row. */

const DAYS = 7;
const DAY_MS = 86_400_000;

/**
 * @param {readonly string[]} names in any order; their places follow from the sorted list
 * @param {string} date as `2026-11-23`
 * @returns the entries of that day
 * @throws {RangeError} when `date` is none
 */
export function shareOfDay(names, date) {
  const time = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(time)) throw new RangeError(`'${date}' is not a day such as 2026-11-23`);
  const day = Math.floor(time / DAY_MS) % DAYS;
  return [...names].sort().filter((_, place) => place % DAYS === day);
}
