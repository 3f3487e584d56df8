#!/usr/bin/env node
/**
 * Checks with git and the project's own tests alone that the demo of a roadmap's item did what it says.
 * The demo's `--json` ends with one line: an object with at least `{ run, status, gates, repository, remote, phases }`.
 *
 * Usage: node .ci/check-roadmap-item.mjs OUTPUT_FILE
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile] = process.argv.slice(2);
const { run, status, gates, repository, remote, phases } = JSON.parse(
  readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1),
);
assert.equal(status, 'completed');
assert.equal(gates, 3, 'ideation, specification and release are approved');
assert.deepEqual(
  phases.map(({ phase, attempts }) => [phase, attempts]),
  ['ideating', 'specifying', 'decomposing', 'implementing', 'testing', 'committing', 'releasing', 'completed'].map(
    (phase) => [phase, 1],
  ),
);

const { items } = JSON.parse(git('show', 'main:roadmap/roadmap.json'));
assert.deepEqual(
  items.map((item) => [item.id, item.status]),
  [
    ['reading-time', 'completed'],
    ['overview', 'not-started'],
    ['short-title', 'not-started'],
  ],
);
const { phase, specSlug, tasksTotal, tasksCompleted } = items[0].workflowState;
assert.deepEqual([phase, tasksTotal, tasksCompleted], ['completed', 2, 2]);
for (const document of ['01-ideation', '02-specification', '03-tasks', '04-implementation'])
  assert.notEqual(git('show', `main:specs/${specSlug}/${document}.md`), '', document);
git('fsck', '--strict', '--no-dangling');

execFileSync('npm', ['test'], { cwd: repository, stdio: ['ignore', 'ignore', 'inherit'] });
console.log(
  `demo: the item ${items[0].id} of run ${run} is completed in ${remote}, and the merged tree passes its tests`,
);

function git(...args) {
  return execFileSync('git', ['--git-dir', remote, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  }).trimEnd();
}
