/**
 * Starts git for the server, as a process of its own: whoever starts a process is copied for it, and this one is small. Runs
 * what it is told over its channel, answers with what came of it, and ends with the server.
 */
import { spawn } from 'node:child_process';

export interface GitOrder {
  readonly id: number;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | Uint8Array;
  /** After this many bytes the process is ended. */
  readonly maxOutputBytes?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export type GitReport = { readonly id: number } & (
  | {
      readonly exitCode: number;
      readonly stdout: Uint8Array;
      readonly stderr: string;
      readonly truncated: boolean;
    }
  /** It could not be started. */
  | { readonly fault: string }
);

let running = 0;

process.on('message', (order: GitOrder) => {
  running += 1;
  void perform(order).then((report) => {
    running -= 1;
    if (process.connected) process.send?.(report);
    else endWhenIdle();
  });
});
// What is under way is let come to its end, as git's own processes are when the server dies.
process.on('disconnect', endWhenIdle);
// A signal to the whole group is the server's to answer: it has things to write down before it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

function endWhenIdle(): void {
  if (running === 0) process.exit(0);
}

function perform(order: GitOrder): Promise<GitReport> {
  const { promise, resolve } = Promise.withResolvers<GitReport>();
  const { id, maxOutputBytes, timeoutMs } = order;
  const child = spawn('git', [...order.args], {
    cwd: order.cwd,
    env: { ...order.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs, killSignal: 'SIGKILL' as const }),
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let bytes = 0;
  let truncated = false;
  child.stdout.on('data', (chunk: Buffer) => {
    if (truncated) return;
    stdout.push(chunk);
    bytes += chunk.length;
    if (maxOutputBytes !== undefined && bytes > maxOutputBytes) {
      truncated = true;
      child.kill('SIGKILL');
    }
  });
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.stdin.on('error', () => {
    // A command that ends before it has read all of its input says why by its exit code.
  });
  child.on('error', ({ message }) => resolve({ id, fault: message }));
  child.on('close', (code) => {
    const output = Buffer.concat(stdout);
    resolve({
      id,
      exitCode: code ?? 128,
      stdout: truncated ? output.subarray(0, maxOutputBytes) : output,
      stderr: Buffer.concat(stderr).toString('utf8'),
      truncated,
    });
  });
  child.stdin.end(order.input);
  return promise;
}
