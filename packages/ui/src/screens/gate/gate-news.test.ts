import type { GateOutcome } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { decidedElsewhere } from './gate-news.tsx';

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
});
