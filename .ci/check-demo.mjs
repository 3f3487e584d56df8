#!/usr/bin/env node
/**
 * Checks with git alone that the demo did what it says.
 * The demo's `--json` ends with one line: `{ "remote": PATH, "runs": [RunView, …] }`; PATH is the repository that it worked on.
 *
 * Usage: node .ci/check-demo.mjs OUTPUT_FILE SANDBOX
 */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [outputFile, sandbox] = process.argv.slice(2);
const { remote, runs } = JSON.parse(readFileSync(outputFile, 'utf8').trimEnd().split('\n').at(-1));
assert.ok(runs.length > 0, 'the demo names no run');

const branches = git('for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n');
assert.ok(branches.includes('autonomous/record'), `no branch autonomous/record among ${branches.join(', ')}`);
for (const run of runs) check(run);
git('fsck', '--strict', '--no-dangling');
console.log(`demo: ${runs.length} run(s) completed in ${remote}, evidence from ${sandbox}`);

function check(run) {
  assert.equal(run.status, 'completed', `run ${run.id} is ${run.status}`);
  assert.ok(run.scriptedModels.length > 0, `run ${run.id} does not say that its models are scripted`);
  assert.ok(run.evidence.length > 0, `run ${run.id} has no evidence`);
  for (const evidence of run.evidence)
    assert.equal(evidence.sandbox, sandbox, `evidence of run ${run.id} comes from elsewhere`);

  const commit = run.merged?.commit ?? run.published?.commit;
  assert.ok(commit, `run ${run.id} published nothing`);
  assert.equal(git('cat-file', '-t', commit), 'commit');
  const files = git('ls-tree', '-r', '--name-only', commit).split('\n');
  for (const wanted of [/^\.autonomous\/memory\.md$/, /^\.autonomous\/specs\/\d+-.*\.md$/]) {
    assert.ok(
      files.some((file) => wanted.test(file)),
      `commit ${commit} of run ${run.id} has no ${wanted}`,
    );
  }
  const recorded = git('ls-tree', '-r', '--name-only', 'refs/heads/autonomous/record').split('\n');
  assert.ok(
    recorded.some((file) => file.includes(`runs/${run.id}/events.jsonl`)),
    `autonomous/record has no events of run ${run.id}`,
  );
}

function git(...args) {
  return execFileSync('git', ['-C', remote, ...args], { encoding: 'utf8' }).trim();
}
