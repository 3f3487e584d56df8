#!/usr/bin/env node
/**
 * Checks with git and the project's own tests alone that the demo did what it says.
 * The demo's `--json` ends with one line: an object with at least `{ run, status, branch, repository, remote, questions, fixes }`.
 *
 * Usage: node .ci/check-build.mjs OUTPUT_FILE SANDBOX
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile, sandbox] = process.argv.slice(2);
const { run, status, branch, repository, remote, questions, fixes } = JSON.parse(
  readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1),
);
assert.equal(status, 'completed');
assert.ok(
  questions >= 1 && fixes >= 1,
  `${questions} questions and ${fixes} fixes; at least one of each belongs to the demo`,
);

const folder = `.autonomous/runs/${run}`;
const files = git('ls-tree', '-r', '--name-only', 'main').split('\n');
for (const wanted of [
  /^\.autonomous\/specs\/001-.*\.md$/,
  /^\.autonomous\/memory\.md$/,
  new RegExp(`^${folder}/context\\.json$`),
  new RegExp(`^${folder}/events\\.jsonl$`),
  new RegExp(`^${folder}/validation-report\\.md$`),
]) {
  assert.ok(
    files.some((file) => wanted.test(file)),
    `main has no ${wanted}`,
  );
}
assert.match(git('log', '-1', '--format=%B', 'main'), new RegExp(`^Run: ${run}$`, 'm'));
git('rev-parse', '--verify', `refs/heads/${branch}`);

const context = JSON.parse(git('show', `main:${folder}/context.json`));
assert.ok(context.clarifications[0].response, 'context.json has no answered question');

const recorded = git('show', `autonomous/record:${folder}/events.jsonl`)
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));
assert.deepEqual(
  recorded.map((event) => event.sequence),
  recorded.map((_, index) => index + 1),
);
assert.equal(recorded.at(-1).type, 'RUN_COMPLETED');
const evidence = recorded.filter((event) => event.type === 'EVIDENCE_RECORDED');
assert.ok(evidence.length >= 3, `${evidence.length} pieces of evidence`);
for (const { payload } of evidence) assert.equal(payload.sandbox, sandbox);
git('fsck', '--strict', '--no-dangling');

execFileSync('npm', ['test'], { cwd: repository, stdio: ['ignore', 'ignore', 'inherit'] });
console.log(
  `demo: run ${run} is merged in ${remote}, its evidence comes from ${sandbox}, the merged tree passes its tests`,
);

function git(...args) {
  return execFileSync('git', ['--git-dir', remote, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  }).trimEnd();
}
