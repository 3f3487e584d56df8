/** The list of modules that this machine's Python finds. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Sandbox } from '../../sandboxes/sandbox.ts';
import { reportersDigest, startReporting } from './test-reporting.ts';

it('lists modules that Python finds outside of the project, and none of the project', async (context) => {
  if (spawnSync('python3', ['--version']).status !== 0) context.skip('python3 is not installed');
  const folder = await mkdtemp(path.join(tmpdir(), 'modules-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(path.join(folder, 'sums.py'), '');
  await writeFile(path.join(folder, 'bdb.py'), 'raise SystemExit(1)\n');
  // The part of a sandbox that is needed here.
  const sandbox = {
    run: async ({ command }: { readonly command: string }) =>
      spawnSync('/bin/sh', ['-c', command], { cwd: folder, encoding: 'utf8' }),
  } as unknown as Sandbox;
  const names = await startReporting({ name: 'none' }).installed(sandbox);
  expect(names).toEqual(expect.arrayContaining(['bdb', 'json', 'unittest']));
  expect(names).not.toContain('sums');
});

it('has a digest of its reporters, so that counts of others are not compared with theirs', () => {
  expect(reportersDigest()).toMatch(/^[0-9a-f]{64}$/);
});
