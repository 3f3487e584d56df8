/** Carries out `workflow test`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { EXIT } from '../../exit.ts';
import type { CliIo } from '../../io.ts';

const REGISTER = new URL(`../../../lent-modules/register${import.meta.url.slice(-3)}`, import.meta.url).href;

/** Runs files of node:test, which find the server's engine, XState and zod. @returns 1 when a test fails */
export async function testFiles(io: CliIo, files: readonly string[]): Promise<number> {
  const tests = spawn(process.execPath, ['--import', REGISTER, '--test', ...files], {
    cwd: io.cwd,
    env: io.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  tests.stdout.pipe(io.stdout, { end: false });
  tests.stderr.pipe(io.stderr, { end: false });
  const [exitCode] = (await once(tests, 'close')) as (number | null)[]; // what 'close' gives
  return exitCode === 0 ? EXIT.done : EXIT.notDone;
}
