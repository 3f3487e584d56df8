/** Brings what a locked folder names, by pnpm, when a script first needs it: it belongs to no install of the workspace. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Installs what `pnpm-lock.yaml` of the folder names, unless it is there. No install script runs.
 * @param {string} folder
 * @returns {string} its folder of executables
 * @throws {Error} when pnpm fails; its own words are on stderr
 */
export function installLocked(folder) {
  const executables = path.join(folder, 'node_modules', '.bin');
  const stamp = path.join(folder, 'node_modules', '.install-stamp');
  const lock = readFileSync(path.join(folder, 'pnpm-lock.yaml'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return executables;
  console.error(`[setup] fetching ${path.basename(folder)} (once)`);
  const { status, error } = spawnSync(
    'pnpm',
    ['install', '--ignore-workspace', '--frozen-lockfile', '--ignore-scripts', '--reporter=append-only'],
    { cwd: folder, stdio: ['ignore', 2, 2] },
  );
  if (status !== 0) throw new Error(`pnpm install failed in ${folder}${error ? `: ${error.message}` : ''}`);
  writeFileSync(stamp, wanted);
  return executables;
}
