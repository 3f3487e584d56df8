/** A full-auto run whose server is killed in each phase: real processes, a real remote, a real database. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bindingOf } from '@autonomous/shared';
import { createClient } from '@autonomous/shared/client';
import { expect, onTestFinished, test } from 'vitest';
import type { ScriptCall } from '../../src/models/script.ts';
import { aScriptOf, builds, feature, FOLDER, lists, PROJECT, TOPIC } from './full-auto.fixture.ts';
import { git, makeRemote } from '../fixtures/orchestrator.fixture.ts';
import { startServerProcess } from '../fixtures/server-process.fixture.ts';

/** The call takes its time, in which the server is killed. */
const slowly = (call: ScriptCall): ScriptCall => {
  const [first, ...turns] = call.turns;
  return first === undefined ? call : { ...call, turns: [{ ...first, delayMs: 2_000 }, ...turns] };
};

test('goes on after kill -9 while the features are listed, with a message of before, and while one result waits for a person and the next feature is built', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'full-auto-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const remote = path.join(folder, 'remote.git');
  await makeRemote(remote, PROJECT);
  const script = path.join(folder, 'script.yaml');
  await writeFile(
    script,
    aScriptOf({
      'feature-lister': [slowly(lists([feature(1), feature(2)]))],
      implementer: [slowly(builds(2)), builds(1, { '.husky/pre-push': 'true\n' })],
    }),
  );
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    AUTONOMOUS_SCRIPT: script,
    ALLOW_SETUP_NETWORK: 'false',
  };
  const startOne = async () => {
    const server = await startServerProcess({ dataFolder: path.join(folder, 'data'), port: '0', env });
    onTestFinished(async () => void (await server.end('SIGKILL')));
    return { ...server, client: createClient({ baseUrl: server.url, token: server.token }) };
  };
  const soon = { timeout: 120_000, interval: 100 };

  const first = await startOne();
  const project = await first.client.createProject({ name: 'notes', repository: remote });
  const { id, branch } = await first.client.launchRun({
    projectId: project.id,
    workflow: 'full-auto',
    request: 'Build the sounds',
    input: { topic: TOPIC, plan: FOLDER },
  });
  await expect.poll(async () => (await first.client.getRun(id)).currentStage, soon).toBe('planning');
  await first.client.sendMessage(id, 'Keep the sounds short.');
  await first.end('SIGKILL');

  const second = await startOne();
  /** Runs of features, the latest first. */
  const children = async ({ client }: typeof second) => (await client.listRuns({ parentId: id })).items;
  await expect.poll(async () => (await children(second))[0]?.originalRequest, soon).toMatch(/^F002/);
  await expect.poll(async () => (await children(second))[0]?.currentStage, soon).toBe('implementation');
  await second.end('SIGKILL');

  const third = await startOne();
  await expect.poll(async () => (await third.client.getRun(id)).progress, soon).toEqual({ done: 1, total: 2 });
  const runs = await children(third);
  for (const { originalRequest } of runs) expect(originalRequest).toContain('Keep the sounds short.');
  expect(runs[1]).toMatchObject({ status: 'awaiting_approval', gate: { kind: 'implementation' } });
  const [gate] = await third.client.listGates(runs[1]?.id ?? '');
  if (gate === undefined) throw new Error('Nothing waits any more.');
  await third.client.decideOpenGate(gate.runId, { decision: 'approve', ...bindingOf('approve', gate) });
  await expect.poll(async () => (await third.client.getRun(id)).status, soon).toBe('completed');
  const done = await third.client.getRun(id);
  expect(done).toMatchObject({ progress: { done: 2, total: 2 }, published: { pushed: true } });
  expect(done.failures).toBeUndefined();
  expect(await children(third)).toHaveLength(2);
  const list = await git('--git-dir', remote, 'show', `${branch}:${FOLDER}/feature-list.json`);
  expect((JSON.parse(list) as { features: { passes: boolean }[] }).features.map(({ passes }) => passes)).toEqual([
    true,
    true,
  ]);
});
