import { describe, expect, it } from 'vitest';
import type { Entrant } from './entrants.ts';
import { failuresOf, figuresOf, type Sample, tableOf } from './summary.ts';

describe('the comparison', () => {
  it('is with the best peer of each kind and with the limit, by the medians of the rounds', () => {
    const figures = figuresOf(
      [entrant('ours'), entrant('limit'), entrant('slow', true), entrant('fast', true), entrant('loose', false)],
      [
        ...throughput('ours', 50, [900, 1_000, 5_000]),
        ...throughput('limit', 50, [2_000]),
        ...throughput('slow', 50, [10]),
        ...throughput('fast', 50, [90, 100, 1_000]),
        ...throughput('loose', 50, [20]),
      ],
      [],
    );
    expect(figures).toMatchObject({ vsBestSynced50: 10, vsBestUnsynced50: 50, vsRaw50: 0.5, bytesPerRun: 8_000 });
    expect(figures['fast']).toMatchObject({ synced: 1, runsPerS50: 100, approveP50MsAt50: 2, approveP99MsAt50: 9 });
    expect(figures['loose']).toMatchObject({ synced: 0 });
  });

  it('is null where nothing was measured to compare with', () => {
    const figures = figuresOf([entrant('ours'), entrant('fast', true)], throughput('ours', 1, [100]), []);
    expect(figures).toMatchObject({ vsBestSynced1: null, vsRaw1: null, vsBestSynced500: null, stepGrowth10000: null });
    expect(figures['ours']).toMatchObject({ runsPerS1: 100, runsPerS50: null, rss10kMb: null });
    expect(figures['fast']).toMatchObject({ runsPerS1: null, restart1000S: null, stepMsAt10: null });
  });

  it('takes restart, memory and growth from their own parts', () => {
    const samples: Sample[] = [
      { contender: 'ours', part: 'restart', seconds: 0.5 },
      { contender: 'ours', part: 'waiting', waiting: 0, rssMb: 60, enginePssMb: null },
      { contender: 'ours', part: 'waiting', waiting: 10_000, rssMb: 120, enginePssMb: null },
      { contender: 'ours', part: 'growth', steps: 10, stepMs: 0.4 },
      { contender: 'ours', part: 'growth', steps: 10_000, stepMs: 0.5 },
    ];
    expect(figuresOf([entrant('ours')], samples, [])).toMatchObject({
      restart1000S: 0.5,
      rss10kMb: 120,
      stepGrowth10000: 1.25,
      ours: { rss0Mb: 60, enginePss10kMb: null, stepMsAt10: 0.4, stepMsAt1000: null },
    });
  });

  it('tells what the machine was like: medians, and its slowest moment', () => {
    const probe = { fsyncMs: 0.2, fsyncP90Ms: 0.4, spinMs: 20, load: 1 };
    const { probe: figures } = figuresOf([], [], [probe, { ...probe, spinMs: 90 }, { ...probe, load: 3 }]);
    expect(figures).toEqual({ fsyncMs: 0.2, fsyncP90Ms: 0.4, spinMs: 20, slowestSpinMs: 90, load: 1 });
  });
});

describe('a contender that cannot run', () => {
  const samples: Sample[] = [
    { contender: 'fast', part: 'failed', message: 'cannot run here: no disk' },
    { contender: 'fast', part: 'failed', message: 'cannot run here: no disk' },
  ];

  it('is named once, with the reason', () => {
    expect(failuresOf([entrant('ours'), entrant('fast', true)], samples)).toEqual([
      'The fast one: cannot run here: no disk',
    ]);
  });

  it('keeps its row, in which nothing is 0', () => {
    const { columns, rows } = tableOf([entrant('fast', true)], samples);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toHaveLength(columns.length);
    expect(rows[0]?.slice(0, 4)).toEqual(['The fast one', 'yes', 'as fast says', '– / – / –']);
    expect(rows[0]?.join(' ')).not.toContain('0');
  });
});

describe('the table', () => {
  it('shows what other processes of an engine take beside its own', () => {
    const samples: Sample[] = [
      { contender: 'fast', part: 'waiting', waiting: 0, rssMb: 60.4, enginePssMb: 200.6 },
      { contender: 'fast', part: 'waiting', waiting: 1_000, rssMb: 70, enginePssMb: 300 },
    ];
    const { columns, rows } = tableOf([entrant('fast', true)], samples);
    expect(rows[0]?.[columns.indexOf('MB at 0 / 1k / 10k waiting')]).toBe('60+201 / 70+300 / –');
  });
});

function entrant(name: string, synced = true): Entrant {
  const role = name === 'ours' || name === 'limit' ? name : 'peer';
  return {
    name,
    title: `The ${name} one`,
    role,
    synced,
    durability: `as ${name} says`,
    adapter: '',
    settings: {},
    needs: [],
  };
}

function throughput(contender: string, concurrency: number, rates: readonly number[]): Sample[] {
  return rates.map((runsPerS) => ({
    contender,
    part: 'throughput',
    concurrency,
    runsPerS,
    approveP50Ms: 2,
    approveP99Ms: 9,
    bytesPerRun: 8_000,
  }));
}
