import { describe, expect, it } from 'vitest';
import { addDays, calendarOf, daysBetween, dateRangesOf } from './date-ranges.ts';

const HOUR_MS = 3_600_000;
const beginOf = (date: string, timeZone: string): string => new Date(calendarOf(timeZone).beginOf(date)).toISOString();

describe('A day', () => {
  it.each([
    ['2026-03-01', 'UTC', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01', 'Europe/Berlin', '2026-02-28T23:00:00.000Z'],
    // Clocks change at 2 in the morning.
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00.000Z'],
    ['2026-11-01', 'America/Los_Angeles', '2026-11-01T07:00:00.000Z'],
    ['2026-09-27', 'Pacific/Auckland', '2026-09-26T12:00:00.000Z'],
    ['2026-04-05', 'Pacific/Auckland', '2026-04-04T11:00:00.000Z'],
    ['2026-06-01', 'Asia/Kathmandu', '2026-05-31T18:15:00.000Z'],
    ['2026-06-01', 'Pacific/Kiritimati', '2026-05-31T10:00:00.000Z'],
    ['2026-06-01', 'Pacific/Pago_Pago', '2026-06-01T11:00:00.000Z'],
    // The clock goes from 24:00 to 1:00: there is no midnight.
    ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
  ])('%s in %s begins at %s', (date, timeZone, instant) => {
    expect(beginOf(date, timeZone)).toBe(instant);
    const calendar = calendarOf(timeZone);
    expect(calendar.dateAt(Date.parse(instant))).toBe(date);
    expect(calendar.dateAt(Date.parse(instant) - 1)).toBe(addDays(date, -1));
  });

  it('has 23 or 25 hours where clocks change', () => {
    const days = dateRangesOf(calendarOf('Europe/Berlin'), '2026-03-28', '2026-03-30', 'day');
    expect(days.map(({ begin, end }) => (end - begin) / HOUR_MS)).toEqual([24, 23, 24]);
    const [long] = dateRangesOf(calendarOf('Europe/Berlin'), '2026-10-25', '2026-10-25', 'day');
    expect(((long?.end ?? 0) - (long?.begin ?? 0)) / HOUR_MS).toBe(25);
  });

  it('is counted over months and years', () => {
    expect(daysBetween('2026-02-27', '2026-03-02')).toBe(4);
    expect(daysBetween('2026-03-01', '2026-03-01')).toBe(1);
    expect([addDays('2028-02-28', 1), addDays('2026-01-01', -1)]).toEqual(['2028-02-29', '2025-12-31']);
  });
});

describe('Weeks', () => {
  it('begin on Monday, are cut off at the ends, and leave no gap', () => {
    // 2026-03-04 is a Wednesday.
    const weeks = dateRangesOf(calendarOf('Europe/Berlin'), '2026-03-04', '2026-03-30', 'week');
    expect(weeks.map(({ from, to }) => `${from}…${to}`)).toEqual([
      '2026-03-04…2026-03-08',
      '2026-03-09…2026-03-15',
      '2026-03-16…2026-03-22',
      '2026-03-23…2026-03-29',
      '2026-03-30…2026-03-30',
    ]);
    for (const [index, { end }] of weeks.slice(0, -1).entries()) expect(weeks[index + 1]?.begin).toBe(end);
  });
});
