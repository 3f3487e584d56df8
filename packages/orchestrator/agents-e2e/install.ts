/** Brings an agent here when it is first needed: it belongs to no install of the workspace. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The folder that holds an agent's `node_modules`. */
export function folderOf(agent: string): string {
  return path.join(import.meta.dirname, agent);
}

/**
 * Installs what the agent's lockfile names, unless it is there.
 * @throws with npm's first words
 */
export function installAgent(agent: string): void {
  const folder = folderOf(agent);
  const stamp = path.join(folder, 'node_modules', '.install-stamp');
  const wanted = createHash('sha256')
    .update(readFileSync(path.join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  process.stdout.write(`installing ${agent} (once)\n`);
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
      cwd: folder,
      env: { ...process.env, PATH: systemPath() },
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    });
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    throw new Error(`npm ci failed: ${(stderr || message).trim().slice(0, 1_000)}`, { cause: error });
  }
  writeFileSync(stamp, wanted);
}

/** Without the pinned Node: npm finds its own settings, such as certificates, beside the Node that it came with. */
function systemPath(): string {
  const pinned = path.join(import.meta.dirname, '..', '..', '..', 'tools', 'toolchain', 'bin');
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return folders.filter((folder) => path.resolve(folder) !== pinned).join(path.delimiter);
}
