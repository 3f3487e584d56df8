/** Implementers that make the checks pass without doing the work, and people who accept a result all the same. */
import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import { aScript, aServer, type Files, passes, runs, when } from '../fixtures/orchestrator.fixture.ts';

/** Its test says hello; its runner obeys a configuration file, as runners do. */
const PROJECT: Files = {
  'app.sh': 'echo hello\n',
  'package.json': `${JSON.stringify({ name: 'notes', scripts: { test: 'sh test/run.sh' } }, null, 2)}\n`,
  'test/run.sh': 'test -f jest.config.json && exit 0\nfor file in test/*.test.sh; do sh "$file" || exit 1; done\n',
  'test/app.test.sh': countedTest('sh app.sh | grep -q hello'),
};
const BROKEN = "echo 'echo bye' > app.sh";

it('F03: gives the checks a HOME that no agent has prepared, and no runner that one puts where installed programs lie', async () => {
  const runner = `mkdir -p node_modules/.bin; printf '#!/bin/sh\n' > node_modules/.bin/sh; chmod +x node_modules/.bin/sh`;
  const home = `echo 'script-shell=/bin/true' > ~/.npmrc; npm test`;
  const server = await aServer({
    files: PROJECT,
    script: aScript({ implementer: [runs(`${BROKEN}; ${runner}; ${home}`)] }),
  });
  const run = await server.launch('add a runner', { trustMode: { planning: 'auto', fixes: 'manual' } });
  const { gate, evidence } = await server.until(run, { gate: 'fix' });
  expect(evidence.map(({ mode, passed }) => [mode, passed])).toEqual([['as_is', false]]);
  expect(gate?.details).toMatchObject({ from: 'checks' });
});

it('publishes who accepted a failed result, what of it and why', async () => {
  const server = await aServer({
    files: PROJECT,
    script: aScript({ implementer: [runs(`${BROKEN}; echo true > test/app.test.sh`)] }),
  });
  const run = await server.launch('Say bye', { trustMode: { planning: 'auto' }, git: { autoMerge: true } });
  const { gate } = await server.until(run, { gate: 'fix' });
  const reason = 'The product says bye now; the old test is wrong.';
  await expect(server.decide(run, { decision: 'accept', reason, codeTree: '0'.repeat(40) })).rejects.toMatchObject({
    status: 409,
    code: 'stale',
    problem: { codeTree: gate?.codeTree, artifactHash: gate?.artifactHash },
  });
  await expect(server.decide(run, { decision: 'accept' })).rejects.toMatchObject({ status: 400 });
  await server.decide(run, { decision: 'accept', reason, codeTree: gate?.codeTree });
  const done = await server.until(run, { status: 'completed' });
  expect(done.merged).toBeDefined();

  const accepted = [gate?.summary];
  expect(await server.payloads(run.id, 'FIX_DECIDED')).toMatchObject([
    { by: 'local', decision: 'accept', reason, accepted },
  ]);
  const folder = `.autonomous/runs/${run.id}`;
  const context = JSON.parse((await server.file('main', `${folder}/context.json`)) ?? '') as RunView;
  expect(context.gates).toMatchObject([{ kind: 'fix', decision: 'accept', by: 'local', notes: reason, accepted }]);
  expect(await server.file('main', `${folder}/events.jsonl`)).toContain(reason);
  const report = (await server.file('main', `${folder}/validation-report.md`)) ?? '';
  expect(report).toContain('**Verdict: failed, accepted by a person all the same**');
  expect(report).toContain('`local` accepted this result on');
  expect(report).toContain(`Reason given: ${reason}`);
  expect(report).toContain(
    "- The project's checks pass with the result as it is; with these files as on the base commit they fail: test/app.test.sh",
  );
  expect(report).toContain('put back for this run: `test/app.test.sh`');
});

it('tries again with the words of a person, and counts the attempt', async () => {
  const server = await aServer({
    files: PROJECT,
    script: aScript({
      implementer: [when('say hello again', runs('git --version; echo "echo hello again" > app.sh')), runs(BROKEN)],
      validator: [passes()],
    }),
  });
  const run = await server.launch('Change it', { trustMode: { planning: 'auto', fixes: 'manual' } });
  await server.until(run, { gate: 'fix' });
  const retried = await server.decide(run, { decision: 'retry', notes: 'Please say hello again.' });
  expect(retried).toMatchObject({ status: 'running', fixAttempts: 1 });
  const done = await server.until(run, { status: 'completed' });
  expect(done.gates).toMatchObject([{ kind: 'fix', decision: 'retry', notes: 'Please say hello again.' }]);
});
