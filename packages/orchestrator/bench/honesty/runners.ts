/** The test runners of the projects that agents work on, in a locked folder of their own: no part of the workspace's install. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

const RUNNERS = path.join(import.meta.dirname, 'runners');

/** Vitest, Jest, Mocha and Chai, in a locked folder of their own (80 MB). `null` where the registry gives none. */
export function installRunners(): string | null {
  if (existsSync(path.join(RUNNERS, 'node_modules', 'vitest'))) return RUNNERS;
  console.error('[setup] installing test runners (80 MB, once)');
  try {
    execFileSync('pnpm', ['install', '--ignore-workspace', '--frozen-lockfile', '--ignore-scripts', '--silent'], {
      cwd: RUNNERS,
      stdio: ['ignore', 2, 2],
    });
    return RUNNERS;
  } catch (error) {
    console.error(`[setup] without test runners: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}
