import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makePlace, type Place } from './program.fixture.ts';
import { readableLine } from './serve.ts';

const SUPERVISOR_KILLS_MS = 10_000;

let place: Place;

beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

describe('serve', () => {
  it('says where it listens, how to sign in, where its data lies and how sandbox and models are', async () => {
    const server = await place.serve();
    const { stdout } = server.output();
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    expect(stdout).toContain(`data     ${place.data}`);
    expect(stdout).toContain(`token    in ${join(place.data, 'token')}`);
    expect(stdout).toMatch(/sandbox {2}bubblewrap started a sandbox/);
    expect(stdout).toContain('all roles: scripted:demo (scripted)');
    const link = /sign in +(\S+)/.exec(stdout)?.[1] ?? '';
    const signedIn = await fetch(link, { redirect: 'manual' });
    expect([signedIn.status, signedIn.headers.get('set-cookie')]).toEqual([303, expect.stringContaining('HttpOnly')]);
  });

  it('warns of a variable that is nearly one of its own', async () => {
    const server = await place.serve({ BLOCKED_LIMIT_SECOND: '30' });
    expect(server.output().stderr).toMatch(
      /"level":40.*BLOCKED_LIMIT_SECOND is set.*Was BLOCKED_LIMIT_SECONDS meant\?/,
    );
  });

  it('says that git is missing, and is not ready', async () => {
    const server = await place.serve({ PATH: place.data });
    expect(server.output().stdout).toMatch(/git {6}none, runs will fail: git is not installed: .*; install git/);
    const answer = await fetch(`${server.url}/readyz`);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      expect.objectContaining({
        checks: expect.arrayContaining([expect.objectContaining({ name: 'git', ok: false })]),
      }),
    ]);
  });

  it('says what to do when no model has a key', async () => {
    const server = await place.serve({ AUTONOMOUS_SCRIPT: '' });
    expect(server.output().stdout).toMatch(
      /models {3}no model can be used: .*\n +give a key .*ANTHROPIC_API_KEY.* or try: npm run demo/,
    );
  });

  it('without a model refuses a run before its project is added', async () => {
    const server = await place.serve({ AUTONOMOUS_SCRIPT: '' });
    const refused = await place.command(['run', 'Greet'], { AUTONOMOUS_SERVER: server.url }, place.clone);
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr.split('No model can be used yet')).toHaveLength(2);
    expect(refused.stderr).toMatch(/Roles without a model: .*planner/);
    expect(refused.stderr).toContain('No run was started, and no project was added.');
    await server.stop();
    const database = new Database(join(place.data, 'orchestrator.db'), { readonly: true });
    expect(database.prepare('SELECT count(*) AS projects FROM projects').get()).toEqual({ projects: 0 });
    database.close();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 at %s, before a supervisor loses patience', async (signal) => {
    const server = await place.serve();
    const client = new WebSocket(`${server.url.replace('http', 'ws')}/ws`);
    client.onerror = () => undefined;
    const startedAt = performance.now();
    const { exitCode, stderr } = await server.stop(signal);
    expect(performance.now() - startedAt).toBeLessThan(SUPERVISOR_KILLS_MS);
    expect(exitCode).toBe(0);
    expect(
      stderr
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { msg: string }).msg),
    ).toContain('stopped');
  });

  it('ends with 0 at SIGTERM while an agent works, and takes the run up at the next start', async () => {
    const server = await place.serve();
    const started = await place.command(
      ['run', 'Login', '--detach', '--json', '--server', server.url],
      {},
      place.clone,
    );
    const { id } = JSON.parse(started.stdout) as { id: string };
    const startedAt = performance.now();
    expect((await server.stop()).exitCode).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(SUPERVISOR_KILLS_MS);
    const next = await place.serve();
    const watched = await place.command(['watch', id, '--server', next.url]);
    expect(watched.stdout).toContain('● plan gate');
  });

  it('refuses a data folder that another server uses, by its process id', async () => {
    const first = await place.serve();
    const second = await place.serve();
    expect(second.output()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^Another server \(pid \d+\) is using the data folder .*data\. Stop it first/),
    });
    expect((await first.stop()).exitCode).toBe(0);
  });

  it('refuses a port that is in use, and names the way out', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const server = await place.serve({}, ['--port', String(port)]);
    other.close();
    expect(server.output()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`Port ${port} on 127.0.0.1 is in use`),
    });
  });

  it('refuses a data folder that cannot be made', async () => {
    writeFileSync(join(place.folder, 'file'), '');
    const server = await place.serve({ AUTONOMOUS_DATA: join(place.folder, 'file', 'data') });
    const { exitCode, stderr } = server.output();
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('cannot be made or written (ENOTDIR). Name another'),
    ]);
  });

  it('refuses a folder that lets nothing be made in it, without trying for ever', async () => {
    const server = await place.serve({}, ['--port', '0', '--data', '/proc/autonomous']);
    expect(server.output()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('/proc/autonomous cannot be made'),
    });
  });

  it.each([
    [99, /orchestrator\.db has format 99, and this program reads format 9\. A newer version of this program wrote it/],
    [
      8,
      /orchestrator\.db has format 8, and this program reads format 9\. The last commit of this program that reads it is 3b643746/,
    ],
  ])('refuses a database of format %i by name, and so do commands that find no server', async (format, message) => {
    await (await place.serve()).stop();
    const database = new Database(join(place.data, 'orchestrator.db'));
    database.pragma(`user_version = ${format}`);
    database.close();
    expect((await place.serve()).output()).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(message) });
    const fork = await place.command(['fork', 'r-1', '--at', '1'], {}, place.clone);
    expect(fork.stderr).toMatch(message);
    expect(fork.stderr).not.toContain('Start it with');
  });

  it('tells all faults of the configuration at once, without secrets, and ends with 64', async () => {
    const server = await place.serve({ ORCHESTRATOR_HOST: '0.0.0.0', LOG_LEVEL: 'loud', GITHUB_TOKEN: 'two words' });
    const { exitCode, stderr } = server.output();
    expect(exitCode).toBe(64);
    expect(stderr).toMatch(/has 3 faults:/);
    for (const name of ['ORCHESTRATOR_HOST', 'LOG_LEVEL', 'GITHUB_TOKEN']) expect(stderr).toContain(name);
    expect(stderr).not.toMatch(/two words|\n\s+at /);
  });

  it("takes --data from the person's folder and the server's variables from a .env file where it starts", async () => {
    mkdirSync(join(place.folder, 'there'));
    writeFileSync(join(place.folder, '.env'), 'LOG_LEVEL=silent\nNODE_TLS_REJECT_UNAUTHORIZED=0\n');
    const server = await place.serve({ AUTONOMOUS_CWD: join(place.folder, 'there') }, [
      '--port',
      '0',
      '--data',
      'here',
    ]);
    expect(server.output()).toMatchObject({
      stdout: expect.stringContaining(`data     ${join(place.folder, 'there', 'here')}`),
      stderr: '',
    });
  });
});

describe('a line of the log on a terminal', () => {
  it('is one line with its facts, whatever the message holds', () => {
    const json = JSON.stringify({
      level: 50,
      time: Date.UTC(2030, 0, 1, 12, 0, 5),
      pid: 1,
      hostname: 'h',
      runId: 'r-1',
      err: { message: 'no such\ntable\u001b[2J', stack: 'Error: …' },
      msg: 'a request failed',
    });
    expect(readableLine(json)).toMatch(/^\d\d:00:05 {2}error {2}a request failed: no such table {2}runId=r-1$/);
  });
});
