import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { launchGit } from './git-launcher.ts';

const env = { PATH: process.env['PATH'] ?? '' };

describe('The process that starts git', () => {
  it('is another one after it has carried much, as each start costs in proportion to its memory', async () => {
    const first = await launcherOfGit();
    expect(await launcherOfGit()).toBe(first);
    const long = git(['-c', 'alias.long=!sleep 1; echo heard', 'long']);
    await git(['hash-object', '--stdin'], Buffer.alloc(17 * 1024 * 1024));
    expect(await launcherOfGit()).not.toBe(first);
    expect(await long).toBe('heard');
    await expect.poll(() => isAlive(first)).toBe(false);
  });
});

async function git(args: readonly string[], input: string | Uint8Array = ''): Promise<string> {
  const { stdout } = await launchGit({ args, cwd: tmpdir(), env, input });
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
