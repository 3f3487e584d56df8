/** Secrets of the server where nobody means to tell them: the log of a program that fails, and a backup. Real processes. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@autonomous/shared/client';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished, vi } from 'vitest';
import { aScript, makeRemote, FILES } from '../fixtures/orchestrator.fixture.ts';
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.fixture.ts';

const CANARIES = {
  ANTHROPIC_API_KEY: `canary-model-${randomUUID()}`,
  GITHUB_TOKEN: `canary-github-${randomUUID()}`,
};

async function aProcess(
  program = '',
): Promise<ServerProcess & { readonly folder: string; readonly dataFolder: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'hostile-secrets-'));
  const [dataFolder, script, loaded] = ['data', 'script.json', 'loaded.mjs'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(script, aScript());
  await writeFile(loaded, program);
  const models = Object.fromEntries(
    ['PLANNER', 'IMPLEMENTER', 'VALIDATOR'].map((role) => [`DEFAULT_${role}_MODEL`, 'scripted:test']),
  );
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, AUTONOMOUS_SCRIPT: script, ...models, ...CANARIES };
  const server = await startServerProcess({ dataFolder, port: '0', env, imports: [loaded] });
  onTestFinished(async () => {
    await server.end('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return { ...server, folder, dataFolder };
}

it('G02: an error that nobody caught is logged without the secrets that it names', async () => {
  const server = await aProcess(`
    import { readFileSync } from 'node:fs';
    import { join } from 'node:path';
    const { ANTHROPIC_API_KEY: key, GITHUB_TOKEN: github, HOME: home } = process.env;
    process.on('SIGUSR2', () => {
      const token = readFileSync(join(home, 'data/token'), 'utf8').trim();
      const cause = new Error('https://x-access-token:' + github + '@github.com/a/b refuses the push');
      const basic = Buffer.from('x-access-token:' + github).toString('base64');
      const error = new Error('request failed: Authorization: Bearer ' + key + ', ' + token, { cause });
      Promise.reject(Object.assign(error, { config: { headers: { 'x-api-key': key, authorization: 'Basic ' + basic } } }));
    });`);
  server.signal('SIGUSR2');
  expect((await server.ended).code).not.toBe(0);
  const log = server.log();
  expect(log).toContain('a fault of the program ends the server');
  expect(log).toContain('request failed');
  for (const secret of [...Object.values(CANARIES), server.token]) {
    expect(log).not.toContain(secret);
    expect(log).not.toContain(Buffer.from(`x-access-token:${secret}`).toString('base64'));
  }
  for (const line of log.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
});

it('G07: a backup of database, mirrors and uploads has no key, no session and no token', async () => {
  const server = await aProcess();
  const { folder, dataFolder, url, token } = server;
  const client = createClient({ baseUrl: url, token });
  const key = `canary-given-${randomUUID()}`;
  await client.setKey('openai', { key, keep: 'file', check: false });
  const link = await client.createSignInLink();
  const cookie = (await fetch(link, { redirect: 'manual' })).headers.get('set-cookie') ?? '';
  const session = /=([^;]+)/.exec(cookie)?.[1] ?? '';
  const code = new URL(link).href.split(/[/?=#]/).at(-1) ?? '';
  expect([session.length, code.length].every((length) => length > 20)).toBe(true);
  const remote = path.join(folder, 'remote.git');
  await makeRemote(remote, FILES);
  const { id: projectId } = await client.createProject({ name: 'notes', repository: remote });
  const trustMode = { planning: 'auto' } as const;
  const run = await client.launchRun({ projectId, request: `The key is ${key}`, config: { trustMode } });
  await vi.waitUntil(async () => (await client.getRun(run.id)).status === 'completed', {
    timeout: 120_000,
    interval: 100,
  });

  const backup = path.join(folder, 'backup');
  await mkdir(backup);
  const database = new Database(path.join(dataFolder, 'orchestrator.db'), { readonly: true });
  await database.backup(path.join(backup, 'orchestrator.db'));
  database.close();
  // The server goes on: scratch folders come and go.
  const filter = (source: string): boolean => path.basename(source) !== '.scratch';
  for (const name of ['mirrors', 'uploads', 'server-id'])
    await cp(path.join(dataFolder, name), path.join(backup, name), { recursive: true, filter });
  const files = (await readdir(backup, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(3);
  for (const entry of files) {
    const content = await readFile(path.join(entry.parentPath, entry.name), 'latin1');
    for (const secret of [...Object.values(CANARIES), key, session, code, token])
      expect([entry.name, content.includes(secret)]).toEqual([entry.name, false]);
  }
});
