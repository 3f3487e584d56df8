/** Tests causes that pause a run until a person removes them, and that the run resumes from where it was. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBubblewrapProvider } from '../../src/sandboxes/bubblewrap/bubblewrap.ts';
import {
  aPlan,
  aScript,
  aServer,
  FILES,
  processesWith,
  runs,
  startServer,
  when,
  writes,
} from '../fixtures/orchestrator.fixture.ts';

const MERGED_BY_A_PERSON = {
  trustMode: { planning: 'auto' as const, implementation: 'manual' as const },
  git: { autoMerge: true },
};

describe('a model', () => {
  it('that says nothing is waited for as long as the server is configured, three times', async () => {
    const server = await aServer({
      script: aScript({ planner: [{ turns: [{ delayMs: 3_600_000, text: 'Thinking.' }, ...aPlan().turns] }] }),
      env: { MODEL_FIRST_TOKEN_SECONDS: '1' },
    });
    const run = await server.launch('Add the feature');
    const { gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({
      reason: 'model_unavailable',
      summary: expect.stringContaining('no answer began for 1 s, which is the limit of MODEL_FIRST_TOKEN_SECONDS'),
    });
  });
});

describe('the implementation', () => {
  it('that takes too long is kept as a checkpoint, and goes on from there when it gets more time', async () => {
    const server = await aServer({
      script: aScript({
        implementer: [
          when('half.sh', runs('mv half.sh feature.sh')),
          runs('echo half > half.sh; mkdir -p .autonomous/runs; echo forged > .autonomous/runs/x; sleep 3611'),
        ],
      }),
    });
    const run = await server.launch('Add the feature', {
      trustMode: { planning: 'auto' },
      timeoutMinutes: { implementation: 0.03 },
    });
    const { gate, notices } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'timeout', stage: 'implementation', decisions: ['retry', 'extend'] });
    expect(gate?.summary).toContain('longer than 0.03 minutes');
    await expect.poll(() => processesWith('sleep 3611')).toEqual([]);
    expect((await server.mirror('log', '-1', '--format=%s', run.branch)).trim()).toBe(
      'Checkpoint: work before a pause',
    );
    expect(await server.mirror('show', `${run.branch}:half.sh`)).toBe('half\n');
    expect(notices).toContain(
      'Not taken from the sandbox: .autonomous/runs/x (agents do not write under .autonomous/)',
    );

    await server.decide(run, { decision: 'extend', minutes: 10 });
    await server.until(run, { status: 'completed' });
    expect(await server.file(run.branch, 'feature.sh')).toBe('half\n');
    expect(await server.file(run.branch, 'half.sh')).toBeNull();
  });

  it('whose agent fails waits for a person, who may say something before the next try', async () => {
    const server = await aServer({
      script: aScript({ implementer: [when('Mind the feature', writes({ 'feature.sh': 'echo feature\n' }))] }),
    });
    const run = await server.launch();
    const { gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({
      reason: 'agent_failed',
      stage: 'implementation',
      summary: expect.stringContaining('has no call 1 for the role implementer'),
    });
    expect(await server.payloads(run.id, 'IMPLEMENTATION_FAILED')).toMatchObject([{ reason: 'agent_failed' }]);
    await server.client.sendMessage(run.id, 'Mind the feature.');
    await server.decide(run, { decision: 'retry' });
    await server.until(run, { status: 'completed' });
  });
});

describe('publishing', () => {
  it('waits for a remote that is away, and goes on by itself when it is back', async () => {
    const server = await aServer({ env: { RESUME_PROBE_SECONDS: '1' } });
    const run = await server.launch('Add the feature', MERGED_BY_A_PERSON);
    await server.until(run, { gate: 'implementation' });
    await rename(server.remote, `${server.remote}.away`);
    await server.decide(run, { decision: 'approve' });
    const { gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({
      reason: 'remote_unavailable',
      stage: 'publishing',
      summary: expect.stringContaining(server.remote),
    });
    await rename(`${server.remote}.away`, server.remote);
    await expect.poll(async () => (await server.client.getRun(run.id)).status, { timeout: 60_000 }).toBe('completed');
    expect(await server.file('main', 'feature.sh')).toBe('echo feature\n');
    await server.orchestrator.settled();
    expect(await server.git('show', `autonomous/record:.autonomous/runs/${run.id}/events.jsonl`)).toContain(
      '"RUN_COMPLETED"',
    );
  });

  it('waits where the remote refuses the merge, and merges once when it no longer does', async () => {
    const server = await aServer();
    const hook = path.join(server.remote, 'hooks', 'update');
    await writeFile(
      hook,
      '#!/bin/sh\n[ "$1" != refs/heads/main ] || { echo "main is frozen until Monday"; exit 1; }\n',
    );
    await chmod(hook, 0o755);
    const run = await server.launch('Add the feature', { trustMode: { planning: 'auto' }, git: { autoMerge: true } });
    for (const decision of ['retry', null] as const) {
      const { gate } = await server.until(run, { gate: 'pause' });
      expect(gate).toMatchObject({
        reason: 'push_rejected',
        stage: 'publishing',
        summary: expect.stringContaining('main is frozen until Monday'),
      });
      if (decision) await server.decide(run, { decision });
    }
    await rm(hook);
    await server.decide(run, { decision: 'retry' });
    const done = await server.until(run, { status: 'completed' });
    expect((await server.git('rev-list', '--count', `${done.baseCommit}..main`)).trim()).toBe('1');
  });
});

describe('D07: where no sandbox can be started', () => {
  /** bubblewrap itself, where no process may make a user namespace. */
  const WITHOUT_NAMESPACES = `#!/bin/sh
exec /usr/bin/bwrap --unshare-user --disable-userns --dev-bind / / -- /usr/bin/bwrap "$@"
`;

  it.each([
    ['bubblewrap is missing', null, /bubblewrap.*install/i],
    ['user namespaces are off', WITHOUT_NAMESPACES, /namespace/i],
  ] as const)(
    'as %s, the run pauses with the reason and what mends it, runs nothing, and a retry goes on',
    async (_what, program, says) => {
      const bwrap = path.join(tmpdir(), `bwrap-${randomUUID()}`);
      const trace = path.join(tmpdir(), `ran-${randomUUID()}`);
      onTestFinished(() => Promise.all([bwrap, trace].map((file) => rm(file, { force: true }))).then(() => undefined));
      if (program !== null) await writeFile(bwrap, program, { mode: 0o755 });
      const server = await aServer({
        sandboxes: createBubblewrapProvider({ path: bwrap }),
        script: aScript({ implementer: [runs(`touch ${trace}`, 'echo feature > feature.sh')] }),
      });
      const run = await server.launch();
      const { gate, evidence } = await server.until(run, { gate: 'pause' });
      expect(gate).toMatchObject({ reason: 'sandbox_unavailable', stage: 'planning' });
      expect(gate?.summary).toMatch(says);
      expect(evidence).toEqual([]);
      const { checks } = await server.client.readiness();
      expect(checks.find(({ name }) => name.startsWith('sandbox'))).toMatchObject({ ok: false });
      await rm(bwrap, { force: true });
      await symlink('/usr/bin/bwrap', bwrap);
      await server.decide(run, { decision: 'retry' });
      await server.until(run, { status: 'completed' });
      expect(existsSync(trace)).toBe(false);
    },
  );
});

it('a run that waits for a person keeps no folder of readers and checks', async () => {
  const server = await aServer({ files: FILES });
  const run = await server.launch('Add the feature', MERGED_BY_A_PERSON);
  await server.until(run, { gate: 'implementation' });
  expect(await server.workFolders()).toEqual([run.id]);
  expect(await server.workFolders(run.id)).toEqual([]);
  await server.client.cancelRun(run.id);
  await server.close();
  expect(await server.workFolders()).toEqual([]);
  // What a crash left of an ended run goes at the next start.
  await mkdir(path.join(server.dataFolder, 'work', run.id, 'implementation'), { recursive: true });
  const next = await startServer(server.folder);
  await next.stop();
  expect(await server.workFolders()).toEqual([]);
});
