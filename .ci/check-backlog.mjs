#!/usr/bin/env node
/**
 * Checks with git and the project's own tests alone that the demo of a backlog did what it says.
 * The demo's `--json` ends with one line: an object with at least `{ status, repository, remote, items }`.
 *
 * Usage: node .ci/check-backlog.mjs OUTPUT_FILE
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile] = process.argv.slice(2);
const { run, status, repository, remote, items } = JSON.parse(
  readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1),
);
assert.equal(status, 'completed');
assert.equal(items.length, 3);
for (const { item, status: itemStatus, commit } of items) {
  assert.equal(itemStatus, 'completed', item);
  git('cat-file', '-e', `${commit}^{commit}`);
}
const rows = git('show', 'main:ai/backlog.md')
  .split('\n')
  .filter((line) => /^\| *NOTE-/.test(line));
assert.equal(rows.length, 4);
for (const row of rows) assert.match(row, /\| *done *\|/);
git('fsck', '--strict', '--no-dangling');

execFileSync('npm', ['test'], { cwd: repository, stdio: ['ignore', 'ignore', 'inherit'] });
console.log(`demo: ${rows.length} items of run ${run} are done in ${remote}, and the merged tree passes its tests`);

function git(...args) {
  return execFileSync('git', ['--git-dir', remote, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  }).trimEnd();
}
