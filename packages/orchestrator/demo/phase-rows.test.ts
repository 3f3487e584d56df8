import { expect, it } from 'vitest';
import { phaseRows } from './phase-rows.ts';

const changed = (second: number, phase: string, attempts = 0) => ({
  type: 'ROADMAP_PHASE_CHANGED',
  payload: { item: 'a', phase, attempts, reason: '' },
  timestamp: new Date(second * 1_000).toISOString(),
});

it('gives one row a stay in a phase, with its attempts and its time until the next', () => {
  const end = { type: 'RUN_COMPLETED', payload: {}, timestamp: new Date(9_000).toISOString() };
  const events = [
    changed(0, 'implementing'),
    changed(1, 'implementing', 1),
    changed(3, 'testing'),
    changed(4, 'implementing'),
    end,
  ];
  expect(phaseRows(events)).toEqual([
    { phase: 'implementing', attempts: 2, durationMs: 3_000 },
    { phase: 'testing', attempts: 1, durationMs: 1_000 },
    { phase: 'implementing', attempts: 1, durationMs: 5_000 },
  ]);
});

it('gives no row for a run that has not come to a phase', () => {
  expect(phaseRows([])).toEqual([]);
});
