/** Each step is taken twice, without and after a restart, and fails the test where both differ. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { driveAttempts } from '@autonomous/orchestrator/workflow';
import { workflows } from './workflow.ts';

const [workflow] = workflows;
assert(workflow);

const begun = (changes: readonly string[]) =>
  driveAttempts(workflow, { request: 'Greet people', input: { changes: [...changes] } }).prepared();

test('makes the changes one after the other, and publishes them', () => {
  const run = begun(['Add a name', 'Greet it']);
  assert.match(run.requestOf(1), /^Add a name/);
  run.merged(1);
  assert.match(run.requestOf(2), /^Greet it/);
  run.merged(2).checked().published();
  assert.equal(run.view?.status, 'completed');
  assert.deepEqual(run.view?.progress, { done: 2, total: 2 });
});

test('gives the reason of a failed attempt to the next one', () => {
  const run = begun(['Add a name']).failed(1, 'the tests failed', 'not ok 1 - name');
  assert.match(run.requestOf(2), /not ok 1 - name/);
});

test('asks about a result that lacks a change', () => {
  const run = begun(['Add a name', 'Greet it']).merged(1).failed(2, 'no tests').failed(3, 'no tests').checked();
  assert.equal(run.gate, 'result');
  assert.deepEqual(run.view?.gate?.details['failures'], ['Greet it is left out: no tests']);
});
