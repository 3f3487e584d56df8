#!/usr/bin/env node
/**
 * Reads the code: oxlint with types, then oxfmt. What they are made of lies in `tools/lint`, since nothing else needs it;
 * the types that `e2e` and `release` are written against are fetched as well.
 *
 * Usage: node tools/lint.mjs [--fix]
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { installLocked } from './locked-folder.mjs';

const executables = installLocked(path.join(import.meta.dirname, 'lint'));
for (const folder of ['e2e', 'release']) installLocked(path.join(import.meta.dirname, '..', folder));
const env = { ...process.env, PATH: executables + path.delimiter + process.env.PATH };
const commands = process.argv.includes('--fix') ? [['oxlint', '--fix'], ['oxfmt']] : [['oxlint'], ['oxfmt', '--check']];

for (const [command, ...args] of commands) {
  const { status, error } = spawnSync(command, args, {
    cwd: path.dirname(import.meta.dirname),
    env,
    stdio: 'inherit',
  });
  if (error) console.error(`${command} cannot be started: ${error.message}`);
  if (status !== 0) {
    process.exitCode = status ?? 1;
    break;
  }
}
