#!/usr/bin/env node
/**
 * Checks with git and the project's own tests alone that the demo of a plan in phases did what it says.
 * The demo's `--json` ends with one line: an object with at least `{ run, status, repository, remote, phases }`.
 *
 * Usage: node .ci/check-phased-plan.mjs OUTPUT_FILE
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile] = process.argv.slice(2);
const { run, status, repository, remote, phases } = JSON.parse(
  readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1),
);
assert.equal(status, 'completed');
assert.deepEqual(
  phases.map((phase) => [phase.status, phase.tries]),
  [
    ['completed', 1],
    ['completed', 1],
    ['completed', 3],
    ['completed', 1],
  ],
);

const commits = git('log', '--format=%s', 'main').split('\n');
for (const { phase, commit } of phases) {
  assert.equal(commits.filter((subject) => subject === phase).length, 1, `main has not one commit '${phase}'`);
  git('merge-base', '--is-ancestor', commit, 'main');
}
const state = JSON.parse(git('show', `main:.autonomous/runs/${run}/orchestrator-state.json`));
assert.ok(Object.keys(state).length > 0);
git('fsck', '--strict', '--no-dangling');

execFileSync('npm', ['test'], { cwd: repository, stdio: ['ignore', 'ignore', 'inherit'] });
console.log(
  `demo: ${phases.length} phases of run ${run} are merged in ${remote}, and the merged tree passes its tests`,
);

function git(...args) {
  return execFileSync('git', ['--git-dir', remote, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  }).trimEnd();
}
