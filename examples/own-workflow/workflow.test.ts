/** Run it with `autonomous workflow test`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { driveRun } from '@autonomous/orchestrator/workflow';
import { workflows } from './workflow.ts';

const [invoice] = workflows;
assert(invoice);

test('asks before the invoice is sent, and reminds until it is paid', () => {
  const run = driveRun(invoice, { input: { customer: 'Ada', cents: 4200, address: 'Here' } });
  run.ended('write', { file: 'a.txt' });
  assert.equal(run.gate, 'invoice');
  run.send('APPROVAL_GRANTED', { by: 'me' }).fire();
  assert.deepEqual(run.inputOf('remind'), { customer: 'Ada', file: 'a.txt', count: 1 });
  run.ended('remind', { sent: true }).send('PAYMENT_RECEIVED', { by: 'bank', cents: 4200 });
  assert.equal(run.view?.status, 'completed');
});
