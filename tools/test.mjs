#!/usr/bin/env node
/**
 * Runs the tests of the whole workspace once and ends with the line `N passed, N failed[, N skipped]`.
 * With `CI` set or `--no-skips`, a skipped test is a failure: what CI does not run, nobody runs. With `--sample`, of the slow
 * test files only those are run that the seed draws, and the others are named.
 *
 * Usage: node tools/test.mjs [--no-skips] [--sample SEED] [VITEST ARGUMENT ...]
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { leftOutBy } from './slow-tests.mjs';

const tools = path.dirname(fileURLToPath(import.meta.url));
const vitest = path.join(tools, '..', 'node_modules', 'vitest', 'vitest.mjs');
const { own, args } = readArguments(process.argv.slice(2));
const skipsFail = own.has('--no-skips') || !['', '0', 'false', undefined].includes(process.env.CI);
const leftOut = own.has('--sample') ? leftOutBy(own.get('--sample')) : [];

const folder = mkdtempSync(path.join(tmpdir(), 'autonomous-test-'));
const summaryFile = path.join(folder, 'summary.json');
const exitCode = await runVitest();
const summary = readSummary();
rmSync(folder, { recursive: true, force: true });

if (exitCode !== 0 && summary.failed.length === 0) summary.failed.push(`vitest itself ended with ${exitCode}`);
list(leftOut, `Slow tests that are not in the sample ${own.get('--sample')}:`);
list(
  summary.skipped.map(({ name, reason }) => `${name}: ${reason}`),
  skipsFail ? 'Skipped, which fails this run:' : 'Skipped:',
);
// The last words: of a long log often only the end is kept.
list(summary.failed, 'Failed:');
console.log(
  `${summary.passed} passed, ${summary.failed.length} failed` +
    (summary.skipped.length > 0 ? `, ${summary.skipped.length} skipped` : ''),
);
process.exitCode = summary.failed.length > 0 || (skipsFail && summary.skipped.length > 0) ? 1 : 0;

/** @returns the arguments of this script with their values, and those of vitest */
function readArguments(given) {
  const own = new Map();
  const args = [];
  for (let index = 0; index < given.length; index += 1) {
    if (given[index] === '--no-skips') own.set('--no-skips', true);
    else if (given[index] === '--sample') own.set('--sample', seedAt(given, (index += 1)));
    else args.push(given[index]);
  }
  return { own, args };
}

function seedAt(given, index) {
  const seed = given[index];
  if (seed === undefined || seed.startsWith('-')) {
    console.error(`--sample needs a seed, such as --sample 2026-11-23, not '${seed ?? ''}'.`);
    process.exit(64);
  }
  return seed;
}

/** @returns vitest's exit code, or the name of the signal that ended it */
function runVitest() {
  const reporters = ['--reporter=default', `--reporter=${path.join(tools, 'summary-reporter.mjs')}`];
  const excluded = leftOut.map((file) => `--exclude=**/${file.split('/').slice(-2).join('/')}`);
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...excluded, ...args], {
    stdio: 'inherit',
    // Tests start hundreds of processes of the same few programs.
    env: { NODE_COMPILE_CACHE: path.join(folder, 'compiled'), ...process.env, AUTONOMOUS_TEST_SUMMARY: summaryFile },
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
}

/** Vitest writes none when it does not get as far as running tests. */
function readSummary() {
  if (!existsSync(summaryFile)) return { passed: 0, failed: [], skipped: [] };
  return JSON.parse(readFileSync(summaryFile, 'utf8'));
}

function list(lines, title) {
  if (lines.length > 0) console.log([title, ...lines.map((line) => `  ${line}`)].join('\n'));
}
