import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { makePlace, type Place, SCRIPT } from '../program.fixture.ts';
import type { Check } from './doctor-check.ts';
import { openGitHubGround, SERVER_TOKEN } from '../../forges/github/github.fixture.ts';
import { newestSchema } from '../../event-store/sqlite/migrate.ts';
import { API_KEY, startE2bServer } from '../../sandboxes/e2b/e2b-server.fixture.ts';

let place: Place;

beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

async function examine(env: Readonly<Record<string, string>>) {
  const { exitCode, stdout } = await place.command(['doctor', '--json'], { ORCHESTRATOR_PORT: '0', ...env });
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: readonly Check[] };
  return { exitCode, ok, checks, check: (name: string) => checks.find((check) => check.name === name), stdout };
}

describe('doctor', () => {
  it('ends with 0 where everything needed is there, and makes nothing', async () => {
    const { exitCode, ok, checks } = await examine({ AUTONOMOUS_SCRIPT: SCRIPT });
    expect(checks.filter(({ status }) => status === 'missing')).toEqual([]);
    expect([exitCode, ok]).toEqual([0, true]);
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'node',
        'git',
        'sandbox',
        'data folder',
        'disk space',
        'database',
        'address',
        'models',
        'GitHub',
        'web search',
      ]),
    );
    expect(existsSync(place.data)).toBe(false);
  });

  it('ends with 1 and the way out where no model can be used', async () => {
    const { exitCode, check } = await examine({});
    expect(exitCode).toBe(1);
    expect(check('models')).toMatchObject({ status: 'missing', way: expect.stringContaining('ANTHROPIC_API_KEY') });
  });

  it('names the search API, and the variables where there is none', async () => {
    const { check } = await examine({ AUTONOMOUS_SCRIPT: SCRIPT });
    expect(check('web search')).toMatchObject({ status: 'optional', detail: expect.stringContaining('EXA_API_KEY') });
    const brave = await examine({ AUTONOMOUS_SCRIPT: SCRIPT, BRAVE_API_KEY: 'brave-canary' });
    expect(brave.check('web search')).toMatchObject({ status: 'ok', detail: expect.stringContaining('Brave') });
    expect(brave.stdout).not.toContain('brave-canary');
  });

  it('says which roles lack a model when a chosen one has no key, and never shows a key', async () => {
    const { check, stdout } = await examine({
      ANTHROPIC_API_KEY: 'sk-ant-1234567890',
      DEFAULT_PLANNER_MODEL: 'deepseek:deepseek-reasoner',
      GITHUB_TOKEN: 'ghp_1234567890',
      // Nothing listens there.
      GITHUB_API_URL: 'http://127.0.0.1:9/api/v3',
    });
    expect(check('models')).toMatchObject({
      status: 'missing',
      detail: expect.stringMatching(/planner: .*there is no key for it.*DEEPSEEK_API_KEY/),
      way: expect.stringContaining('DEFAULT_MODELS'),
    });
    expect(check('GitHub')).toMatchObject({ status: 'optional', detail: expect.stringContaining('cannot be reached') });
    expect(stdout).not.toMatch(/1234567890/);
  });

  it('signs in at GitHub, and tells what the token may do in the repository of the default project', async () => {
    const ground = await openGitHubGround();
    onTestFinished(() => ground.close());
    const { server } = ground;
    const env = {
      GITHUB_TOKEN: SERVER_TOKEN,
      GITHUB_API_URL: server.apiUrl,
      GITHUB_REPO_OWNER: 'acme',
      GITHUB_REPO_NAME: 'shop',
    };
    const good = await examine(env);
    expect(good.checks.filter(({ name }) => name === 'GitHub')).toEqual([
      { name: 'GitHub', status: 'ok', detail: `signed in at ${server.host} as octo-server, acme/shop can be read` },
    ]);
    server.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['gist'] });
    const { checks } = await examine(env);
    const lacking = checks.find(({ name, status }) => name === 'GitHub' && status === 'missing');
    expect(lacking).toMatchObject({ detail: expect.stringContaining('lacks contents=write') });
    server.tokens.delete(SERVER_TOKEN);
    const refused = await examine(env);
    expect(refused.check('GitHub')).toMatchObject({
      status: 'missing',
      detail: expect.stringContaining('refuses the token of GITHUB_TOKEN (401: Bad credentials)'),
      way: 'Set a valid GITHUB_TOKEN and restart the server.',
    });
    expect(refused.stdout).not.toContain(SERVER_TOKEN);
  });

  it('names the project of each notice, and gives no way out but that of the notice itself', async () => {
    const notices = ["The record of project 'shop' in git is old.", 'The record of its runs lags behind.'];
    const answers = createServer((_, response) =>
      response.end(JSON.stringify({ items: [{ id: 'p-1', name: 'shop', notices }] })),
    ).listen(0, '127.0.0.1');
    onTestFinished(() => void answers.close());
    await once(answers, 'listening');
    const { port } = answers.address() as AddressInfo;
    const { checks } = await examine({
      AUTONOMOUS_SERVER: `http://127.0.0.1:${port}`,
      AUTONOMOUS_TOKEN: 'x'.repeat(32),
    });
    expect(checks.filter(({ name }) => name === 'record')).toEqual([
      { name: 'record', status: 'missing', detail: notices[0] },
      { name: 'record', status: 'missing', detail: `project 'shop': ${notices[1]}` },
    ]);
  });

  it('looks at the webhook of the repository, where the server takes webhooks and the account may list them', async () => {
    const ground = await openGitHubGround();
    onTestFinished(() => ground.close());
    const { server, shop } = ground;
    const answers = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(request.url === '/webhooks/github' ? 401 : 202).end());
    });
    await new Promise<void>((listening) => void answers.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void answers.close());
    const url = `http://127.0.0.1:${(answers.address() as AddressInfo).port}`;
    const unset = {
      GITHUB_TOKEN: SERVER_TOKEN,
      GITHUB_API_URL: server.apiUrl,
      GITHUB_REPO_OWNER: 'acme',
      GITHUB_REPO_NAME: 'shop',
    };
    const env = { ...unset, GITHUB_WEBHOOK_SECRET: 'a-secret-of-a-webhook' };
    const webhooks = async (from: Record<string, string> = env) =>
      (await examine(from)).checks
        .filter(({ name }) => name === 'webhook')
        .map(({ status, detail }) => `${status}: ${detail}`);

    expect(await webhooks()).toEqual([expect.stringMatching(/^ok: not looked at: .* may not list .*acme\/shop/)]);
    shop.collaborators.set('octo-server', 'admin');
    expect(await webhooks(unset)).toEqual([]);
    const none = expect.stringMatching(/^optional: .*no active webhook of acme\/shop points to .*\/webhooks\/github$/);
    expect(await webhooks()).toEqual([none]);

    const hook = { secret: 'another-one', events: ['*'] };
    server.hooks.add(shop, { ...hook, url: `${url}/elsewhere` });
    expect(await webhooks()).toEqual([none]);
    server.hooks.add(shop, { ...hook, url: `${url}/behind/webhooks/github?x=y` });
    const good = `ok: acme/shop tells ${url}/behind/webhooks/github`;
    expect(await webhooks()).toEqual([good]);
    server.hooks.add(shop, { ...hook, url: `${url}/webhooks/github`, events: ['issues', 'status'] });
    await ground.as('anna', 'POST', '/issues', { title: 'Delivered' });
    await server.hooks.settled();
    expect(await webhooks()).toEqual([
      good,
      expect.stringMatching(/^optional: .*lacks the events pull_request, pull_request_review, .*check_suite$/),
      expect.stringMatching(/^optional: .*failed at its last delivery: 401$/),
    ]);
  });

  it('starts a sandbox of the provider that is configured', async () => {
    const e2b = await startE2bServer();
    onTestFinished(() => e2b.close());
    const env = { SANDBOX_PROVIDER: 'e2b', E2B_API_KEY: API_KEY, E2B_API_URL: e2b.url, E2B_SANDBOX_URL: e2b.url };
    const { check } = await examine(env);
    expect(check('sandbox')).toMatchObject({ status: 'ok', detail: expect.stringContaining('E2B started a sandbox') });
    e2b.faults.away = true;
    const away = await examine(env);
    expect(away.check('sandbox')).toMatchObject({ status: 'missing', way: expect.stringContaining('E2B_API_URL') });
  });

  it('tells a running server from another program at its port', async () => {
    const server = await place.serve();
    const { port } = new URL(server.url);
    const here = await examine({ ORCHESTRATOR_PORT: port });
    expect(here.check('address')).toMatchObject({
      status: 'ok',
      detail: `a server answers at ${server.url} and takes the token`,
    });
    const format = `format ${newestSchema()}`;
    expect(here.check('database')).toMatchObject({ status: 'ok', detail: expect.stringContaining(format) });
    const elsewhere = await examine({ ORCHESTRATOR_PORT: port, AUTONOMOUS_DATA: join(place.folder, 'other') });
    expect(elsewhere.check('address')).toMatchObject({
      status: 'missing',
      detail: `another server answers at ${server.url}; that of the data folder ${join(place.folder, 'other')} does not run`,
    });

    const stranger = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    await new Promise((resolve) => stranger.once('listening', resolve));
    const other = await examine({
      ORCHESTRATOR_PORT: String((stranger.address() as AddressInfo).port),
      AUTONOMOUS_DATA: join(place.folder, 'other'),
    });
    stranger.close();
    expect(other.check('address')).toMatchObject({
      status: 'missing',
      detail: expect.stringContaining('another program listens'),
    });
  });

  it('tells what is wrong with data folder, database and configuration at once', async () => {
    const file = join(place.folder, 'file');
    writeFileSync(file, 'no database at all, and long enough to be taken for one by its length alone'.repeat(20));
    const { check } = await examine({ AUTONOMOUS_DATA: join(file, 'data'), DATABASE_URL: `sqlite:${file}` });
    expect(check('data folder')).toMatchObject({
      status: 'missing',
      detail: expect.stringContaining('cannot be written'),
    });
    expect(check('database')).toMatchObject({ status: 'missing', detail: expect.stringContaining('damaged') });
    writeFileSync(join(place.folder, '.env'), 'AUTONOMOUS_TOKN=a-token-of-our-own\n');
    const inClone = { AUTONOMOUS_SCRIPT: SCRIPT, AUTONOMOUS_CWD: place.clone };
    expect((await examine(inClone)).check('configuration')).toMatchObject({
      status: 'optional',
      detail: expect.stringContaining('AUTONOMOUS_TOKN is set, and Autonomous has none of this name'),
    });
    const faulty = await examine({ LOG_LEVEL: 'loud' });
    expect(faulty.check('configuration')).toMatchObject({
      status: 'missing',
      detail: expect.stringContaining('LOG_LEVEL is "loud"'),
    });
  });

  it('prints signs and ways for people', async () => {
    const { stdout } = await place.command(['doctor'], { ORCHESTRATOR_PORT: '0' });
    expect(stdout).toMatch(/^✓ node +Node \d/);
    expect(stdout).toMatch(/^✗ models +no model can be used: .*\n +→ give a key .*ANTHROPIC_API_KEY/m);
    expect(stdout).toMatch(/^– GitHub/m);
  });
});
