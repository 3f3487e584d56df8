/** Run it with `autonomous workflow test`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { driveAttempts } from '@autonomous/orchestrator/workflow';
import { reviewedChanges } from './reviewed.ts';

test('makes what is missing as one more change, and checks the whole once it is approved', () => {
  const run = driveAttempts(reviewedChanges, { request: 'Greet', input: { changes: ['Add a name'] } }).prepared();
  run.merged(1);
  assert.equal(run.view?.gate?.summary, 'Changes made: 1. Is something missing?');
  run.send('APPROVAL_REJECTED', { by: 'me', feedback: 'Greet it.' });
  assert.match(run.requestOf(2), /^Greet it\.\n/);
  run.merged(2);
  // An approval of the code before it is stale.
  assert.equal(run.takes('APPROVAL_GRANTED', { by: 'me', codeTree: 'merged-tree-1' }), false);
  run.send('APPROVAL_GRANTED', { by: 'me', codeTree: 'merged-tree-2' }).checked().published();
  assert.equal(run.view?.status, 'completed');
});
