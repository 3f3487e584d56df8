/** A token of the forge that expires while the server runs, and the default project at a forge. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bindingOf } from '@autonomous/shared';
import { expect, it, onTestFinished } from 'vitest';
import { type GitHubGround, openGitHubGround, SERVER_TOKEN } from '../src/forges/github/github.fixture.ts';
import { FILES, startServer, type StartedServer } from './orchestrator.fixture.ts';

async function aGround(): Promise<GitHubGround> {
  const files = Object.entries(FILES).flatMap(([name, file]) =>
    typeof file === 'string' ? [[name, file] as const] : [],
  );
  const ground = await openGitHubGround({ files: Object.fromEntries(files) });
  onTestFinished(() => ground.close());
  return ground;
}

function aFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'forge-token-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

async function start(folder: string, env: Readonly<Record<string, string>>): Promise<StartedServer> {
  const server = await startServer(folder, { env });
  onTestFinished(() => server.stop());
  return server;
}

it('a run that paused for an expired token goes on by itself when the file has a new one', async () => {
  const { server, shop } = await aGround();
  const folder = aFolder();
  const file = path.join(folder, 'github-token');
  writeFileSync(file, `${SERVER_TOKEN}\n`);
  const { client } = await start(folder, {
    RESUME_PROBE_SECONDS: '1',
    GITHUB_TOKEN_FILE: file,
    GITHUB_API_URL: server.apiUrl,
  });
  const { id: projectId } = await client.createProject({ name: 'shop', repository: server.addressOf(shop) });
  const config = { trustMode: { planning: 'manual' }, git: { autoMerge: true } } as const;
  const { id } = await client.launchRun({ projectId, request: 'Add a feature', config });
  await expect.poll(async () => (await client.getRun(id)).gate?.kind, { timeout: 60_000 }).toBe('plan');

  server.tokens.delete(SERVER_TOKEN);
  const [gate] = await client.listGates(id);
  if (gate === undefined) throw new Error('the plan has no gate');
  await client.decideOpenGate(id, { decision: 'approve', ...bindingOf('approve', gate) });
  await expect.poll(async () => (await client.getRun(id)).gate?.reason, { timeout: 60_000 }).toBe('auth_expired');
  expect((await client.getRun(id)).gate?.summary).toMatch(/set a valid GITHUB_TOKEN_FILE, then retry/);

  const fresh = 'ghp_fresh0123456789';
  server.tokens.set(fresh, { login: 'octo-server' });
  writeFileSync(file, `${fresh}\n`);
  await expect.poll(async () => (await client.getRun(id)).status, { timeout: 90_000 }).toBe('completed');
  const events = await client.listEvents(id, 0, 1_000);
  const retries = events.filter(({ type }) => type === 'RETRY_REQUESTED').map(({ payload }) => payload);
  expect(retries).toMatchObject([{ by: 'server' }]);
  expect(shop.git('log', '--format=%s', 'main').split('\n').length).toBeGreaterThan(1);
  expect(JSON.stringify(events)).not.toMatch(/ghp_/);
});

it('the default project lies at the configured server, and is made only where there is no project', async () => {
  const { server, shop } = await aGround();
  const folder = aFolder();
  const env = {
    GITHUB_TOKEN: SERVER_TOKEN,
    GITHUB_API_URL: server.apiUrl,
    GITHUB_REPO_OWNER: 'acme',
    GITHUB_REPO_NAME: 'shop',
  };
  const first = await start(folder, env);
  const projects = (await first.client.listProjects()).items;
  expect(projects).toMatchObject([{ name: 'shop', repository: server.addressOf(shop), baseBranch: 'main' }]);
  await first.stop();
  const again = await start(folder, { ...env, GITHUB_REPO_NAME: 'another' });
  expect((await again.client.listProjects()).items).toEqual(projects);
  expect(again.logged).toEqual([]);
});
