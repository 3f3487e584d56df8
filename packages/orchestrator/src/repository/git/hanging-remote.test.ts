/** Remotes that accept a connection and never answer: how long each caller waits, and which git processes are left. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { AUTHOR, makeBareRemote, temporaryFolder } from '../git-fixture.fixture.ts';
import { createGitRepository } from '../git-repository.ts';
import { runRemoteGit } from './git.ts';

describe('A remote that never answers', () => {
  let temporary: ReturnType<typeof temporaryFolder>;
  let server: Server;
  let url: string;
  const sockets = new Set<Socket>();
  let asked = Promise.withResolvers<void>();
  beforeEach(async () => {
    temporary = temporaryFolder();
    asked = Promise.withResolvers();
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      asked.resolve();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/shop.git`;
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    temporary.remove();
  });

  const project = () => ({ id: 'p-1', repository: url, baseBranch: 'main' });
  const open = () => createGitRepository({ folder: `${temporary.path}/mirrors`, author: AUTHOR });
  /** Processes of this machine that have the remote's address among their arguments. */
  const gitProcesses = (): string[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
          return command.startsWith('git') || command.includes('git-remote') ? [command] : [];
        } catch {
          return [];
        }
      })
      .filter((command) => command.includes(url));
  const untilNoneIsLeft = async (): Promise<void> => {
    for (const until = Date.now() + 8_000; gitProcesses().length > 0 && Date.now() < until;) await sleep(50);
    expect(gitProcesses()).toEqual([]);
  };

  it('is waited for only as long as the caller wants, and its process ends', async () => {
    const repository = open();
    const giveUp = new AbortController();
    const fetching = repository.fetch(project(), giveUp.signal);
    await asked.promise;
    expect(gitProcesses().length).toBeGreaterThan(0);
    // A later caller waits for the first fetch, and gives up by its own signal.
    const second = repository.fetch(project(), AbortSignal.timeout(200));
    await expect(second).rejects.toThrow(/timeout/i);
    giveUp.abort(new Error('the run was cancelled'));
    await expect(fetching).rejects.toThrow('the run was cancelled');
    await untilNoneIsLeft();
  });

  it('ends with the comparison of its record, and those behind it go on', async () => {
    const repository = open();
    const giveUp = new AbortController();
    const comparing = repository.fetchRecord(project(), giveUp.signal);
    await asked.promise;
    giveUp.abort(new Error('its remote did not answer'));
    await expect(comparing).rejects.toThrow('its remote did not answer');
    await untilNoneIsLeft();
  });

  it('counts as unavailable after half a minute without an answer', async () => {
    const started = performance.now();
    await expect(open().fetch(project())).rejects.toMatchObject({ reason: 'remote_unavailable' });
    expect(performance.now() - started).toBeLessThan(75_000);
    await untilNoneIsLeft();
  });

  it('is away after the limit of a question', async () => {
    const place = { gitDir: makeBareRemote(`${temporary.path}/own.git`), home: temporary.path };
    const args = ['ls-remote', '--', url];
    expect(await runRemoteGit(place, { args, transport: 'http', config: [], limitMs: 500 })).toEqual({ silent: true });
    await untilNoneIsLeft();
  });

  it('is not signalled on this machine, where it may be making a lock', async () => {
    const { path } = temporary;
    const remote = makeBareRemote(`${path}/remote.git`);
    mkdirSync(`${remote}/hooks`, { recursive: true });
    const hook = `#!/bin/sh\ntrap 'touch ${path}/signalled' TERM\ntouch ${path}/begun\nsleep 1\ntouch ${path}/ended\n`;
    writeFileSync(`${remote}/hooks/pre-receive`, hook, { mode: 0o755 });
    const giveUp = new AbortController();
    const args = ['push', '--', remote, 'main:other'];
    const place = { gitDir: remote, home: path };
    const pushing = runRemoteGit(place, { args, transport: 'local', config: [], signal: giveUp.signal });
    const until = (file: string): Promise<void> =>
      vi.waitFor(() => expect(existsSync(`${path}/${file}`)).toBe(true), 10_000);
    await until('begun');
    giveUp.abort(new Error('cancelled'));
    await expect(pushing).rejects.toThrow('cancelled');
    await until('ended');
    expect(existsSync(`${path}/signalled`)).toBe(false);
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)('leaves no git process behind a server that ends by %s', async (signal) => {
    const other = startOther();
    await asked.promise;
    other.kill(signal);
    const stderr = (await new Response(other.stderr as never).text()).replaceAll(/.*ExperimentalWarning.*\n/g, '');
    await untilNoneIsLeft();
    expect(stderr).not.toContain('EPIPE');
  });

  /** Another program that fetches from the remote. */
  function startOther(): ChildProcess {
    const program = `
      const { createGitRepository } = await import(${JSON.stringify(new URL('../git-repository.ts', import.meta.url).href)});
      const repository = createGitRepository({ folder: ${JSON.stringify(`${temporary.path}/others`)}, author: { name: 'a', email: 'a@example.test' } });
      await repository.fetch(${JSON.stringify(project())});
    `;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }
});
