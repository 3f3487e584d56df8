/** Whole runs whose commands run in machines of E2B: a service on this machine that speaks its protocol. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@autonomous/shared/client';
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createBubblewrapProvider } from '../../src/sandboxes/bubblewrap/bubblewrap.ts';
import { createE2bProvider } from '../../src/sandboxes/e2b/e2b.ts';
import { API_KEY, startE2bServer } from '../../src/sandboxes/e2b/e2b-server.fixture.ts';
import { TEST_LIMITS } from '../../src/sandboxes/sandbox.contract.ts';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import {
  aScript,
  aServer,
  FILES,
  type FixtureOptions,
  git,
  makeRemote,
  processesWith,
  projectConfig,
  runs,
  when,
} from '../fixtures/orchestrator.fixture.ts';
import { startServerProcess } from '../fixtures/server-process.fixture.ts';

const e2b = await startE2bServer();
afterAll(() => e2b.close());
afterEach(async () => {
  for (const name of Object.keys(e2b.faults)) delete e2b.faults[name as keyof typeof e2b.faults];
  await Promise.all(e2b.machines().map(({ id }) => e2b.lose(id)));
});

const bubblewrap = await createBubblewrapProvider().availability();
// The machines of the service are bubblewraps.
if (!bubblewrap.ok) process.stderr.write(`runs in E2B are skipped: ${bubblewrap.reason}. ${bubblewrap.remedy}\n`);

const TRUSTED = { trustMode: { planning: 'auto' as const } };
const MERGED_BY_A_PERSON = {
  trustMode: { planning: 'auto' as const, implementation: 'manual' as const },
  git: { autoMerge: true },
};

const E2B = { SANDBOX_PROVIDER: 'e2b', E2B_API_KEY: API_KEY, E2B_API_URL: e2b.url, E2B_SANDBOX_URL: e2b.url };
const PATIENCE = { timeout: 120_000 };

function aServerWithE2b(options: FixtureOptions = {}) {
  return aServer({ ...options, env: { ...E2B, ...options.env } });
}

describe.skipIf(!bubblewrap.ok)('a run in machines of E2B', () => {
  it('goes all the way, with nothing left running while a person is awaited, nor at its end', async () => {
    const server = await aServerWithE2b();
    const run = await server.launch('Add the feature', MERGED_BY_A_PERSON);
    const { gate } = await server.until(run, { gate: 'implementation' });
    expect(gate?.decisions).toContain('approve');
    expect(e2b.machines()).toEqual([]);
    await server.decide(run, { decision: 'approve' });
    const done = await server.until(run, { status: 'completed' });
    expect(new Set(done.evidence.map(({ sandbox }) => sandbox))).toEqual(new Set(['e2b']));
    expect(await server.file('main', 'feature.sh')).toBe('echo feature\n');
    expect(e2b.machines()).toEqual([]);
    const { checks } = await server.client.readiness();
    expect(checks.find(({ name }) => name === 'sandbox (e2b)')).toMatchObject({ ok: true });
  });

  it('has what the install step left, in each machine', async () => {
    const commands = {
      setup:
        'mkdir -p node_modules/.bin greeter && echo "echo hello" > greeter/hello.sh && ln -s ../../greeter/hello.sh node_modules/.bin/hello && echo cached > ~/cache',
      test: 'sh test/hello.test.sh',
    };
    const server = await aServerWithE2b({
      files: {
        ...FILES,
        'test/hello.test.sh': countedTest('sh node_modules/.bin/hello && cat ~/cache && echo more >> ~/cache'),
        '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands } }),
      },
      script: aScript({ implementer: [runs('sh node_modules/.bin/hello > seen.txt')] }),
    });
    const run = await server.launch('Say hello', TRUSTED);
    const done = await server.until(run, { status: 'completed' });
    expect(done.evidence.map(({ commands: [command] }) => command?.output)).toEqual([
      'hello\ncached\n',
      'hello\ncached\n',
    ]);
    expect(await server.file(run.branch, 'seen.txt')).toBe('hello\n');
    expect(await server.file(run.branch, 'greeter/hello.sh')).toBeNull();
  });

  it('begins a stage anew from the last commit when its machine is lost', async () => {
    const server = await aServerWithE2b({
      script: aScript({ implementer: [runs('echo half >> half.txt', 'echo whole > feature.sh')] }),
    });
    e2b.faults.loseAt = 'echo whole';
    const run = await server.launch('Add the feature', TRUSTED);
    await server.said(run.id, 'was lost; the work starts again from the last commit');
    await server.until(run, { status: 'completed' });
    expect(await server.file(run.branch, 'half.txt')).toBe('half\n');
    expect(await server.file(run.branch, 'feature.sh')).toBe('whole\n');
    expect(e2b.machines()).toEqual([]);
  });

  it('that is cancelled waits for no files that are slow to come, and leaves no machine', async () => {
    const server = await aServerWithE2b({
      script: aScript({ implementer: [runs('echo half > half.sh; echo ready; sleep 3616')] }),
    });
    const run = await server.launch('Add the feature', TRUSTED);
    await server.said(run.id, 'ready');
    const { promise, resolve } = Promise.withResolvers<void>();
    e2b.faults.holdFiles = promise;
    await server.client.cancelRun(run.id);
    await expect.poll(() => e2b.machines(), PATIENCE).toEqual([]);
    await expect.poll(() => server.workFolders(), PATIENCE).toEqual([]);
    resolve();
  });

  it('keeps what an agent did until its time was up, and goes on from there', async () => {
    const server = await aServerWithE2b({
      script: aScript({
        implementer: [
          when('half.sh', runs('mv half.sh feature.sh')),
          runs('echo half > half.sh; echo ready; sleep 3614'),
        ],
      }),
    });
    const run = await server.launch('Add the feature', { ...TRUSTED, timeoutMinutes: { implementation: 0.25 } });
    const { gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'timeout', stage: 'implementation' });
    expect(e2b.machines()).toEqual([]);
    expect(await server.mirror('show', `${run.branch}:half.sh`)).toBe('half\n');
    await server.decide(run, { decision: 'extend', minutes: 10 });
    await server.until(run, { status: 'completed' });
    expect(await server.file(run.branch, 'feature.sh')).toBe('half\n');
  });
});

describe.skipIf(!bubblewrap.ok)('a server that is killed', () => {
  it('takes the machine of the work that goes on up again, and ends all others of its own', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'e2b-runs-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const [remote, script] = [path.join(folder, 'remote.git'), path.join(folder, 'script.yaml')];
    await makeRemote(remote, FILES);
    const implementer = [runs('echo half >> half.txt; sleep 4.3617', 'echo feature > feature.sh')];
    await writeFile(script, aScript({ implementer }));
    const env = { ...E2B, AUTONOMOUS_SCRIPT: script, PATH: process.env['PATH'] ?? '', HOME: folder };
    const start = async () => {
      const server = await startServerProcess({ dataFolder: path.join(folder, 'data'), port: '0', env });
      onTestFinished(async () => void (await server.end('SIGKILL')));
      return { server, client: createClient({ baseUrl: server.url, token: server.token }) };
    };

    const { server, client } = await start();
    const { id: projectId } = await client.createProject({ name: 'notes', repository: remote });
    const run = await client.launchRun({ projectId, request: 'Add the feature', config: TRUSTED });
    await expect.poll(() => processesWith('sleep 4.3617'), PATIENCE).not.toEqual([]);
    await server.end('SIGKILL');
    const machine = e2b.machines().find(({ metadata }) => metadata['autonomousRun'] === run.id);
    const serverId = machine?.metadata['autonomousServer'] ?? '';
    const earlier = createE2bProvider({
      apiKey: API_KEY,
      apiUrl: e2b.url,
      sandboxUrl: e2b.url,
      timeoutMinutes: 10,
      server: serverId,
    });
    await earlier.open({ key: 'r-gone/1/check', folder, readOnly: [], network: 'none', limits: TEST_LIMITS });
    expect(e2b.machines()).toHaveLength(2);

    const next = await start();
    await expect.poll(async () => (await next.client.getRun(run.id)).status, PATIENCE).toBe('completed');
    expect(e2b.requests).toContain(`POST /v2/sandboxes/${machine?.id}/connect`);
    expect(await git('--git-dir', remote, 'show', `${run.branch}:half.txt`)).toBe('half\n');
    expect(e2b.machines()).toEqual([]);
  });
});

describe('D07: without its sandbox a run', () => {
  it.skipIf(!bubblewrap.ok)(
    'pauses with the reason while E2B is down, runs nothing anywhere, and goes on when it is back',
    async () => {
      const trace = path.join(tmpdir(), `ran-${randomUUID()}`);
      const asked = e2b.requests.length;
      e2b.faults.away = true;
      const server = await aServerWithE2b({
        script: aScript({ implementer: [runs(`touch ${trace}`, 'echo feature > feature.sh')] }),
      });
      const run = await server.launch('Add the feature', TRUSTED);
      const { gate } = await server.until(run, { gate: 'pause' });
      expect(gate).toMatchObject({ reason: 'sandbox_unavailable', stage: 'planning' });
      expect(gate?.summary).toContain('No E2B sandbox of template "base" can be started');
      expect(await server.payloads(run.id, 'EVIDENCE_RECORDED')).toEqual([]);
      const { checks } = await server.client.readiness();
      expect(checks.find(({ name }) => name === 'sandbox (e2b)')).toMatchObject({ ok: false });
      expect(existsSync(trace)).toBe(false);
      expect(e2b.requests.slice(asked).filter((request) => request.includes('/process.Process/'))).toEqual([]);
      delete e2b.faults.away;
      await server.decide(run, { decision: 'retry' });
      await server.until(run, { status: 'completed' });
      expect(existsSync(trace)).toBe(false);
    },
  );

  it('pauses with the way out where E2B refuses the key', async () => {
    const server = await aServerWithE2b({ env: { E2B_API_KEY: API_KEY.replace('0', '1') } });
    const run = await server.launch('Add the feature', TRUSTED);
    const { gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'sandbox_unavailable', stage: 'planning' });
    expect(gate?.summary).toContain('Set E2B_API_KEY');
    expect(JSON.stringify(await server.events(run.id))).not.toContain(API_KEY.slice(6));
  });
});
