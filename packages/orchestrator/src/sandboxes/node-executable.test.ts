import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { nodeExecutable } from './node-executable.ts';

it('is the Node that runs the server', async () => {
  expect(nodeExecutable(false, '/nowhere')).toBe(await realpath(process.execPath));
});

it('is the first Node of the PATH where the server runs in an editor', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'node-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink('/bin/sh', path.join(folder, 'node'));
  expect(nodeExecutable(true, `relative:/nowhere:${folder}`)).toBe(await realpath('/bin/sh'));
});
