#!/usr/bin/env node
/**
 * Runs a command of this workspace under the Node and pnpm that the workspace pins.
 * Needs only a system Node ≥ 20 with npm; everything else comes from the npm registry, once.
 *
 * Usage: node tools/run.mjs COMMAND [ARGUMENT ...]
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const toolchain = path.join(root, 'tools', 'toolchain');
const bin = path.join(toolchain, 'bin');
const NEWEST_SYSTEM_NODE_NEEDED = 24;

// What npm puts into the environment of its scripts would reconfigure the npm and pnpm started from here.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|NODE$|INIT_CWD$)/i.test(name)),
);
environment.TURBO_TELEMETRY_DISABLED = '1';
environment.DO_NOT_TRACK = '1';
// The folder that the person stands in; the command itself runs at the workspace's root.
environment.AUTONOMOUS_CWD = process.env.INIT_CWD ?? process.cwd();

ensureToolchain();
environment.PATH = bin + path.delimiter + environment.PATH;
ensureDependencies();
environment.PATH = path.join(root, 'node_modules', '.bin') + path.delimiter + environment.PATH;

const [command, ...args] = process.argv.slice(2);
if (!command) fail('Usage: node tools/run.mjs COMMAND [ARGUMENT ...]');
run(command, args, root);

function ensureToolchain() {
  const wanted = `${hashOf(path.join(toolchain, 'package-lock.json'))} ${process.platform}-${process.arch}`;
  const stamp = path.join(bin, '.stamp');
  if (isStamped(stamp, wanted)) return;
  console.error('[setup] fetching the pinned Node and pnpm');
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], toolchain);
  const target = `${process.platform}-${process.arch}`;
  const node = installed(`node-${target}`) ?? systemNode(target);
  const pnpm = installed(`@pnpm/exe.${target}`) ?? fail(unsupported(target, 'pnpm'));
  rmSync(bin, { recursive: true, force: true });
  mkdirSync(bin);
  symlinkSync(node.endsWith('node') ? node : path.join(node, 'bin', 'node'), path.join(bin, 'node'));
  symlinkSync(path.join(pnpm, 'pnpm'), path.join(bin, 'pnpm'));
  writeFileSync(stamp, wanted);
}

function ensureDependencies() {
  const wanted = hashOf(path.join(root, 'pnpm-lock.yaml'));
  const stamp = path.join(root, 'node_modules', '.install-stamp');
  if (isStamped(stamp, wanted)) return;
  console.error('[setup] installing dependencies');
  run(path.join(bin, 'pnpm'), ['install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only'], root, 2);
  writeFileSync(stamp, wanted);
}

function installed(name) {
  const folder = path.join(toolchain, 'node_modules', name);
  return existsSync(folder) ? folder : undefined;
}

/** Platforms without a Node build on the registry (macOS) use the system's own when it is new enough. */
function systemNode(target) {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < NEWEST_SYSTEM_NODE_NEEDED) fail(unsupported(target, 'Node'));
  return process.execPath;
}

function unsupported(target, what) {
  return `[setup] the npm registry has no pinned ${what} for ${target}. Install Node ≥ ${NEWEST_SYSTEM_NODE_NEEDED} and try again.`;
}

function hashOf(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function isStamped(file, value) {
  return existsSync(file) && readFileSync(file, 'utf8') === value;
}

/** Ends this process with the command's own exit code when that is not 0. `stdoutTo` 2 keeps set-up chatter off stdout. */
function run(command, args, cwd, stdoutTo = 'inherit') {
  const result = spawnSync(command, args, { stdio: ['inherit', stdoutTo, 'inherit'], cwd, env: environment });
  if (result.error) fail(`[setup] cannot start ${command}: ${result.error.message}`);
  if (result.status !== 0) process.exit(result.status ?? 1);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
