#!/usr/bin/env node
/** TypeScript over all packages, cached, and over `e2e`, which is none of them: what it is written against is fetched first. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { installLocked } from './locked-folder.mjs';

const root = path.dirname(import.meta.dirname);
const commands = [
  ['turbo', 'run', 'typecheck'],
  ['tsc', '-p', 'e2e'],
];

installLocked(path.join(root, 'e2e'));
for (const [command, ...args] of commands) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error) console.error(`${command} cannot be started: ${error.message}`);
  if (status !== 0) {
    process.exitCode = status ?? 1;
    break;
  }
}
