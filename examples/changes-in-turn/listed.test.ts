/** Run it with `autonomous workflow test`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { driveAttempts } from '@autonomous/orchestrator/workflow';
import { listedChanges } from './listed.ts';

const cost = { role: 'lister', model: 'scripted:demo', scripted: true, inputTokens: 1, outputTokens: 1, calls: 1 };

test('asks about the list, has it written anew with the feedback, and begins with what is approved', () => {
  const run = driveAttempts(listedChanges, { request: 'Greet' }).prepared();
  run.ended('lister', { changes: ['Greet'], cost }).ended('writeList', { path: 'list.md', hash: 'one', commit: 'c-1' });
  assert.equal(run.view?.gate?.summary, 'Changes on the list: 1. Make them?');
  run.send('APPROVAL_REJECTED', { by: 'me', feedback: 'Begin with a name.' });
  assert.deepEqual(run.inputOf('lister')['notes'], [{ kind: 'feedback', text: 'Begin with a name.' }]);
  run
    .ended('lister', { changes: ['Add a name', 'Greet it'], cost })
    .ended('writeList', { path: 'list.md', hash: 'two', commit: 'c-2' });
  // An approval of the first list is stale.
  assert.equal(run.takes('APPROVAL_GRANTED', { by: 'me', artifactHash: 'one' }), false);
  run.send('APPROVAL_GRANTED', { by: 'me', artifactHash: 'two' });
  assert.match(run.requestOf(1), /^Add a name\n/);
});
