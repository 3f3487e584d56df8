import type { GateOutcome } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { outcomeWords } from './gate-outcome.tsx';

it.each<[kind: GateOutcome['kind'], decision: GateOutcome['decision'], words: string]>([
  ['plan', 'approve', 'Plan approved'],
  ['invalid_plan', 'reject', 'Plan sent back'],
  ['clarification', 'answer', 'Question answered'],
  ['escalation', 'ignore', 'Questions ignored'],
  ['plan', 'ask', 'Plan answered with a question'],
  ['fix', 'retry', 'Failed checks sent back for another try'],
  ['implementation', 'accept', 'Result accepted as it is'],
  ['pause', 'extend', 'Pause extended'],
  ['merge_conflict', 'cancel', 'Merge conflict cancelled'],
])('of a gate of the kind %s, the decision %s reads “%s”', (kind, decision, words) => {
  expect(outcomeWords({ kind, decision }).join(' ')).toBe(words);
});

it('calls a decision that it does not know what it is', () => {
  const ofNewerServer = { kind: 'plan', decision: 'postpone' } as unknown as GateOutcome;
  expect(outcomeWords(ofNewerServer)).toEqual(['Plan', 'postpone']);
});
