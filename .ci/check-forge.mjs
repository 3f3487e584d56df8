#!/usr/bin/env node
/**
 * Checks with git alone that the demo with a pull request did what it says: the reviewer's change is on the base.
 *
 * Usage: node .ci/check-forge.mjs OUTPUT_FILE
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile] = process.argv.slice(2);
const { run, status, remote, pullRequest } = JSON.parse(readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1));
assert.equal(status, 'completed');
assert.equal(pullRequest, 1);
assert.match(git('show', 'main:src/login.js'), /STATE_LIFETIME_MS = 5 \* 60_000/);
const recorded = git('show', `autonomous/record:.autonomous/runs/${run}/events.jsonl`)
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));
const merged = recorded.find(({ type }) => type === 'RUN_MERGED');
assert.equal(merged?.payload.commit, git('rev-parse', 'main').trim());
assert.equal(recorded.filter(({ type }) => type === 'CHANGES_PUBLISHED').length, 2, 'it was published twice');
console.log(`pull request ${pullRequest} of run ${run} is merged as ${merged.payload.commit}`);

function git(...args) {
  return execFileSync('git', args, { cwd: remote, encoding: 'utf8' });
}
