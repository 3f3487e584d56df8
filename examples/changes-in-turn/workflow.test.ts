/** Run it with `autonomous workflow test`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { driveAttempts } from '@autonomous/orchestrator/workflow';
import { changesInTurn } from './workflow.ts';

const begun = (attempts: number) =>
  driveAttempts(changesInTurn, {
    request: 'Greet',
    input: { changes: ['Add a name', 'Greet it'], attempts },
  }).prepared();

test('tells the next attempt why one has failed', () => {
  const run = begun(2).failed(1, 'the tests failed', 'not ok 1 - name');
  assert.match(run.requestOf(2), /^Add a name\n\n[^]*An earlier attempt failed:\nnot ok 1 - name$/);
  run.merged(2);
  assert.match(run.requestOf(3), /^Greet it\n\nIt is one part of: Greet$/);
});

test('leaves out what keeps failing, and asks about the result', () => {
  const run = begun(1).failed(1, 'the tests failed').merged(2).checked();
  assert.equal(run.gate, 'result');
  run.send('APPROVAL_GRANTED', { by: 'me' }).published();
  assert.deepEqual(run.view?.failures, ['Add a name is left out: the tests failed']);
});
