/** Brings what a locked folder names, when a script first needs it: it belongs to no install of the workspace. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const PNPM = ['install', '--ignore-workspace', '--frozen-lockfile', '--ignore-scripts', '--reporter=append-only'];
const NPM = ['--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'];

/**
 * Installs what the folder's lockfile names, unless it is there: by pnpm for `pnpm-lock.yaml`, by npm for
 * `package-lock.json`. No install script runs.
 * @param {string} folder
 * @param {readonly string[]} inner folders below it with a lockfile and dependencies of their own, which a package's
 *   install script would have brought
 * @returns {string} its folder of executables
 * @throws {Error} when the installer fails; its own words are on stderr
 */
export function installLocked(folder, inner = []) {
  const executables = path.join(folder, 'node_modules', '.bin');
  const stamp = path.join(folder, 'node_modules', '.install-stamp');
  const isNpm = existsSync(path.join(folder, 'package-lock.json'));
  const lock = readFileSync(path.join(folder, isNpm ? 'package-lock.json' : 'pnpm-lock.yaml'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return executables;
  console.error(`[setup] fetching ${path.basename(folder)} (once)`);
  if (isNpm) install('npm', ['ci', ...NPM], folder, { ...process.env, PATH: pathOfSystem() });
  else install('pnpm', PNPM, folder, process.env);
  for (const below of inner) {
    // `npm ci` wants a lockfile without a gap; of one that was published with gaps, `install` takes what it names.
    install('npm', ['install', ...NPM], path.join(folder, below), { ...process.env, PATH: pathOfSystem() });
  }
  writeFileSync(stamp, wanted);
  return executables;
}

function install(tool, args, cwd, env) {
  const { status, error } = spawnSync(tool, args, { cwd, env, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${tool} ${args[0]} failed in ${cwd}${error ? `: ${error.message}` : ''}`);
}

/** Without the pinned Node: npm finds its own settings, such as certificates, beside the Node that it came with. */
function pathOfSystem() {
  const pinned = path.join(import.meta.dirname, 'toolchain', 'bin');
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.filter((folder) => path.resolve(folder) !== pinned).join(path.delimiter);
}
