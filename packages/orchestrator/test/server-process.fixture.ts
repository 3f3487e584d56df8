/** The program itself as a process of its own, which tests end by a signal and start again on the same data folder. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ServerStart {
  /** Absolute; the only folder that the process knows of. */
  readonly dataFolder: string;
  /** 0 takes any free port. */
  readonly port: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Files that are loaded before the program's own. */
  readonly imports?: readonly string[];
  /** Another program that is started and says where it is like the server itself. */
  readonly program?: string;
}

export interface ServerProcess {
  readonly url: string;
  readonly token: string;
  /** Settles when the process has ended, by whatever. */
  readonly ended: Promise<ProcessEnd>;
  /** What it has logged so far. */
  log(): string;
  /** Lets the process stand still, or go on, or tells it something that was agreed with what it imports. */
  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGUSR2'): void;
  /** Sends a signal and resolves when the process has ended. May be called again. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<ProcessEnd>;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const PROGRAM = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Runs `serve`; resolves when the server has said where it is. */
export async function startServerProcess(start: ServerStart): Promise<ServerProcess> {
  const { dataFolder, port, env, imports = [], program = PROGRAM } = start;
  const args = [
    // As every way of starting it does: see decision 0020.
    '--max-semi-space-size=8',
    ...imports.map((file) => `--import=${file}`),
    program,
    'serve',
    '--port',
    port,
    '--data',
    dataFolder,
  ];
  const child = spawn(process.execPath, args, {
    cwd: path.dirname(dataFolder),
    // Nothing that the program does depends on it but how soon it is there.
    env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    log += chunk;
  });
  const ended = new Promise<ProcessEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /^ +address +(\S+)$/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    ended.then(
      ({ code, signal }) => reject(new Error(`The server ended (${signal ?? code}) before it was up:\n${log}`)),
      reject,
    );
  });
  return {
    url,
    token: (await readFile(path.join(dataFolder, 'token'), 'utf8')).trim(),
    ended,
    log: () => log,
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}
