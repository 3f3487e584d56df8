import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { aServer, type AServer } from './a-server.fixture.ts';
import { LocalServer } from './local-server.ts';

let own: AServer | undefined;
afterEach(() => own?.remove());

describe('The local server', () => {
  it('is started, says where it is with its token, and is ended', async () => {
    own = await aServer();
    const url = await own.start();
    expect(own.server.state).toBe('running');
    const place = await own.server.place();
    expect(place).toEqual({ url, token: expect.stringMatching(/^\S{20,}$/) });
    const answer = await fetch(`${url}/api/me`, { headers: { Authorization: `Bearer ${place?.token}` } });
    expect(answer.status).toBe(200);
    await own.server.stop();
    expect(await own.server.place().then((gone) => gone ?? 'none')).toBe('none');
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
    expect(own.states).toEqual(['starting', 'running', 'stopped']);
    expect(own.lines.join('\n')).toContain('Autonomous is running');
  });

  it('ends with the process that started it, however that one goes, unless it is let go', async () => {
    own = await aServer();
    for (const [word, lives] of [
      ['', false],
      ['server.leave();', true],
    ] as const) {
      const program = `
        import { LocalServer } from ${JSON.stringify(new URL('local-server.ts', `file://${import.meta.dirname}/`).href)};
        const server = new LocalServer({ logFile: ${JSON.stringify(path.join(own.folder, `log${word}`))}, onState() {}, onLine() {} });
        const sleeps = 'console.log("  address  http://127.0.0.1:1"); console.log("  pid " + process.pid); console.log("  token    as set"); setInterval(() => {}, 1000)';
        server.start({ program: process.execPath, args: ['-e', sleeps], folder: ${JSON.stringify(own.folder)} }).then(() => {
          ${word}
          console.log('up');
        });
        setInterval(() => {}, 1000);`;
      const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(holder.stdout, 'data');
      const said = await readFile(path.join(own.folder, `log${word}`), 'utf8');
      const pid = Number(/pid (\d+)/.exec(said)?.[1]);
      expect(isAlive(pid)).toBe(true);
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      if (!lives) await expect.poll(() => isAlive(pid)).toBe(false);
      else {
        // As long as the other one took to end, and more.
        await new Promise((resolve) => setTimeout(resolve, 500));
        expect(isAlive(pid)).toBe(true);
        process.kill(pid, 'SIGKILL');
      }
    }
  });

  it('is not started twice', async () => {
    own = await aServer();
    await own.start();
    await expect(own.start()).rejects.toThrow('started already');
  });

  it.each([
    ['a program that is not there', 'no-such-program', [], /'no-such-program' was not found/],
    [
      'one that ends at once',
      process.execPath,
      ['-e', 'console.log("the port is taken"); process.exit(3)'],
      /\(3\).*the port is taken/s,
    ],
  ])('says why it did not come up: %s', async (_what, program, args, why) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-extension-'));
    const server = new LocalServer({ logFile: path.join(folder, 'log'), onState: () => {}, onLine: () => {} });
    await expect(server.start({ program, args, folder })).rejects.toThrow(why);
    expect(server.state).toBe('stopped');
    await rm(folder, { recursive: true });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
