/** A stale dashboard is built in half a minute, before the server says anything. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const root = path.join(import.meta.dirname, '..');

it('says that the dashboard is built, and nothing where it is up to date', () => {
  const copy = mkdtempSync(path.join(tmpdir(), 'dashboard-'));
  onTestFinished(() => rmSync(copy, { recursive: true }));
  for (const folder of ['packages/ui/src', 'packages/shared/src'])
    mkdirSync(path.join(copy, folder), { recursive: true });
  for (const file of ['packages/ui/build.mjs', 'tools/carried-packages.mjs', 'pnpm-lock.yaml'])
    cpSync(path.join(root, file), path.join(copy, file));
  symlinkSync(path.join(root, 'packages/ui/node_modules'), path.join(copy, 'packages/ui/node_modules'));
  const build = () =>
    spawnSync(process.execPath, [path.join(copy, 'packages/ui/build.mjs'), '--if-stale'], { encoding: 'utf8' });
  // There are no sources that it could be built from.
  expect(build().stderr).toMatch(/^\[setup\] building the dashboard; this takes about half a minute\n/);
  const hash = createHash('sha256');
  for (const file of ['packages/ui/build.mjs', 'pnpm-lock.yaml']) hash.update(readFileSync(path.join(copy, file)));
  mkdirSync(path.join(copy, 'packages/ui/dist/app'), { recursive: true });
  writeFileSync(path.join(copy, 'packages/ui/dist/app/.stamp'), hash.digest('hex'));
  expect(build()).toMatchObject({ status: 0, stdout: '', stderr: '' });
});
