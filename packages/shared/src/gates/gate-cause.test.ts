import { expect, it } from 'vitest';
import { aGate, aRun, redEvidence } from '../a-run.fixture.ts';
import { foldRun } from '../fold.ts';
import type { Evidence, Gate } from '../run.ts';
import { causeOfEnd, gateCause } from './gate-cause.ts';

const memory = { kind: 'memory' as const, title: 'What the run adds to the memory', items: [], hash: 'h' };
const fix: Partial<Gate> = { kind: 'fix', codeTree: 't', concerns: [memory], decisions: ['retry', 'accept'] };
const causeAt = (gate: Partial<Gate>, all: readonly Evidence[] = []): string =>
  gateCause(aGate({ summary: 'The checks failed\nfor a person', ...gate }), { evidence: all });

it('tells a failure by the failed tests of the code at the gate, whatever the words of the gate', () => {
  expect(causeAt(fix, [redEvidence()])).toBe('1 of 4 tests failed: adds');
  expect(causeAt(fix, [redEvidence(), redEvidence({ mode: 'base_tests' })])).toBe(
    "with the base commit's tests, 1 of 4 tests failed: adds",
  );
  // Of an earlier result.
  expect(causeAt(fix, [redEvidence({ codeTree: 'other' })])).toBe('The checks failed');
  expect(causeAt(fix, [redEvidence(), redEvidence({ passed: true })])).toBe('The checks failed');
});

it('tells the reason of a pause, the question of the agent, and a result that is empty', () => {
  expect(causeAt({ kind: 'pause', reason: 'timeout' })).toBe('time limit reached: The checks failed');
  const question = { question: 'Which\nsound?', context: '', responseType: 'text' as const };
  expect(causeAt({ kind: 'clarification', question })).toBe('the agent asked: Which sound?');
  expect(causeAt({ kind: 'implementation', concerns: [{ ...memory, kind: 'no_change' }] })).toBe(
    'the agent changed no file',
  );
});

it('gives no cause for the end of a run whose result waits for an approval', () => {
  const at = (gate: Gate | null) => causeOfEnd({ gate, evidence: [redEvidence()] });
  expect(at(null)).toBeUndefined();
  expect(at(aGate({ kind: 'implementation', codeTree: 't', decisions: ['approve', 'reject'] }))).toBeUndefined();
  expect(at(aGate(fix))).toBe('1 of 4 tests failed: adds');
});

it('is the failure of a cancelled run where its parent gave it up', () => {
  const cancelled = (payload: object) =>
    foldRun(aRun({ status: 'awaiting_approval', gate: aGate(fix) }), {
      id: 'e',
      workflowRunId: 'r',
      sequence: 9,
      type: 'RUN_CANCELLED',
      timestamp: '2026-01-01T00:00:00.000Z',
      payload: { by: 'server', reason: 'run p goes on', ...payload },
    } as never); // as much of an event as is read
  expect(cancelled({ cause: '1 of 4 tests failed' })).toMatchObject({
    status: 'cancelled',
    failure: '1 of 4 tests failed',
  });
  expect(cancelled({})).not.toHaveProperty('failure');
});
