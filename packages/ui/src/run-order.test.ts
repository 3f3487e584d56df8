import { describe, expect, it } from 'vitest';
import { aGate, aRun } from '@autonomous/shared/a-run.fixture';
import { isWaiting, waitingFirst } from './run-order.ts';

const running = aRun({ id: 'running', createdAt: '2030-01-05T00:00:00.000Z' });
const done = aRun({ id: 'done', status: 'completed', createdAt: '2030-01-06T00:00:00.000Z' });
const waitsLonger = aRun({
  id: 'waits-longer',
  status: 'awaiting_approval',
  createdAt: '2030-01-04T00:00:00.000Z',
  gate: aGate({ openedAt: '2030-01-04T01:00:00.000Z' }),
});
const waits = aRun({
  id: 'waits',
  status: 'paused',
  createdAt: '2030-01-02T00:00:00.000Z',
  gate: aGate({ kind: 'pause', reason: 'timeout', openedAt: '2030-01-04T02:00:00.000Z' }),
});

describe('waitingFirst', () => {
  it('puts runs that wait for a person first, the longest wait at the top, and finished runs last', () => {
    const ordered = waitingFirst([done, running, waits, waitsLonger]);
    expect(ordered.map(({ id }) => id)).toEqual(['waits-longer', 'waits', 'running', 'done']);
  });

  it('puts newer runs first among those that do not wait', () => {
    const older = aRun({ id: 'older', createdAt: '2030-01-01T00:00:00.000Z' });
    expect(waitingFirst([older, running]).map(({ id }) => id)).toEqual(['running', 'older']);
  });

  it('leaves the given list as it is', () => {
    const runs = [running, waits];
    waitingFirst(runs);
    expect(runs).toEqual([running, waits]);
  });
});

describe('isWaiting', () => {
  it('is true while a gate is open', () => {
    expect(isWaiting(waits)).toBe(true);
    expect(isWaiting(running)).toBe(false);
  });
});
