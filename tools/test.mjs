#!/usr/bin/env node
/**
 * Runs the tests of the whole workspace once and ends with the line `N passed, N failed[, N skipped]`.
 * With `CI` set or `--no-skips`, a skipped test is a failure: what CI does not run, nobody runs.
 *
 * Usage: node tools/test.mjs [--no-skips] [VITEST ARGUMENT ...]
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const tools = path.dirname(fileURLToPath(import.meta.url));
const vitest = path.join(tools, '..', 'node_modules', 'vitest', 'vitest.mjs');
const args = process.argv.slice(2).filter((argument) => argument !== '--no-skips');
const skipsFail = process.argv.includes('--no-skips') || !['', '0', 'false', undefined].includes(process.env.CI);

const folder = mkdtempSync(path.join(tmpdir(), 'autonomous-test-'));
const summaryFile = path.join(folder, 'summary.json');
const exitCode = await runVitest();
const summary = readSummary();
rmSync(folder, { recursive: true, force: true });

if (exitCode !== 0 && summary.failed.length === 0) summary.failed.push(`vitest itself ended with ${exitCode}`);
list(summary.failed, 'Failed:');
list(
  summary.skipped.map(({ name, reason }) => `${name}: ${reason}`),
  skipsFail ? 'Skipped, which fails this run:' : 'Skipped:',
);
console.log(
  `${summary.passed} passed, ${summary.failed.length} failed` +
    (summary.skipped.length > 0 ? `, ${summary.skipped.length} skipped` : ''),
);
process.exitCode = summary.failed.length > 0 || (skipsFail && summary.skipped.length > 0) ? 1 : 0;

/** @returns vitest's exit code, or the name of the signal that ended it */
function runVitest() {
  const reporters = ['--reporter=default', `--reporter=${path.join(tools, 'summary-reporter.mjs')}`];
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], {
    stdio: 'inherit',
    env: { ...process.env, AUTONOMOUS_TEST_SUMMARY: summaryFile },
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
