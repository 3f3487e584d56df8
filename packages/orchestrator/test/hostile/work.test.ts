/** Runs that take their server down: a real server process, started again as a supervisor would, sets them aside. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Client, createClient } from '@autonomous/shared/client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.fixture.ts';

const WORKFLOW = path.join(import.meta.dirname, 'work.fixture.ts');

/** Starts the server on one data folder, again and again. */
async function serverStarter(): Promise<() => Promise<{ readonly server: ServerProcess; readonly client: Client }>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'hostile-work-'));
  const servers: ServerProcess[] = [];
  onTestFinished(async () => {
    await Promise.all(servers.map((server) => server.end('SIGKILL')));
    await rm(folder, { recursive: true, force: true });
  });
  return async () => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      LOG_LEVEL: 'warn',
      AUTONOMOUS_WORKFLOWS: WORKFLOW,
      BLOCKED_LIMIT_SECONDS: '5',
    };
    const server = await startServerProcess({ dataFolder: path.join(folder, 'data'), port: '0', env });
    servers.push(server);
    return { server, client: createClient({ baseUrl: server.url, token: server.token }) };
  };
}

const launch = (client: Client, deed: string) => client.launchRun({ workflow: 'hostile-work', input: { deed } });

it('a run that blocks the event loop is named in the log, its process is ended, and the next start sets it aside', async () => {
  const start = await serverStarter();
  const first = await start();
  // The answer may be lost, since the loop is blocked as soon as the run is stored.
  const launched = await launch(first.client, 'blocks').catch(() => null);
  expect((await first.server.ended).signal).toBe('SIGKILL');
  expect(first.server.log()).toContain('The event loop has been blocked for 2 s.');
  expect(first.server.log()).toMatch(/"runId":"[^"]+","activity":"work".*"where":"backtrack \(work.fixture/);

  const { server, client } = await start();
  const [run] = (await client.listRuns({})).items;
  if (launched !== null) expect(run?.id).toBe(launched.id);
  const view = await client.getRun(run!.id);
  expect(view).toMatchObject({ status: 'paused', gate: { reason: 'poisoned', decisions: ['retry'] } });
  expect(view.gate?.summary).toContain('blocked the server until it was ended, in backtrack');
  expect((await client.cancelRun(run!.id)).status).toBe('cancelled');
  await server.end('SIGTERM');
});

it('a run that takes its server down is found among others, which are not quarantined and end', async () => {
  const start = await serverStarter();
  let { server, client } = await start();
  const others = [await launch(client, 'lasts'), await launch(client, 'lasts')];
  const launched = launch(client, 'dies').catch(() => null);
  await server.ended;
  await launched;
  // Three crashes for which no single run can be blamed, then three that identify the run.
  for (let death = 2; death <= 6; death += 1) {
    const started = await start().catch(() => null);
    if (started === null) continue;
    const healthy = await fetch(`${started.server.url}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(
      () => null,
    );
    if (death > 3) expect(healthy?.status).toBe(200);
    await started.server.ended;
  }
  ({ server, client } = await start());
  const runs = (await client.listRuns({})).items;
  const found = runs.filter(({ status }) => status === 'paused');
  expect(found).toHaveLength(1);
  expect(others.map(({ id }) => id)).not.toContain(found[0]?.id);
  const view = await client.getRun(found[0]!.id);
  expect(view.gate).toMatchObject({ reason: 'poisoned', decisions: ['retry'] });
  expect(view.gate?.summary).toContain('3 times as the only run');
  for (const { id } of others)
    await vi.waitFor(async () => expect((await client.getRun(id)).status).toBe('completed'), 120_000);
  await server.end('SIGTERM');
});
