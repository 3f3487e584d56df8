import type { GateOutcome } from '@autonomous/shared';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { aWorkflow } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import { OutcomeOfGate, outcomeWords } from './gate-outcome.tsx';

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
  expect(outcomeWords({ kind, decision }, aWorkflow()).join(' ')).toBe(words);
});

it('names a gate of an unknown workflow after its kind', () => {
  expect(outcomeWords({ kind: 'go_no_go', decision: 'approve' })).toEqual(['Go no go', 'approved']);
});

it('calls a decision that it does not know what it is', () => {
  const ofNewerServer = { kind: 'plan', decision: 'postpone' } as unknown as GateOutcome;
  expect(outcomeWords(ofNewerServer)).toEqual(['Plan', 'postpone']);
});

it('E06 says a name and what was said as words, whatever they are made of', () => {
  const outcome: GateOutcome = {
    gateId: 'r-1.4',
    kind: 'plan',
    decision: 'approve',
    by: '<b>ada</b>\u202e\u001b[1m [x](javascript:1)',
    notes: '\u001b[2Jfine <img src=x>',
    at: '2030-01-01T00:00:00.000Z',
  };
  const html = renderToStaticMarkup(
    createElement(OutcomeOfGate, { lead: 'Decided elsewhere', outcome, workflow: aWorkflow() }),
  );
  expect(html).toContain('⟨U+202E⟩</span> [x](javascript:1), ');
  expect(html).toContain('<blockquote>fine &lt;img src=x&gt;</blockquote>');
});
