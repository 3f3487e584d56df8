/** A token of the forge that expires while the server runs, and the default project at a forge. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bindingOf } from '@autonomous/shared';
import { expect, it, onTestFinished } from 'vitest';
import { type GitHubGround, openGitHubGround, PEOPLE, SERVER_TOKEN } from '../../src/forges/github/github.fixture.ts';
import { FILES, startServer, type StartedServer } from '../fixtures/orchestrator.fixture.ts';

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

it('G06: a run that paused for an expired token goes on by itself when the file has a new one', async () => {
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
  await expect.poll(async () => (await client.getRun(id)).gate?.kind).toBe('plan');

  server.tokens.delete(SERVER_TOKEN);
  const [gate] = await client.listGates(id);
  if (gate === undefined) throw new Error('the plan has no gate');
  await client.decideOpenGate(id, { decision: 'approve', ...bindingOf('approve', gate) });
  await expect.poll(async () => (await client.getRun(id)).gate?.reason).toBe('auth_expired');
  expect((await client.getRun(id)).gate?.summary).toMatch(/set a valid GITHUB_TOKEN_FILE, then retry/);

  const fresh = 'ghp_fresh0123456789';
  server.tokens.set(fresh, { login: 'octo-server' });
  writeFileSync(file, `${fresh}\n`);
  await expect.poll(async () => (await client.getRun(id)).status).toBe('completed');
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

it('G06: scopes that the server does not need are warned of at the start and in the notices of the project', async () => {
  const { server, shop } = await aGround();
  server.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['repo', 'workflow', 'admin:org'] });
  const folder = aFolder();
  const env = { GITHUB_TOKEN: SERVER_TOKEN, GITHUB_API_URL: server.apiUrl };
  const first = await start(folder, env);
  const { id } = await first.client.createProject({ name: 'shop', repository: server.addressOf(shop) });
  const noticesOf = async ({ client }: StartedServer) => (await client.getProject(id)).notices ?? [];
  const warning = expect.stringMatching(
    /^the token of GITHUB_TOKEN has more scopes than the server needs: workflow, admin:org\. Way out: take a fine-grained token/,
  );
  await expect.poll(() => noticesOf(first)).toEqual([warning]);
  await first.stop();
  const second = await start(folder, env);
  await expect.poll(() => second.logged.map(({ msg }) => msg)).toEqual([warning]);
  expect(await noticesOf(second)).toEqual([warning]);
  await second.stop();
  server.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['repo'] });
  const third = await start(folder, env);
  await expect.poll(() => server.requests.filter(({ path: asked }) => asked === '/user').length).toBe(3);
  expect(await noticesOf(third)).toEqual([]);
});

it('G06: a token of another owner makes no project, and pushes nothing where it may only read', async () => {
  const { server, shop } = await aGround();
  const secret = server.addRepository('acme', 'secret', { isPrivate: true, files: { 'README.md': 'x\n' } });
  const { client } = await start(aFolder(), { GITHUB_TOKEN: PEOPLE.otto, GITHUB_API_URL: server.apiUrl });
  await expect(client.createProject({ name: 'secret', repository: server.addressOf(secret) })).rejects.toThrow(
    /acme\/secret\.git, or the server's token does not cover it; check the address and the token/,
  );
  const { id: projectId } = await client.createProject({ name: 'shop', repository: server.addressOf(shop) });
  const config = { trustMode: { planning: 'auto' } } as const;
  const { id } = await client.launchRun({ projectId, request: 'Add a feature', config });
  await expect.poll(async () => (await client.getRun(id)).gate?.kind).toBe('pause');
  expect((await client.getRun(id)).gate?.summary).toMatch(/may read .* and not write to it: give GITHUB_TOKEN write/);
  expect(shop.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
});
