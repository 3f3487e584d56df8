#!/usr/bin/env node
/**
 * Checks with git and the project's own tests alone that the demo of a full-auto run did what it says: two features pass, one is
 * skipped after three attempts, one cannot be reached, and nothing of it calls itself a success.
 * The demo's `--json` ends with one line: an object with at least `{ run, status, branch, repository, remote, failures, features }`.
 *
 * Usage: node .ci/check-full-auto.mjs OUTPUT_FILE
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile] = process.argv.slice(2);
const { run, status, branch, repository, remote, failures, features } = JSON.parse(
  readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1),
);
assert.equal(status, 'completed');
assert.equal(failures.length, 2);
assert.deepEqual(
  features.map(({ feature, status: became, attempts }) => [feature, became, attempts]),
  [
    ['F001', 'passes', 1],
    ['F002', 'passes', 1],
    ['F003', 'skipped', 3],
    ['F004', 'unreachable', 0],
  ],
);

const folder = 'docs/research-reading-times';
const list = JSON.parse(git('show', `${branch}:${folder}/feature-list.json`));
assert.deepEqual(
  list.features.map(({ id, passes }) => [id, passes]),
  [
    ['F001', true],
    ['F002', true],
    ['F003', false],
    ['F004', false],
  ],
);
const progress = git('show', `${branch}:${folder}/progress.txt`);
for (const text of [
  '2 of 4 features pass. Completed with failures.',
  '[ ] F003',
  'cannot be reached: it depends on F003',
])
  assert.ok(progress.includes(text), `progress.txt says '${text}'`);
const files = git('ls-tree', '-r', '--name-only', branch).split('\n');
for (const file of ['src/word-count.js', 'src/reading-time.js', 'test/reading-time.test.js'])
  assert.ok(files.includes(file), `${file} is on the branch`);
assert.ok(!files.includes('src/picture-time.js'), 'what failed is not on the branch');
assert.ok(!git('ls-tree', '-r', '--name-only', 'main').split('\n').includes('src/word-count.js'), 'nothing is merged');
git('fsck', '--strict', '--no-dangling');

execFileSync('git', ['checkout', '--quiet', '--detach', `origin/${branch}`], { cwd: repository });
execFileSync('npm', ['test'], { cwd: repository, stdio: ['ignore', 'ignore', 'inherit'] });
console.log(`demo: 2 of ${features.length} features of run ${run} pass on ${branch} in ${remote}, with its tests`);

function git(...args) {
  return execFileSync('git', ['--git-dir', remote, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  }).trimEnd();
}
