/**
 * Program inside each machine of `e2b-server.fixture.ts`. It starts processes and reads and writes files as the server
 * requests on stdin, one line of JSON per request. Paths and links are therefore resolved inside the machine. Node runs
 * it as it is.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';

export type BoxRequest =
  | {
      readonly id: number;
      readonly op: 'start';
      readonly cmd: string;
      readonly args: readonly string[];
      readonly envs: Readonly<Record<string, string>>;
      readonly cwd: string;
      readonly user: string;
      /** Its input stays open for what `input` brings. */
      readonly stdin: boolean;
    }
  /** `null` closes the input. */
  | { readonly id: number; readonly op: 'input'; readonly pid: number; readonly data: string | null }
  | { readonly id: number; readonly op: 'signal'; readonly pid: number; readonly signal: NodeJS.Signals }
  /** Whether the output of the process that `started` has asked for is to wait. */
  | { readonly id: number; readonly op: 'hold'; readonly started: number; readonly held: boolean }
  | { readonly id: number; readonly op: 'read'; readonly path: string }
  | { readonly id: number; readonly op: 'write'; readonly path: string; readonly data: string };

export type BoxAnswer =
  | { readonly id: number; readonly kind: 'start'; readonly pid: number }
  | { readonly id: number; readonly kind: 'stdout' | 'stderr' | 'data'; readonly data: string }
  | { readonly id: number; readonly kind: 'end'; readonly exitCode: number; readonly error?: string }
  | { readonly id: number; readonly kind: 'failed'; readonly code: string; readonly message: string };

const HOMES: Readonly<Record<string, string>> = { root: '/root', user: '/home/user' };
/** Where the test itself is no root, the machine has one user under two names. */
const CAN_CHANGE_USER = process.env['BOX_HAS_USERS'] === '1';
const running = new Map<number, ChildProcess>();
/** Ids of the requests whose processes have to wait with their output. */
const held = new Set<number>();
const outputs = new Map<number, readonly Readable[]>();

createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line) as BoxRequest;
  perform(request).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal';
    answer({ id: request.id, kind: 'failed', code, message: String(error) });
  });
});

async function perform(request: BoxRequest): Promise<void> {
  switch (request.op) {
    case 'start':
      return start(request);
    case 'signal':
      answer({ id: request.id, kind: 'end', exitCode: running.get(request.pid)?.kill(request.signal) ? 0 : 1 });
      return;
    case 'hold':
      if (request.held) held.add(request.started);
      else held.delete(request.started);
      for (const output of outputs.get(request.started) ?? []) {
        if (request.held) output.pause();
        else output.resume();
      }
      answer({ id: request.id, kind: 'end', exitCode: 0 });
      return;
    case 'input':
      answer({ id: request.id, kind: 'end', exitCode: (await input(request)) ? 0 : 1 });
      return;
    case 'read':
      return read(request);
    case 'write': {
      const path = resolve('/home/user', request.path);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, Buffer.from(request.data, 'base64'));
      answer({ id: request.id, kind: 'end', exitCode: 0 });
      return;
    }
    default:
      return request satisfies never;
  }
}

function start({ id, cmd, args, envs, cwd, user, stdin }: Extract<BoxRequest, { op: 'start' }>): void {
  const home = HOMES[user] ?? '/home/user';
  const child = spawn(cmd, args, {
    cwd: cwd === '' ? home : cwd,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home, USER: user, LOGNAME: user, E2B_SANDBOX: 'true', ...envs },
    stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    // The real service starts each process in a session of its own too.
    detached: true,
    ...(CAN_CHANGE_USER && user !== 'root' ? { uid: 1000, gid: 1000 } : {}),
  });
  const { pid } = child;
  // It may be gone while something is still said to it.
  child.stdin?.on('error', () => {});
  if (pid !== undefined) {
    running.set(pid, child);
    answer({ id, kind: 'start', pid });
  }
  // Both are pipes: see `stdio` above.
  outputs.set(id, [child.stdout as Readable, child.stderr as Readable]);
  carry(id, 'stdout', child.stdout as Readable);
  carry(id, 'stderr', child.stderr as Readable);
  child.once('error', (error) => answer({ id, kind: 'failed', code: 'internal', message: error.message }));
  child.once('close', (code, signal) => {
    if (pid !== undefined) running.delete(pid);
    outputs.delete(id);
    held.delete(id);
    answer({ id, kind: 'end', exitCode: code ?? -1, ...(signal === null ? {} : { error: `signal: ${signal}` }) });
  });
}

/** @returns whether there was a process to take it */
function input({ pid, data }: Extract<BoxRequest, { op: 'input' }>): Promise<boolean> {
  const stdin = running.get(pid)?.stdin;
  if (!stdin || stdin.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const done = (error?: Error | null): void => resolve(!error);
    if (data === null) stdin.end(done);
    else stdin.write(Buffer.from(data, 'base64'), done);
  });
}

function carry(id: number, kind: 'stdout' | 'stderr', stream: Readable): void {
  stream.on('data', (chunk: Buffer) => {
    if (answer({ id, kind, data: chunk.toString('base64') })) return;
    stream.pause();
    process.stdout.once('drain', () => {
      if (!held.has(id)) stream.resume();
    });
  });
}

async function read({ id, path }: Extract<BoxRequest, { op: 'read' }>): Promise<void> {
  const file = await open(resolve('/home/user', path));
  for await (const chunk of file.createReadStream())
    answer({ id, kind: 'data', data: (chunk as Buffer).toString('base64') });
  answer({ id, kind: 'end', exitCode: 0 });
}

/** @returns whether more may follow at once */
function answer(what: BoxAnswer): boolean {
  return process.stdout.write(`${JSON.stringify(what)}\n`);
}
