import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { Archiver } from './archiver.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-03-10T12:00:00Z');

/** A clock that goes on when it is told to, and what the store was asked for by then. */
function anArchiver(afterDays: number, packs: readonly number[] = []) {
  const asked: unknown[] = [];
  const left = [...packs];
  let now = START;
  let due: { readonly at: number; readonly callback: () => void } | null = null;
  const archiver = new Archiver({
    store: {
      summarizeRuns: async ({ endedSince }) => {
        asked.push(['summarize', endedSince]);
        return [];
      },
      archive: async (before, limit) => {
        asked.push(['archive', before, limit]);
        return left.shift() ?? 0;
      },
    },
    clock: {
      now: () => new Date(now),
      after: (ms, callback) => {
        due = { at: now + ms, callback };
        return () => (due = null);
      },
    },
    log: pino({ level: 'silent' }),
    afterDays,
  });
  return {
    archiver,
    asked,
    /** Whatever is due next, and all that it does. */
    async next(): Promise<number> {
      if (due === null) return Number.NaN;
      const { at, callback } = due;
      const passed = at - now;
      due = null;
      now = at;
      callback();
      await expect.poll(() => due).not.toBeNull();
      return passed;
    },
  };
}

describe('The archiver', () => {
  it('sums up what ended in the last 90 days, then packs what is old, as long as there is more of it', async () => {
    const { archiver, asked, next } = anArchiver(30, [20, 20, 7]);
    archiver.start();
    await next();
    const packed = ['archive', '2026-02-08T12:01:00.000Z', 20];
    expect(asked).toEqual([['summarize', '2025-12-10T12:01:00.000Z'], packed, packed, packed]);
    await archiver.stop();
  });

  it('sums up each hour what has ended since', async () => {
    const { archiver, asked, next } = anArchiver(0);
    archiver.start();
    await next();
    expect(await next()).toBe(HOUR_MS);
    await next();
    expect(asked.slice(1)).toEqual([
      ['summarize', '2026-03-10T12:01:00.000Z'],
      ['summarize', '2026-03-10T13:01:00.000Z'],
    ]);
    await archiver.stop();
    expect(await next()).toBeNaN();
  });
});
