import type { GateOutcome } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { decidedElsewhere, outcomeLine } from './gate-news.tsx';

const outcome = (gateId: string): GateOutcome => ({ gateId, kind: 'plan', decision: 'approve', by: 'ada', at: gateId });

describe('What was decided elsewhere', () => {
  const gates = [outcome('one'), outcome('two')];

  it('is the newest decision since the run is looked at', () => {
    expect(decidedElsewhere({ gates }, 1, new Set())).toBe(gates[1]);
    expect(decidedElsewhere({ gates }, 0, new Set(['one']))).toBe(gates[1]);
  });

  it('is nothing that was decided before, or here', () => {
    expect(decidedElsewhere({ gates }, 2, new Set())).toBeNull();
    expect(decidedElsewhere({ gates }, 1, new Set(['two']))).toBeNull();
    expect(decidedElsewhere({ gates: [] }, 0, new Set())).toBeNull();
  });

  it('says who decided what', () => {
    expect(outcomeLine(outcome('one'))).toBe('Plan approved by ada');
  });

  it('E06 says a name as words, whatever a person has chosen', () => {
    const by = '<b>ada</b>\u202e\u001b[1m [x](javascript:1)';
    expect(outcomeLine({ ...outcome('one'), by })).toBe('Plan approved by <b>ada</b> [x](javascript:1)');
  });
});
