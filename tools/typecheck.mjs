#!/usr/bin/env node
/**
 * TypeScript over all packages, cached, and over what is not a package: the examples, and `release` and `e2e`, whose
 * dependencies are fetched first.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { installLocked } from './locked-folder.mjs';

const root = path.dirname(import.meta.dirname);
const examples = globSync('examples/*/tsconfig.json', { cwd: root }).map((file) => path.dirname(file));
/** Each checker computes the types of what is imported for itself, so more of them than cores make it slower. */
const checkers = ['--checkers', String(Math.min(4, availableParallelism()))];
const commands = [
  ['turbo', 'run', 'typecheck', '--', ...checkers],
  ...[...examples, 'e2e', 'release'].map((folder) => ['tsc', '-p', folder, ...checkers]),
];

for (const folder of ['e2e', 'release']) installLocked(path.join(root, folder));
for (const [command, ...args] of commands) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error) console.error(`${command} cannot be started: ${error.message}`);
  if (status !== 0) {
    process.exitCode = status ?? 1;
    break;
  }
}
