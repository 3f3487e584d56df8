#!/usr/bin/env node
/**
 * TypeScript over all packages, cached, and over what is not a package: the examples, and `release` and `e2e`, whose
 * dependencies are fetched first.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { installLocked } from './locked-folder.mjs';

const root = path.dirname(import.meta.dirname);
const examples = globSync('examples/*/tsconfig.json', { cwd: root }).map((file) => path.dirname(file));
const commands = [
  ['turbo', 'run', 'typecheck'],
  ...examples.map((example) => ['tsc', '-p', example]),
  ['tsc', '-p', 'e2e'],
  ['tsc', '-p', 'release'],
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
