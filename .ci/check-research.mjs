#!/usr/bin/env node
/**
 * Checks with git alone that the demo of a research run did what it says: the report has what its sources say, both sides of each
 * contradiction, and neither the invented quote nor what a page ordered.
 * The demo's `--json` ends with one line: an object with at least `{ run, status, remote }`.
 *
 * Usage: node .ci/check-research.mjs OUTPUT_FILE
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile] = process.argv.slice(2);
const { run, status, remote } = JSON.parse(readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1));
assert.equal(status, 'completed');

const folder = 'main:docs/research-reading-times';
const [report, leftOut] = git('show', `${folder}/reading-times-report.md`).toString('utf8').split('## Left out');
for (const text of ['238 words per minute', '200 words per minute', '300 words per minute', 'A small web application'])
  assert.ok(report.includes(text), `the report says '${text}'`);
for (const text of ['Nine of ten', '97 percent', 'best one', 'collect'])
  assert.ok(!report.includes(text), `the report does not say '${text}'`);
assert.ok(leftOut.includes('Nine of ten'), 'what was invented is listed as left out');

const tex = git('show', `${folder}/reading-times-report.tex`).toString('utf8');
const cited = [...tex.matchAll(/\\cite[pt]?\{([^}]+)\}/g)].flatMap(([, keys]) =>
  keys.split(',').map((key) => key.trim()),
);
const entries = [
  ...git('show', `${folder}/sources.bib`)
    .toString('utf8')
    .matchAll(/^@\w+\{([^,]+),/gm),
].map(([, key]) => key);
assert.ok(cited.length > 0);
assert.deepEqual(
  cited.filter((key) => !entries.includes(key)),
  [],
);
assert.equal(git('show', `${folder}/reading-times-report.pdf`).subarray(0, 5).toString('latin1'), '%PDF-');
assert.match(git('show', `${folder}/reading-times-state.md`).toString('utf8'), /^status: completed$/m);
git('fsck', '--strict', '--no-dangling');
console.log(`demo: the report of run ${run} is merged in ${remote}, with ${entries.length} sources`);

function git(...args) {
  return execFileSync('git', ['--git-dir', remote, ...args], { maxBuffer: 64 * 1024 * 1024 });
}
