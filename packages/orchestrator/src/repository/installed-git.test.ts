import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { findInstalledGit } from './installed-git.ts';

it.each([
  ['is not there', null, 0, 'git is not installed: no folder in PATH has it', /^install git/],
  [
    'may not be executed',
    '#!/bin/sh\n',
    0o644,
    /\/git cannot be started \(spawn git EACCES\)$/,
    /^let the server's user/,
  ],
  ['fails', '#!/bin/sh\necho broken >&2; exit 3\n', 0o755, /--version ends with exit code 3: broken$/, /^install git/],
  ['is old', '#!/bin/sh\necho git version 2.11.0\n', 0o755, 'git version 2.11.0', /^install git 2.38/],
])('git that %s is told with the cause and the way out', async (_what, content, mode, detail, way) => {
  const folder = mkdtempSync(join(tmpdir(), 'installed-git-'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  if (content !== null) {
    writeFileSync(join(folder, 'git'), content);
    chmodSync(join(folder, 'git'), mode);
  }
  vi.stubEnv('PATH', folder);
  expect(await findInstalledGit()).toEqual({
    ok: false,
    detail: expect.stringMatching(detail),
    way: expect.stringMatching(way),
  });
});
