#!/usr/bin/env node
/**
 * Runs the tests of the workspace once and ends with the slowest files and the line `N passed, N failed[, N skipped]`. What ran
 * is also told when the run is stopped, and no process of a test outlives it.
 *
 * Usage: npm test [-- [--all | --day DATE | --since REF] [--no-skips] [FILE ...] [VITEST OPTION ...]]
 *   (nothing)    all test files but the slow ones of tools/slow-tests.mjs
 *   --all        all test files
 *   --day DATE   as without it, and a seventh of the slow files: all of them within seven days
 *   --since REF  the test files that reach a file which differs from the commit REF, slow ones too
 *   --no-skips   a skipped test fails the run, as with `CI` set: what CI does not run, nobody runs
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shareOfDay } from './day-share.ts';
import { endProcessesWith } from './end-processes.mjs';
import { SLOW_TESTS } from './slow-tests.mjs';
import { testsSince } from './tests-since.mjs';

const tools = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(tools);
const SLOWEST = 10;
/** Memory that temporary files of the tests may take; with less, they lie on the disk. */
const MEMORY_FOR_FILES = 6 * 1024 ** 3;
const PATIENCE_MS = 5_000;
/** As a shell says it of a command that was interrupted. */
const STOPPED = 130;

const { own, args } = readArguments(process.argv.slice(2));
const skipsFail = own.has('--no-skips') || !['', '0', 'false', undefined].includes(process.env.CI);
const { files, leftOut, why } = chooseFiles();

const folder = mkdtempSync(path.join(fastFolder() ?? tmpdir(), 'autonomous-test-'));
const resultsFile = path.join(folder, 'results.json');
/** @type {string | undefined} */
let stoppedBy;
if (files?.length === 0) console.log(why);
list(leftOut, `Left out (${why}):`);
const exitCode = files?.length === 0 ? 0 : await runVitest();
const results = readResults();
const left = endProcessesWith(folder);
const leftRunning = stoppedBy === undefined ? left : [];
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });

if (stoppedBy === undefined && exitCode !== 0 && results.failed.length === 0) {
  results.failed.push(`vitest itself ended with ${exitCode}`);
}
if (args.includes('-t') && results.passed + results.failed.length + results.skipped.length === 0) {
  results.failed.push('no test has the name that -t asks for');
}
if (leftOut.length > 0) console.log(`Left out: ${leftOut.length} files (${why}); their names stand at the start.`);
list(
  results.files
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, results.files.length > SLOWEST ? SLOWEST : 0)
    .map(({ name, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${name}`),
  'Slowest:',
);
list(leftRunning, 'Processes that tests left running, ended now:');
list(
  results.skipped.map(({ name, reason }) => `${name}: ${reason}`),
  skipsFail ? 'Skipped, which fails this run:' : 'Skipped:',
);
// The last words: of a long log often only the end is kept.
list(results.failed, 'Failed:');
if (stoppedBy !== undefined)
  console.log(`Stopped by ${stoppedBy} after ${results.files.length} of ${results.total} files.`);
console.log(
  `${results.passed} passed, ${results.failed.length} failed` +
    (results.skipped.length > 0 ? `, ${results.skipped.length} skipped` : ''),
);
const hasFailed = results.failed.length > 0 || (skipsFail && results.skipped.length > 0);
process.exitCode = hasFailed ? 1 : stoppedBy === undefined ? 0 : STOPPED;

/** @returns the arguments of this script with their values, and those of vitest */
function readArguments(given) {
  const own = new Map();
  const args = [];
  for (let index = 0; index < given.length; index += 1) {
    const name = given[index];
    if (['--no-skips', '--all'].includes(name)) own.set(name, true);
    else if (['--day', '--since'].includes(name)) own.set(name, valueOf(name, given[(index += 1)]));
    else args.push(name);
  }
  const ways = ['--all', '--day', '--since'].filter((name) => own.has(name));
  if (ways.length > 1) usage(`${ways.join(' and ')} exclude each other.`);
  return { own, args };
}

function valueOf(name, value) {
  if (value !== undefined && !value.startsWith('-')) return value;
  return usage(`${name} needs a ${name === '--day' ? 'day, such as 2026-11-23' : 'commit, such as main'}.`);
}

function usage(message) {
  console.error(message);
  process.exit(64);
}

/** @returns the only files to run where there is such a choice, those that are left out, and why, for a person */
function chooseFiles() {
  const slow = Object.keys(SLOW_TESTS);
  try {
    if (own.has('--since')) return testsSince(root, own.get('--since'));
    if (own.has('--day')) {
      const date = own.get('--day');
      const share = shareOfDay(slow, date, (file) => SLOW_TESTS[file]);
      return { leftOut: slow.filter((file) => !share.includes(file)), why: `slow, run on another day than ${date}` };
    }
  } catch (error) {
    usage(error.message);
  }
  const namesFiles = args.some((arg, index) => !arg.startsWith('-') && !args[index - 1]?.startsWith('-'));
  if (own.has('--all') || namesFiles) return { leftOut: [], why: '' };
  return { leftOut: slow, why: 'slow; `npm test -- --all` runs them' };
}

/** A folder in memory: half of what tests wait for is the disk, and none of them is about a loss of power. */
function fastFolder() {
  if (process.env.TMPDIR !== undefined || !existsSync('/dev/shm')) return undefined;
  const { bavail, bsize } = statfsSync('/dev/shm');
  return bavail * bsize >= MEMORY_FOR_FILES ? '/dev/shm' : undefined;
}

/** @returns vitest's exit code, or the name of the signal that ended it */
function runVitest() {
  // Relative to the root of its project, or of a workspace without projects.
  const excluded = (files ? [] : leftOut)
    .flatMap((file) => [file, file.replace(/^(?:packages\/)?[^/]+\//, '')])
    .map((file) => `--exclude=${file}`);
  const chosen = files?.map((file) => path.join(root, file)) ?? [];
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const reporter = `--reporter=${path.join(tools, 'progress-reporter.mjs')}`;
  const child = spawn(process.execPath, [vitest, 'run', reporter, ...excluded, ...chosen, ...args], {
    stdio: 'inherit',
    detached: true,
    // Tests start hundreds of processes of the same few programs.
    env: {
      NODE_COMPILE_CACHE: path.join(folder, 'compiled'),
      ...process.env,
      TMPDIR: folder,
      AUTONOMOUS_TEST_RESULTS: resultsFile,
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      stoppedBy = signal;
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS).unref();
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? signal));
  });
}

/** Vitest writes none when it does not get as far as running tests. */
function readResults() {
  if (!existsSync(resultsFile)) return { total: 0, passed: 0, failed: [], skipped: [], files: [] };
  return JSON.parse(readFileSync(resultsFile, 'utf8'));
}

function list(lines, title) {
  if (lines.length > 0) console.log([title, ...lines.map((line) => `  ${line}`)].join('\n'));
}
