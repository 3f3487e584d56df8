import { type Gate, InvalidRequest, type RunView, Stale } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { otherGate, unseen } from './shown-gate.ts';

const gate = { id: 'g2', kind: 'code', artifactHash: 'plan', codeTree: 'tree' } as unknown as Gate;
const decided = { gateId: 'g1', decision: 'approve', by: 'ann', at: '2026-01-01T00:00:00Z' };
const view = {
  id: 'r',
  status: 'awaiting_approval',
  currentStage: 'review',
  gate,
  gates: [decided],
} as never as RunView;
const all = { artifactHash: 'plan', codeTree: 'tree' };

it.each<[what: string, type: string, payload: object, shown: object | undefined, refusal: unknown]>([
  ['an approval of all that is shown', 'APPROVAL_GRANTED', {}, all, null],
  ['an approval that names it itself', 'APPROVAL_GRANTED', all, undefined, null],
  ['an approval of nothing in particular', 'APPROVAL_GRANTED', {}, undefined, InvalidRequest],
  ['an approval of one of two', 'APPROVAL_GRANTED', { artifactHash: 'plan' }, undefined, InvalidRequest],
  ['an approval of what was shown before', 'APPROVAL_GRANTED', { ...all, codeTree: 'old' }, undefined, Stale],
  ['a result that is accepted unseen', 'FIX_DECIDED', { decision: 'accept' }, undefined, InvalidRequest],
  ['another attempt', 'FIX_DECIDED', { decision: 'retry' }, undefined, null],
  ['a retry that accepts what is not shown', 'RETRY_REQUESTED', { accepts: 'old' }, undefined, Stale],
  ['a retry that accepts what is shown', 'RETRY_REQUESTED', { accepts: 'plan' }, { codeTree: 'tree' }, null],
  ['a retry', 'RETRY_REQUESTED', {}, undefined, null],
  ['a rejection', 'APPROVAL_REJECTED', {}, undefined, null],
  ['a rejection of what was shown before', 'APPROVAL_REJECTED', {}, { artifactHash: 'old' }, Stale],
])('%s is taken or refused by what its sender saw', (_what, type, payload, shown, refusal) => {
  const answer = unseen(view, type, payload as never, shown);
  expect(answer === null ? null : answer.constructor).toBe(refusal);
  expect(unseen({ ...view, gate: null }, type, payload as never, shown)).toBeNull();
});

it('what is decided for another gate than the open one is refused, by name', () => {
  expect([otherGate(view, undefined), otherGate(view, 'g2')]).toEqual([null, null]);
  expect(otherGate(view, 'g1')?.message).toBe(
    "Gate g1 is already decided: 'approve' by ann at 2026-01-01T00:00:00Z. Gate g2 ('code') is open now: look at that one first.",
  );
  expect(otherGate({ ...view, gate: null }, 'g3')?.message).toBe(
    "Run r has no open gate 'g3': it was changed or never opened, run r is awaiting_approval in stage review.",
  );
});
