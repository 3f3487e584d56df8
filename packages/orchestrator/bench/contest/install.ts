/** Brings the peers here when they are first needed: they belong to no install of the workspace. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const FOLDER = path.join(import.meta.dirname, '..', 'peers');
const LOCK = path.join(FOLDER, 'package-lock.json');
/** What it says later is advice. */
const FIRST_LINES = 5;
const STAMP = path.join(FOLDER, 'node_modules', '.install-stamp');

/**
 * Installs what the lockfile in `peers/` names, unless it is there.
 * @throws with npm's first words
 */
export function installPeers(): void {
  const wanted = createHash('sha256').update(readFileSync(LOCK)).digest('hex');
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return;
  console.error('[peers] installing the other engines (500 MB, once)');
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
      cwd: FOLDER,
      env: { ...process.env, PATH: systemPath() },
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    });
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    const words = (stderr || message)
      .replaceAll('npm error', '')
      .split('\n')
      .map((line) => line.trim());
    throw new Error(`npm ci failed: ${words.filter(Boolean).slice(0, FIRST_LINES).join(', ')}`, { cause: error });
  }
  writeFileSync(STAMP, wanted);
}

/** Without the pinned Node: npm finds its own settings, such as certificates, beside the Node that it came with. */
function systemPath(): string {
  const pinned = path.join(import.meta.dirname, '..', '..', '..', '..', 'tools', 'toolchain', 'bin');
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return folders.filter((folder) => path.resolve(folder) !== pinned).join(path.delimiter);
}
