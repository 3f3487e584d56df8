/** A data folder that is removed or replaced under a running server: nothing is acknowledged that nobody will find. */
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@autonomous/shared/client';
import { expect, it, onTestFinished } from 'vitest';
import { makeBareRemote } from '../../src/repository/git-fixture.fixture.ts';
import { startServerProcess } from '../fixtures/server-process.fixture.ts';

async function aServerProcess(env: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'lost-data-'));
  const data = path.join(folder, 'data');
  const server = await startServerProcess({
    dataFolder: data,
    port: '0',
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
  });
  onTestFinished(async () => {
    await server.end('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  return { folder, data, server, client: createClient({ baseUrl: server.url, token: server.token }) };
}

it('is refused with 503 and the way out at the next command, and the server is not ready', async () => {
  const { folder, data, server, client } = await aServerProcess();
  const repository = makeBareRemote(path.join(folder, 'remote.git'));
  await client.createProject({ name: 'before', repository });
  // The server may be writing to its mirror.
  await rm(data, { recursive: true, maxRetries: 5 });
  await expect(client.createProject({ name: 'after', repository })).rejects.toMatchObject({
    problem: { status: 503, code: 'unavailable', detail: expect.stringMatching(/was removed.*restore a copy/) },
  });
  await expect(client.createProject({ name: 'later', repository })).rejects.toThrow(/was removed/);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
  expect(await client.readiness()).toMatchObject({ ready: false });
  // Reads still work, and the server stops normally.
  expect((await client.listProjects({})).items.map(({ name }) => name)).toContain('before');
  expect(await server.end('SIGTERM')).toMatchObject({ code: 0 });
});

it('whose write-ahead log alone is removed is refused too, since the newest commands are in it', async () => {
  const { folder, data, server, client } = await aServerProcess();
  const repository = makeBareRemote(path.join(folder, 'remote.git'));
  await client.createProject({ name: 'before', repository });
  await rm(path.join(data, 'orchestrator.db-wal'));
  await expect(client.createProject({ name: 'after', repository })).rejects.toMatchObject({
    problem: { status: 503, detail: expect.stringMatching(/-wal was removed.*restore a copy/) },
  });
  expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
});

it('that is replaced by another one is noticed without a command', async () => {
  const { folder, data, server, client } = await aServerProcess();
  await rename(data, path.join(folder, 'moved'));
  await mkdir(data);
  await expect.poll(async () => (await client.readiness()).ready).toBe(false);
  await expect.poll(() => server.log()).toMatch(/was (?:removed|replaced)/);
  expect(await readdir(path.join(folder, 'moved'))).toContain('orchestrator.db');
});

it('is noticed where the database lies elsewhere', async () => {
  const elsewhere = await mkdtemp(path.join(tmpdir(), 'elsewhere-'));
  onTestFinished(() => rm(elsewhere, { recursive: true, force: true }));
  const { folder, data, server, client } = await aServerProcess({
    DATABASE_URL: `sqlite:${path.join(elsewhere, 'runs.db')}`,
  });
  const repository = makeBareRemote(path.join(folder, 'remote.git'));
  await rename(data, path.join(folder, 'moved'));
  await expect.poll(() => server.log()).toContain('data folder');
  await expect(client.createProject({ name: 'after', repository })).rejects.toThrow(/The data folder .* was removed/);
});
