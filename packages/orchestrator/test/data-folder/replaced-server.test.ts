/** A server that lost its database to another one, as a process: it writes no more, says why, and ends. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@autonomous/shared/client';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.fixture.ts';

let folder: string;
let server: ServerProcess;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'replaced-'));
  server = await startServerProcess({
    dataFolder: path.join(folder, 'data'),
    port: '0',
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
  });
});
afterEach(async () => {
  await server.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

it('a second server on the same data refuses to start and names the first', async () => {
  const second = startServerProcess({
    dataFolder: path.join(folder, 'data'),
    port: '0',
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
  });
  await expect(second).rejects.toThrow(/Another server \(pid \d+\) is using the data folder .*data/);
});

it('a second server with a database of its own refuses the same data folder, and the work in it stays', async () => {
  const work = path.join(folder, 'data', 'work', 'a-run', 'file');
  await mkdir(path.dirname(work), { recursive: true });
  await writeFile(work, 'half done');
  const second = startServerProcess({
    dataFolder: path.join(folder, 'data'),
    port: '0',
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, DATABASE_URL: `sqlite:${path.join(folder, 'other.db')}` },
  });
  await expect(second).rejects.toThrow(/Another server \(pid \d+\) is using the data folder/);
  expect(await readFile(work, 'utf8')).toBe('half done');
});

it('a server whose lease another one has taken stores nothing any more, says so and ends', async () => {
  const repository = path.join(folder, 'project.git');
  const git = promisify(execFile);
  await git('git', ['init', '-q', '-b', 'main', repository]);
  await git('git', [
    '-C',
    repository,
    '-c',
    'user.name=a',
    '-c',
    'user.email=a@b',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    '1',
  ]);
  const other = new Database(path.join(folder, 'data', 'orchestrator.db'));
  // What the start of another server does, on a machine where the lock did not hold.
  other.prepare("UPDATE marks SET value = value + 1 WHERE name = 'store.epoch'").run();
  const client = createClient({ baseUrl: server.url, token: server.token });
  await expect(client.createProject({ name: 'late', repository })).rejects.toThrow('Another server has opened');
  expect(await server.ended).toEqual({ code: 1, signal: null });
  expect(server.log()).toContain('Another server has opened');
  expect(other.prepare('SELECT count(*) FROM projects').pluck().get()).toBe(0);
  other.close();
});
