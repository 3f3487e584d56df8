/** A provider that is down for a while: its runs pause after three tries and go on by themselves when it is back. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RunConfigRequest } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { expect, it, onTestFinished } from 'vitest';
import { parseScript } from '../../src/models/script.ts';
import { aScript, aServer, startServer } from '../fixtures/orchestrator.fixture.ts';
import { startScriptedProvider } from '../fixtures/scripted-provider.fixture.ts';

type Mode = 'up' | 'down' | 'only the list' | 'wrong key';

/** A provider behind a door: what comes through depends on its mode, which may be changed at any time. */
async function aProvider() {
  const behind = await startScriptedProvider({
    script: parseScript(aScript(), 'test'),
    format: 'chat/completions',
    apiKey: 'a-key-of-the-test',
    faultFor: () => null,
  });
  onTestFinished(() => behind.stop());
  const door = { mode: 'down' as Mode, lists: 0, calls: 0 };
  const server = createServer((incoming, outgoing) => {
    const isList = incoming.url?.endsWith('/models') === true;
    if (isList) door.lists += 1;
    else door.calls += 1;
    const status = door.mode === 'down' ? 500 : door.mode === 'wrong key' ? 401 : isList ? 200 : 500;
    if (door.mode !== 'up' || isList) {
      outgoing.writeHead(door.mode === 'up' ? 200 : status).end('{}');
      return;
    }
    const { pathname } = new URL(behind.baseUrl);
    const path = `${pathname.replace(/\/$/, '')}${incoming.url?.replace(/^\/v1/, '')}`;
    const on = request(
      { ...addressOf(behind.baseUrl), path, method: incoming.method, headers: incoming.headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      },
    );
    on.on('error', () => outgoing.destroy());
    incoming.pipe(on);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const env = {
    OPENAI_COMPATIBLE_BASE_URL: url,
    OPENAI_COMPATIBLE_API_KEY: 'a-key-of-the-test',
    // Of refused requests the third is the last.
    MODEL_PATIENCE_SECONDS: '3',
    RESUME_PROBE_SECONDS: '1',
  };
  return { door, env };
}

function addressOf(url: string): { readonly host: string; readonly port: string } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port };
}

/** The model that it waited for has answered. */
const hasPlan = async (client: Client, runId: string): Promise<boolean> =>
  (await client.getRun(runId)).artifacts.length > 0;

const MODEL = 'openai-compatible:test';
const CONFIG: RunConfigRequest = {
  trustMode: { planning: 'auto' },
  modelRouting: { planner: MODEL, implementer: MODEL, validator: MODEL },
};

it(
  'lets its runs go on by themselves when it answers again, also after a restart of the server',
  { timeout: 300_000 },
  async () => {
    const { door, env } = await aProvider();
    const server = await aServer({ env });
    const runs = [await server.launch('One', CONFIG), await server.launch('Two', CONFIG)];
    for (const run of runs) {
      const { gate } = await server.until(run, { gate: 'pause' });
      expect(gate).toMatchObject({ reason: 'model_unavailable', stage: 'planning' });
    }
    // Three tries a run, as before, and then the list alone.
    expect(door.calls).toBe(6);
    await expect.poll(() => door.lists).toBeGreaterThan(1);
    expect(door.calls).toBe(6);

    await server.close();
    door.lists = 0;
    const again = await startServer(server.folder, { env });
    onTestFinished(() => again.stop());
    await expect.poll(() => door.lists).toBeGreaterThan(0);
    door.mode = 'up';
    for (const { id } of runs) {
      await expect.poll(() => hasPlan(again.client, id)).toBe(true);
      const events = await again.client.listEvents(id, 0, 1_000);
      expect(events.filter(({ type }) => type === 'RETRY_REQUESTED').map(({ payload }) => payload)).toMatchObject([
        { by: 'server' },
      ]);
    }
  },
);

it('that only lists its models is asked by one run at a time, ever more rarely', async () => {
  const { door, env } = await aProvider();
  door.mode = 'only the list';
  const server = await aServer({ env });
  const runs = [await server.launch('One', CONFIG), await server.launch('Two', CONFIG)];
  for (const run of runs) await server.until(run, { gate: 'pause' });
  const retried = async () => {
    const events = await Promise.all(runs.map(({ id }) => server.events(id)));
    return events.flat().filter(({ type }) => type === 'RETRY_REQUESTED').length;
  };
  await expect.poll(retried).toBe(2);
  // The one after the first came alone: the next waits for twice as long each time.
  expect(door.lists).toBeLessThanOrEqual(3);
  door.mode = 'up';
  for (const run of runs) await expect.poll(() => hasPlan(server.client, run.id)).toBe(true);
});

it('that refuses the key is not asked again: a person has to correct the key', async () => {
  const { door, env } = await aProvider();
  door.mode = 'wrong key';
  const server = await aServer({ env });
  const run = await server.launch('One', CONFIG);
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate).toMatchObject({ reason: 'model_unavailable', summary: expect.stringContaining('refused the key') });
  const other = await server.launch('Two', CONFIG);
  await server.until(other, { gate: 'pause' });
  await expect.poll(async () => (await server.client.readiness()).checks.length).toBeGreaterThan(0);
  expect([door.lists, door.calls]).toEqual([0, 2]);
});
