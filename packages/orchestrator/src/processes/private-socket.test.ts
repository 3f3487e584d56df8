import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { PrivateSocket } from './private-socket.ts';

let folder: string;
let socket: PrivateSocket;
let taken: Socket[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'sockets-'));
  vi.stubEnv('TMPDIR', folder);
  taken = [];
  socket = new PrivateSocket(() => createServer((client) => taken.push(client)));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const client of taken) client.destroy();
  await socket.close();
  rmSync(folder, { recursive: true, force: true });
});

it('listens again at another path once its folder is removed, and keeps its connections', async () => {
  const [first, again] = await Promise.all([socket.path(), socket.path()]);
  expect(again).toBe(first);
  const former = connect(first);
  await once(former, 'connect');
  rmSync(path.dirname(first), { recursive: true });
  const second = await socket.path();
  expect(second).not.toBe(first);
  const latter = connect(second);
  await once(latter, 'connect');
  await expect.poll(() => taken.length).toBe(2);
  taken[0]?.write('said');
  expect(String((await once(former, 'data'))[0])).toBe('said');
  for (const client of [former, latter]) client.destroy();
  await socket.close();
  expect(readdirSync(folder)).toEqual([]);
});

it.each([
  ['has too long a path', (inside: string) => mkdirSync(inside), 'long'.repeat(20)],
  ['is missing', () => {}, 'missing'],
  ['is a file', (inside: string) => writeFileSync(inside, ''), 'file'],
])('lies in /tmp where TMPDIR %s', async (_what, make, name) => {
  make(path.join(folder, name));
  vi.stubEnv('TMPDIR', path.join(folder, name));
  const at = await socket.path();
  expect(at).toMatch(/^\/tmp\/autonomous-socket-[^/]+\/s$/);
  await socket.close();
  expect(existsSync(path.dirname(at))).toBe(false);
});

it('removes the folders of killed processes, and none that is in use or holds anything else', async () => {
  const aFolder = (name: string): string => {
    const made = path.join(folder, `autonomous-socket-${name}`);
    mkdirSync(made);
    return made;
  };
  const age = (made: string): void => utimesSync(made, 0, 0);
  const [full, killed, used, empty, young] = [aFolder('1'), aFolder('2'), aFolder('3'), aFolder('4'), aFolder('5')];
  writeFileSync(path.join(full, 'note'), '');
  const source = `require('node:net').createServer().listen(process.argv[1], () => console.log('listens'))`;
  const server = spawn(process.execPath, ['--eval', source, path.join(killed, 's')]);
  await once(server.stdout, 'data');
  server.kill('SIGKILL');
  await once(server, 'exit');
  const other = createServer().listen(path.join(used, 's'));
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  for (const made of [full, killed, used, empty]) age(made);
  const own = path.dirname(await socket.path());
  await expect
    .poll(() =>
      readdirSync(folder)
        .map((name) => path.join(folder, name))
        .sort(),
    )
    .toEqual([full, used, young, own].sort());
});
