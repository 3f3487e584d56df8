import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askLaunched, launchGit } from './git-launcher.ts';

const MUCH_BYTES = 17_000_000;
const env = { PATH: process.env['PATH'] ?? '' };
const gitDir = mkdtempSync(path.join(tmpdir(), 'git-launcher-'));

beforeAll(() => git(['init', '--quiet', '--bare', '.']));
afterAll(() => rmSync(gitDir, { recursive: true, force: true, maxRetries: 5 }));

describe('The process that starts git is another one, as each start costs in proportion to its memory,', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['input', () => git(['hash-object', '--stdin'], Buffer.alloc(MUCH_BYTES))],
    ['output', () => git(['-c', `alias.much=!head -c ${MUCH_BYTES} /dev/zero`, 'much'])],
    [
      'objects',
      async () => {
        const name = await git(['hash-object', '-w', '--stdin'], Buffer.alloc(MUCH_BYTES / 2));
        const requests = [{ name, withContent: true }];
        await askLaunched({ gitDir, env: { ...env, GIT_DIR: gitDir }, requests, timeoutMs: 60_000 });
      },
    ],
  ])('after much %s; what is under way in it comes to its end', async (_what, carryMuch) => {
    const first = await launcherOfGit();
    expect(await launcherOfGit()).toBe(first);
    const goOn = path.join(gitDir, `go-on-${first}`);
    const long = git(['-c', `alias.long=!until [ -e '${goOn}' ]; do sleep 0.1; done; echo heard`, 'long']);
    await carryMuch();
    expect(await launcherOfGit()).not.toBe(first);
    expect(isAlive(first)).toBe(true);
    writeFileSync(goOn, '');
    expect(await long).toBe('heard');
    await expect.poll(() => isAlive(first)).toBe(false);
  });
});

async function git(args: readonly string[], input: string | Uint8Array = ''): Promise<string> {
  const { stdout } = await launchGit({ args, cwd: gitDir, env, input });
  return Buffer.from(stdout).toString('utf8').trim();
}

async function launcherOfGit(): Promise<number> {
  return Number(await git(['-c', 'alias.launcher=!ps -o ppid= -p $PPID', 'launcher']));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
