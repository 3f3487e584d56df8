/** How commands find the server of their data folder, at whatever port it listens. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { openDataFolder } from '../data-folder.ts';
import { makePlace, type Place } from './program.fixture.ts';

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

const note = () => join(place.data, 'server.json');
const addressIn = (stdout: string): unknown =>
  (JSON.parse(stdout) as { checks: { name: string; detail: string }[] }).checks.find(({ name }) => name === 'address')
    ?.detail;

it('finds the server that uses the data folder at another port than the configured one', async () => {
  const server = await place.serve();
  expect(JSON.parse(readFileSync(note(), 'utf8'))).toEqual({ pid: expect.any(Number), url: server.url });
  expect(statSync(note()).mode & 0o777).toBe(0o600);

  expect(await place.command(['list'])).toMatchObject({ exitCode: 0, stderr: 'There are no runs yet.\n' });
  const keys = await place.command(['keys', 'list']);
  expect([keys.exitCode, keys.stderr]).toEqual([0, '']);
  expect((await place.command(['sign-in'])).stdout).toContain(`${server.url}/auth?code=`);
  expect(addressIn((await place.command(['doctor', '--json'])).stdout)).toBe(
    `a server answers at ${server.url} and takes the token`,
  );
  const run = await place.command(['run', 'Login', '--detach', '--json'], {}, place.clone);
  expect(JSON.parse(run.stdout)).toMatchObject({ originalRequest: 'Login' });

  const second = await place.serve();
  expect(second.output().stderr).toMatch(
    new RegExp(`^Another server \\(pid \\d+\\) is using .* It answers at ${server.url}\\.\\n$`),
  );
  const elsewhere = await place.command(['list'], { AUTONOMOUS_SERVER: 'http://127.0.0.1:9' });
  expect(elsewhere).toMatchObject({
    exitCode: 1,
    stderr: `No Autonomous server answers at http://127.0.0.1:9.\nThe server of the data folder ${place.data} is at ${server.url}: name that address, or leave --server and AUTONOMOUS_SERVER out.\n`,
  });
  expect(
    addressIn((await place.command(['doctor', '--json'], { AUTONOMOUS_SERVER: 'http://127.0.0.1:9' })).stdout),
  ).toBe('no server answers at http://127.0.0.1:9, which AUTONOMOUS_SERVER names');

  await server.stop();
  expect(() => statSync(note())).toThrow('ENOENT');
});

it('does not ask a server that was killed, whose address is still in the folder', async () => {
  const server = await place.serve();
  await server.stop('SIGKILL');
  expect(JSON.parse(readFileSync(note(), 'utf8'))).toMatchObject({ url: server.url });
  // Nothing listens at the configured port.
  const away = { ORCHESTRATOR_PORT: '9' };
  for (const args of [['list'], ['sign-in'], ['run', 'Login', '--project', place.clone]])
    expect((await place.command(args, away)).stderr).toBe(
      `The server of the data folder ${place.data} does not run (it was last at ${server.url}).\nStart it with: npm start\n`,
    );
  expect(await place.command(['keys', 'list'], away)).toMatchObject({
    exitCode: 0,
    stderr: 'No server runs: this is what its next start finds.\n',
  });
});

it('names the data folder alone of a server that was stopped, which leaves no address', async () => {
  const server = await place.serve();
  await server.stop();
  expect(await place.command(['list'], { ORCHESTRATOR_PORT: '9' })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `The server of the data folder ${place.data} does not run.\nStart it with: npm start\n`,
  });
});

it('names the token variable where the server was given its token', async () => {
  await place.serve({ AUTONOMOUS_TOKEN: 'a-token-of-our-own' });
  for (const args of [['list'], ['keys', 'list']])
    expect(await place.command(args)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/The server that runs was given its token: set AUTONOMOUS_TOKEN to the same\.\n$/),
    });
});

it('tells nobody to start or stop a server that is still starting', async () => {
  mkdirSync(place.data);
  writeFileSync(join(place.data, 'token'), `${'t'.repeat(43)}\n`);
  const folder = await openDataFolder(place.data);
  const away = { ORCHESTRATOR_PORT: '9' };
  const reason = `The data folder ${place.data} is in use by process ${process.pid}, which takes no requests yet`;
  for (const args of [['list'], ['keys', 'list']])
    expect(await place.command(args, away)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(reason) });
  expect(addressIn((await place.command(['doctor', '--json'], away)).stdout)).toContain('takes no requests yet');
  folder.release();
});

/** A listener that keeps what it is asked, as another program may have the port of a server that was killed. */
async function strangersServer() {
  const asked: IncomingHttpHeaders[] = [];
  const server = createServer(({ headers, url }, response) => {
    asked.push(headers);
    response.end(url === '/healthz' ? '{"status":"ok"}' : '{"items":[]}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port: String(port),
    tokens: () => asked.flatMap((one) => one.authorization ?? []),
  };
}

it('shows no token to a program that has the port of a killed server, whose process id is in use again', async () => {
  const stranger = await strangersServer();
  mkdirSync(place.data);
  writeFileSync(join(place.data, 'token'), `${'t'.repeat(43)}\n`);
  writeFileSync(note(), JSON.stringify({ pid: process.pid, url: stranger.url }));
  const ask = (...args: readonly string[]) => place.command(args, { ORCHESTRATOR_PORT: '9' });
  const answers = await Promise.all([ask('list'), ask('gates'), ask('sign-in'), ask('doctor', '--json')]);
  // It takes the folder and leaves no note: last.
  for (const { stdout, stderr } of [...answers, await ask('keys', 'list')])
    expect(stdout + stderr).not.toMatch(/fault of the program|[Pp]rocess \d|end (?:that process|it)/);
  const named = await place.command(['list'], { AUTONOMOUS_SERVER: stranger.url });
  expect(named.stderr).toBe(
    `The server at ${stranger.url} is not that of the data folder ${place.data}, and is not shown its token. Set AUTONOMOUS_TOKEN to the token of the server there, or AUTONOMOUS_DATA to its data folder.\n`,
  );
  expect(stranger.tokens()).toEqual([]);
});

it('names the data folder whose server does not run, where another one answers at the configured port', async () => {
  const other = await strangersServer();
  const configured = { ORCHESTRATOR_PORT: other.port };
  mkdirSync(place.data);
  writeFileSync(join(place.data, 'token'), `${'t'.repeat(43)}\n`);
  for (const args of [['list'], ['sign-in']])
    expect(await place.command(args, configured)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `The server of the data folder ${place.data} does not run; another server answers at ${other.url}.\nStart it at a free port with: autonomous serve --port 0\n`,
    });
  expect(addressIn((await place.command(['doctor', '--json'], configured)).stdout)).toBe(
    `another server answers at ${other.url}; that of the data folder ${place.data} does not run`,
  );
  expect(other.tokens()).toEqual([]);
  expect(await place.command(['keys', 'list'], configured)).toMatchObject({
    stderr: 'No server runs: this is what its next start finds.\n',
  });
});
