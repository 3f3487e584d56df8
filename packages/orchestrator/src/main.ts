#!/usr/bin/env -S node --max-semi-space-size=8
/** The program `autonomous`: gives the command line its world and ends with its exit code. */
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { runCli } from './cli/program.ts';
import { SERVER_VARIABLES } from './config.ts';
import { isMisspelt } from './server-setup/misspelt-variables.ts';
import { startCommand } from './server/start-command.ts';

const EXIT_BROKEN_PIPE = 141;
const OF_SERVER = new Set(['serve', 'verify', 'rebuild']);

// The reader of our output may close it early.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT_BROKEN_PIPE : 1),
);

const exitCode = await runCli(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: { ...readEnvFile(), ...process.env },
  // A package script starts in the workspace's folder and names the person's own.
  cwd: process.env['AUTONOMOUS_CWD'] ?? process.cwd(),
  program: startCommand().program,
});
// Connections that are kept for another request would keep the process for a while.
process.stdout.write('', () => process.exit(exitCode));

/**
 * The server's variables from a `.env` file here; nothing when there is none. No other variable is taken, except misspelt ones, which
 * are only named. Outside of a clone of the product the commands of the server alone take it: the others are given in
 * folders of projects, and a repository that somebody sent could name the server that gets the token, or what git starts.
 */
function readEnvFile(): Record<string, string | undefined> {
  // Without a command it serves.
  const [, , command = '-'] = process.argv;
  const isOfServer = command.startsWith('-') || OF_SERVER.has(command);
  if (process.env['AUTONOMOUS_CWD'] === undefined && !isOfServer) return {};
  let text: string;
  try {
    text = readFileSync('.env', 'utf8');
  } catch {
    return {};
  }
  const isTaken = (name: string): boolean => Object.hasOwn(SERVER_VARIABLES, name) || isMisspelt(name);
  return Object.fromEntries(Object.entries(parseEnv(text)).filter(([name]) => isTaken(name)));
}
