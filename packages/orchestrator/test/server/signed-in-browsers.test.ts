/** Browsers that are signed in, across the death of the server: as processes, on the files that they leave. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@autonomous/shared/client';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.fixture.ts';

const DAY_MS = 24 * 60 * 60_000;

let folder: string;
let data: string;
let server: ServerProcess;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'browsers-'));
  data = path.join(folder, 'data');
  server = await start();
});
afterEach(async () => {
  await server.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** On any free port, so that a server is never where the one before it was. */
function start(): Promise<ServerProcess> {
  return startServerProcess({ dataFolder: data, port: '0', env: { PATH: process.env['PATH'] ?? '', HOME: folder } });
}

async function restart(whileItIsDown: () => unknown = () => undefined): Promise<void> {
  await server.end('SIGKILL');
  await whileItIsDown();
  server = await start();
}

async function signIn(): Promise<string> {
  const link = await createClient({ baseUrl: server.url, token: server.token }).createSignInLink();
  const answer = await fetch(link, { redirect: 'manual' });
  return cookieOf(answer) ?? 'none';
}

function cookieOf(answer: Response): string | undefined {
  return answer.headers.get('set-cookie')?.split(';', 1)[0];
}

function ask(Cookie: string, route = '/api/me', init: RequestInit = {}): Promise<Response> {
  return fetch(server.url + route, { ...init, headers: { Cookie } });
}

function changeDatabase(sql: string, ...values: readonly unknown[]): void {
  const database = new Database(path.join(data, 'orchestrator.db'));
  database.prepare(sql).run(...values);
  database.close();
}

it('stay signed in when the server is killed and comes back on another port', async () => {
  const cookies = [await signIn(), await signIn()];
  await restart();
  cookies.push(await signIn());
  await restart();
  for (const cookie of cookies) expect(await (await ask(cookie)).json()).toEqual({ userId: 'local' });
  expect(new Set(cookies.map((cookie) => cookie.split('=')[0])).size).toBe(1);
});

it('are not signed in any more after they signed out, also when the server is killed at once', async () => {
  const [mine, other] = [await signIn(), await signIn()];
  expect((await ask(mine, '/api/sign-out', { method: 'POST' })).status).toBe(200);
  await restart();
  expect([(await ask(mine)).status, (await ask(other)).status]).toEqual([401, 200]);
});

it('are not signed in any more once their session has expired, and it is removed with the next sign-in', async () => {
  const cookie = await signIn();
  await restart(() => changeDatabase('UPDATE browser_sessions SET expires_at = ?', Date.now()));
  expect((await ask(cookie)).status).toBe(401);
  await signIn();
  const database = new Database(path.join(data, 'orchestrator.db'), { readonly: true });
  expect(database.prepare('SELECT count(*) FROM browser_sessions').pluck().get()).toBe(1);
  database.close();
});

it('stay signed in as long as they come back: cookie and session are renewed, once a day', async () => {
  const cookie = await signIn();
  expect((await ask(cookie)).headers.get('set-cookie')).toBeNull();
  await restart(() => changeDatabase('UPDATE browser_sessions SET expires_at = ?', Date.now() + DAY_MS));
  const answer = await ask(cookie);
  expect(cookieOf(answer)).toBe(cookie);
  expect(answer.headers.get('set-cookie')).toMatch(/Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/);
  expect((await ask(cookie)).headers.get('set-cookie')).toBeNull();
  await restart();
  expect((await ask(cookie)).status).toBe(200);
});

it('are not signed in any more when the server has another token', async () => {
  const cookie = await signIn();
  await restart(() => rm(path.join(data, 'token')));
  expect((await ask(cookie)).status).toBe(401);
  expect((await ask(await signIn())).status).toBe(200);
});

it('leave nothing on the disk that would sign anybody in', async () => {
  const secret = (await signIn()).split('=')[1] ?? 'none';
  expect(secret).toMatch(/^[\w-]{43}$/);
  await server.end('SIGKILL');
  for (const file of ['orchestrator.db', 'orchestrator.db-wal']) {
    expect((await readFile(path.join(data, file))).includes(secret)).toBe(false);
  }
});
