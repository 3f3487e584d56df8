/** A key that is given while the server runs: over HTTP, for runs that wait for it, and nowhere to be seen afterwards. */
import { chmod, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ApiError } from '@autonomous/shared/client';
import { expect, it, onTestFinished } from 'vitest';
import { parseScript } from '../../src/models/script.ts';
import { KEYED_MODEL, startKeyedProvider } from './keyed-provider.fixture.ts';
import { aScript, aServer, startServer, writes } from '../fixtures/orchestrator.fixture.ts';

const KEY = `own-key-${'q8'.repeat(20)}`;
/** Only keys make a model usable. */
const NO_SCRIPT = { AUTONOMOUS_SCRIPT: '' };
const MODEL = `openai-compatible:${KEYED_MODEL}`;

/** Its implementer tells the key. */
async function aProvider(): Promise<string> {
  const leaking = aScript({ implementer: [writes({ 'feature.sh': 'echo feature\n' }, { summary: `I saw ${KEY}.` })] });
  const provider = await startKeyedProvider(parseScript(leaking, 'test'), KEY);
  onTestFinished(() => provider.stop());
  return provider.baseUrl;
}

it('G03: lets a run that waits for a key go on, and shows up in nothing that is stored or told', async () => {
  const baseUrl = await aProvider();
  const server = await aServer({ env: NO_SCRIPT });
  const { client } = server;
  const before = await client.getSetup();
  expect(before.isReady).toBe(false);
  await expect(client.setKey('openai-compatible', { key: 'wrong-key', keep: 'file', baseUrl })).rejects.toThrow(
    /refuses the key/,
  );
  const given = await client.setKey('openai-compatible', { key: KEY, keep: 'file', baseUrl });
  expect(given).toMatchObject({ status: 'ready', hint: '…q8q8', models: [MODEL] });
  const config = { trustMode: { planning: 'auto' as const } };
  const first = await server.launch('One', config);
  expect(first.config.modelRouting['planner']).toBe(MODEL);
  expect((await server.until(first, { status: 'completed' })).status).toBe('completed');

  await client.removeKey('openai-compatible');
  const refused = await server.launch('Two', config).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ApiError);
  // One sentence, not one for each role.
  expect((refused as ApiError).message).toMatch(/^No model can be used yet.* Roles without a model: .*planner/);
  expect((refused as ApiError).problem.faults).toEqual([
    { path: 'config.modelRouting', message: (refused as ApiError).message },
  ]);

  const told = JSON.stringify([
    await client.getSetup(),
    await client.listEvents(first.id, 0, 1_000),
    await client.getTranscript(first.id),
    await client.getDiff(first.id),
    server.logged,
  ]);
  expect(told).toContain('[secret]');
  expect(told).not.toContain(KEY);
  await server.close();
  for (const file of await readdir(server.dataFolder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const content = await readFile(path.join(file.parentPath, file.name));
    expect([file.name, content.includes(KEY)]).toEqual([file.name, false]);
  }
});

it('that was taken away pauses a run, which goes on after a new one is given and it is retried', async () => {
  const baseUrl = await aProvider();
  const server = await aServer({ env: NO_SCRIPT });
  const { client } = server;
  await client.setKey('openai-compatible', { key: KEY, keep: 'file', baseUrl });
  const run = await server.launch('One', { trustMode: { planning: 'manual' } });
  await server.until(run, { gate: 'plan' });
  await client.removeKey('openai-compatible');
  await server.decide(run, { decision: 'approve' });
  const paused = await server.until(run, { gate: 'pause' });
  expect(paused.gate).toMatchObject({ reason: 'model_unavailable' });
  await client.setKey('openai-compatible', { key: KEY, keep: 'file', baseUrl });
  await client.decideOpenGate(run.id, { decision: 'retry' });
  expect((await server.until(run, { status: 'completed' })).status).toBe('completed');
});

it('is only for those who are signed in', async () => {
  const server = await aServer();
  const url = `${server.orchestrator.server.url}/api/setup`;
  const answers = await Promise.all([
    fetch(url),
    fetch(`${url}/providers/anthropic/key`, { method: 'PUT', body: JSON.stringify({ key: KEY, keep: 'file' }) }),
    fetch(`${url}/providers/anthropic/key`, { method: 'DELETE' }),
    fetch(`${url}/default-models`, { method: 'PUT', body: '{}' }),
    fetch(`${url}/agents/claude/test`, { method: 'POST' }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
});

it('in a file that others can read keeps the server from starting, by its name', async () => {
  const server = await aServer();
  await server.client.setKey('openai', { key: `sk-proj-${'b2'.repeat(20)}`, keep: 'file', check: false });
  await server.close();
  await chmod(path.join(server.dataFolder, 'keys.json'), 0o640);
  await expect(startServer(server.folder, {})).rejects.toThrow(/keys\.json \(mode 0640\).*chmod 600/);
});
