import { expect, it } from 'vitest';
import { featureRows } from './feature-rows.ts';

const changed = (feature: string, status: string, reason = '') => ({
  type: 'FEATURE_CHANGED',
  payload: { feature, name: `Name of ${feature}`, status, iteration: 1, reason },
});

it('has a row for each feature with its attempts and what became of it', () => {
  const rows = featureRows([
    { type: 'RUN_STARTED', payload: {} },
    changed('F001', 'started'),
    changed('F001', 'passes'),
    changed('F002', 'started'),
    changed('F002', 'failed', 'red'),
    changed('F002', 'started'),
    changed('F002', 'skipped', 'it failed 2 times'),
    changed('F004', 'started'),
    { type: 'FEATURE_UNREACHABLE', payload: { feature: 'F003', name: 'Name of F003', dependsOn: 'F002' } },
  ]);
  expect(rows.map(({ feature, status, attempts, reason }) => [feature, status, attempts, reason])).toEqual([
    ['F001', 'passes', 1, ''],
    ['F002', 'skipped', 2, 'it failed 2 times'],
    ['F004', 'open', 1, ''],
    ['F003', 'unreachable', 0, 'It depends on F002.'],
  ]);
});
