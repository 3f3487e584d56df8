#!/usr/bin/env node
/**
 * Checks with git alone that the demo of a run that researches and plans did what it says: the plan rests on findings of its report,
 * has its tasks in order and no estimate, and its blocker is withdrawn.
 * The demo's `--json` ends with one line: an object with at least `{ run, status, remote }`.
 *
 * Usage: node .ci/check-research-and-plan.mjs OUTPUT_FILE
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile] = process.argv.slice(2);
const { run, status, remote } = JSON.parse(readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1));
assert.equal(status, 'completed');

const folder = 'main:docs/research-reading-times';
const plan = JSON.parse(git('show', `${folder}/reading-times-plan.json`).toString('utf8'));
assert.deepEqual(
  plan.tasks.map(({ id, dependencies }) => [id, dependencies]),
  [
    ['function', []],
    ['list', ['function']],
  ],
);
const report = git('show', `${folder}/reading-times-report.md`).toString('utf8');
const text = git('show', `${folder}/reading-times-plan.md`).toString('utf8');
const cited = [...new Set([...JSON.stringify(plan).matchAll(/\[(F\d+)\]/g)].map(([, id]) => id))];
assert.ok(cited.length > 0);
for (const id of cited) assert.ok(report.includes(`(${id})`), `the report has the finding ${id}`);
assert.ok(text.includes('200 words per minute'));
for (const left of ['takes two days', 'Open Blockers'])
  assert.ok(!text.includes(left), `the plan does not say '${left}'`);
for (const document of ['report', 'plan'])
  assert.equal(git('show', `${folder}/reading-times-${document}.pdf`).subarray(0, 5).toString('latin1'), '%PDF-');
git('fsck', '--strict', '--no-dangling');
console.log(`demo: the plan of run ${run} is merged in ${remote}, with ${plan.tasks.length} tasks`);

function git(...args) {
  return execFileSync('git', ['--git-dir', remote, ...args], { maxBuffer: 64 * 1024 * 1024 });
}
