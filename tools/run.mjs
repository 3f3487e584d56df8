#!/usr/bin/env node
/**
 * Runs a command of this workspace under the Node and pnpm that the workspace pins.
 * Needs only a system Node ≥ 20 with npm; everything else comes from the npm registry, once.
 *
 * Usage: node tools/run.mjs COMMAND [ARGUMENT ...]
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const toolchain = path.join(root, 'tools', 'toolchain');
const bin = path.join(toolchain, 'bin');
const target = `${process.platform}-${process.arch}`;
const OLDEST_SYSTEM_NODE = 20;
/** Where the registry has no pinned Node for the platform, the system's own must be this new. */
const OLDEST_NODE_TO_RUN = 24;

// What npm puts into the environment of its scripts would reconfigure the npm and pnpm started from here.
// How to reach the registry is the person's own setting and stays.
const SET_BY_NPM = /^(npm_(?!config_(registry|cafile|userconfig|proxy|https_proxy)$)|NODE$|INIT_CWD$)/;
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !SET_BY_NPM.test(name)));
environment.TURBO_TELEMETRY_DISABLED = '1';
environment.DO_NOT_TRACK = '1';
// The folder that the person stands in; the command itself runs at the workspace's root.
environment.AUTONOMOUS_CWD = process.env.INIT_CWD ?? process.cwd();

const [command, ...args] = process.argv.slice(2);
if (!command) fail('Usage: node tools/run.mjs COMMAND [ARGUMENT ...]', 64);
if (majorOf(process.versions.node) < OLDEST_SYSTEM_NODE) {
  fail(`[setup] this is Node ${process.versions.node}; Node ≥ ${OLDEST_SYSTEM_NODE} with npm is needed.`);
}
ensureToolchain();
environment.PATH = bin + path.delimiter + environment.PATH;
ensureDependencies();
environment.PATH = path.join(root, 'node_modules', '.bin') + path.delimiter + environment.PATH;
// Types are stripped and code is compiled once: a command then starts in a third of the time.
environment.NODE_COMPILE_CACHE ??= path.join(root, 'node_modules', '.cache', 'node');
runToItsEnd();

function ensureToolchain() {
  const wanted = `${hashOf(path.join(toolchain, 'package-lock.json'))} ${target}`;
  const stamp = path.join(bin, '.stamp');
  const links = { node: path.join(bin, 'node'), pnpm: path.join(bin, 'pnpm') };
  if (isStamped(stamp, wanted) && existsSync(links.node) && existsSync(links.pnpm)) return;
  console.error('[setup] fetching the pinned Node and pnpm');
  npm('ci');
  const pinnedNode = path.join(toolchain, 'node_modules', `node-${target}`, 'bin', 'node');
  const node = works(pinnedNode) ? pinnedNode : systemNode();
  const pnpm = pinnedPnpm();
  rmSync(bin, { recursive: true, force: true });
  mkdirSync(bin);
  symlinkSync(path.relative(bin, node), links.node);
  symlinkSync(path.relative(bin, pnpm), links.pnpm);
  writeFileSync(stamp, wanted);
}

function systemNode() {
  if (majorOf(process.versions.node) >= OLDEST_NODE_TO_RUN) return process.execPath;
  return fail(
    `[setup] there is no pinned Node that runs on ${target}, and the system's is ${process.versions.node}. ` +
      `Install Node ≥ ${OLDEST_NODE_TO_RUN} and try again.`,
  );
}

/** The lockfile lists Linux alone, since some mirrors lack the other builds; elsewhere the same version is asked for by name. */
function pinnedPnpm() {
  const file = path.join(toolchain, 'node_modules', '@pnpm', `exe.${target}`, 'pnpm');
  if (!existsSync(file)) {
    const { version } = packageOf('@pnpm/exe.linux-x64');
    npm('install', '--no-save', '--no-package-lock', `@pnpm/exe.${target}@${version}`);
  }
  return works(file) ? file : fail(`[setup] the pinned pnpm does not run on ${target}: ${file}`);
}

function packageOf(name) {
  const lock = JSON.parse(readFileSync(path.join(toolchain, 'package-lock.json'), 'utf8'));
  return lock.packages[`node_modules/${name}`];
}

function npm(verb, ...more) {
  setUp('npm', [verb, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...more], toolchain);
}

function ensureDependencies() {
  const wanted = hashOf(path.join(root, 'pnpm-lock.yaml'));
  const stamp = path.join(root, 'node_modules', '.install-stamp');
  if (isStamped(stamp, wanted)) return;
  console.error('[setup] installing dependencies');
  setUp(path.join(bin, 'pnpm'), ['install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only'], root);
  writeFileSync(stamp, wanted);
}

function works(file) {
  return existsSync(file) && spawnSync(file, ['--version'], { stdio: 'ignore' }).status === 0;
}

function majorOf(version) {
  return Number(version.split('.')[0]);
}

function hashOf(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function isStamped(file, value) {
  return existsSync(file) && readFileSync(file, 'utf8') === value;
}

/** One step of the set-up; its chatter goes to stderr, so that stdout is the command's alone. */
function setUp(tool, toolArgs, cwd) {
  const result = spawnSync(tool, toolArgs, { stdio: ['ignore', 2, 2], cwd, env: environment });
  if (result.error) fail(`[setup] cannot start ${tool}: ${result.error.message}`);
  if (result.status !== 0) fail(`[setup] ${tool} ${toolArgs[0]} failed; its own words are above.`, result.status ?? 1);
}

/** Hands signals on and ends as the command ends, so that a supervisor sees through this process. */
function runToItsEnd() {
  const child = spawn(command, args, { stdio: 'inherit', cwd: root, env: environment });
  const hand = (signal) => {
    // A terminal sends SIGINT to the whole group itself; a second one would mean "at once" to a server.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, hand);
  child.once('error', (error) => fail(`[setup] cannot start ${command}: ${error.message}`));
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const handled of signals) process.removeListener(handled, hand);
    process.kill(process.pid, signal);
  });
}

function fail(message, exitCode = 1) {
  console.error(message);
  process.exit(exitCode);
}
