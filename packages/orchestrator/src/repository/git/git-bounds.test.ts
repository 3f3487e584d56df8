/** git commands that take too long, or whose activity is cancelled: real git in a real repository. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { runGit } from './git.ts';
import { beyondGitBounds, withinGitBounds } from './git-bounds.ts';
import { createIgnoreMatcher, withoutTooWild } from '../checkout/ignore-matcher.ts';

const home = mkdtempSync(join(tmpdir(), 'autonomous-bounds-'));
const place = { gitDir: join(home, 'x.git'), home };
execFileSync('git', ['init', '-q', '--bare', place.gitDir]);
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A command of git's that starts another process and does not end; the figure tells it from others on this machine. */
let figure = 100_000 + process.pid;
function hanging(): { readonly args: readonly string[]; readonly isRunning: () => boolean } {
  const seconds = String((figure += 1));
  return {
    args: ['-c', `alias.hang=!sleep ${seconds}`, 'hang'],
    isRunning: () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(`sleep ${seconds}\n`),
  };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(20);
}

it('a git command ends with its activity, and so does what it started', async () => {
  const { args, isRunning } = hanging();
  const cancelled = new AbortController();
  const running = withinGitBounds(cancelled.signal, () => runGit(place, { args })).catch((error: unknown) => error);
  await until(isRunning);
  const reason = new Error('cancelled');
  cancelled.abort(reason);
  expect(await running).toBe(reason);
  await until(() => !isRunning());
});

it('a git command that others wait for outlives the activity that asked for it', async () => {
  const cancelled = new AbortController();
  const asked = withinGitBounds(cancelled.signal, () => beyondGitBounds(() => runGit(place, { args: ['version'] })));
  cancelled.abort(new Error('cancelled'));
  expect((await asked).stdout.toString()).toContain('git version');
});

it('a git command that takes longer than it may is ended with what it started', async () => {
  const { args, isRunning } = hanging();
  await expect(runGit(place, { args, timeoutMs: 300 })).rejects.toThrow('git -c ended');
  await until(() => !isRunning());
});

it('patterns that hold ** too often are passed over, others are kept as they are', async () => {
  const wild = `${'**/a*/'.repeat(13)}b`;
  expect(withoutTooWild(Buffer.from(`dist/\n${wild}\n**/x/**/y\n`))).toEqual({
    rules: Buffer.from('dist/\n**/x/**/y\n'),
    left: [wild],
  });
  await expect(createIgnoreMatcher(place, join(home, 'shadow'), [wild])).rejects.toThrow('more than 4 times **');
});
