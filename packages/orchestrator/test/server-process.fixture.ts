/** A server as a process of its own, which tests end by a signal and start again on the same data folder. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerProcess {
  readonly url: string;
  readonly token: string;
  /** Resolves when the process is gone, whoever ended it. */
  readonly ended: Promise<ProcessEnd>;
  /** What it has logged so far. */
  log(): string;
  /** Sends a signal and resolves when the process is gone. May be called twice. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<ProcessEnd>;
}

const ENTRY = fileURLToPath(new URL('serve.fixture.ts', import.meta.url));

/**
 * Resolves when the server answers.
 * @param env its whole environment
 * @param imports files that are loaded before the server's own
 */
export async function startServerProcess(
  env: Readonly<Record<string, string>>,
  imports: readonly string[] = [],
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...imports.map((file) => `--import=${file}`), ENTRY], {
    env: { ...env },
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
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    ended.then(
      ({ code, signal }) => reject(new Error(`The server ended (${signal ?? code}) before it was up:\n${log}`)),
      reject,
    );
  });
  // The entry prints nothing else.
  const { url, token } = JSON.parse(line) as { readonly url: string; readonly token: string };
  return {
    url,
    token,
    ended,
    log: () => log,
    async end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}
