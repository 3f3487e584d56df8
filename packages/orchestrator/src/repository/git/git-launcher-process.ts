/**
 * Starts git for the server. Starting a process copies the one that starts it, so this small process does it
 * instead. It runs the orders that arrive over its channel and answers with their outcome. It ends with the server,
 * and everything that it started ends with it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import path from 'node:path';
import { closeInheritedDescriptors } from '../../processes/inherited-descriptors.ts';
import {
  type Cancellation,
  type Question,
  READY,
  signalGroup,
  type StartFault,
  startFault,
} from '../../processes/small-process.ts';
import { type GitObjects, ObjectReader, type ObjectRequest } from './object-reader.ts';

export interface GitOrder {
  readonly id: number;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | Uint8Array;
  /** After this many bytes the process is ended. */
  readonly maxOutputBytes?: number | undefined;
  /** Longest duration of the process, and longest time without output; it is ended after either. */
  readonly timeoutMs?: number | undefined;
  readonly silenceMs?: number | undefined;
  /**
   * The command waits for a remote, so it is ended at once when the server ends. Default:
   * it has ten seconds to end by itself.
   */
  readonly isRemote?: boolean | undefined;
}

/** Asks for objects of a repository. */
export interface GitQuestion extends Pick<GitOrder, 'id' | 'env'> {
  readonly gitDir: string;
  readonly timeoutMs: number;
  readonly requests: readonly ObjectRequest[];
}

export type GitReport = { readonly id: number } & (
  | {
      readonly exitCode: number;
      readonly stdout: Uint8Array;
      readonly stderr: string;
      readonly truncated: boolean;
      /** Why the process was ended, if it was; `exitCode` means nothing then. */
      readonly ended?: 'late' | 'silent' | 'cancelled';
    }
  | { readonly objects: GitObjects }
  /** The process could not be started, or ended without an answer. */
  | StartFault
);

/** Time that local commands have left when the server ends: they are short and write to the mirror. */
const LEFT_MS = 10_000;
/** Longest part of a command's stderr that is kept: a remote may say anything, for ever. */
const MAX_STDERR_BYTES = 1024 * 1024;
/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000;
/** A reader of objects ends when it was not asked for this long. */
const IDLE_MS = 3_000;
/** Packs that others remove are still open to a reader: after this time another one is started. */
const READER_LIFE_MS = 30_000;
const MAX_READERS = 8;

interface Running {
  readonly isRemote: boolean;
  readonly end: (why: 'late' | 'silent' | 'cancelled') => void;
}

const running = new Map<number, Running>();

process.on('message', (message: GitOrder | GitQuestion | Cancellation | Question) => {
  if ('isQuestion' in message) {
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
    return;
  }
  if ('cancel' in message) {
    running.get(message.cancel)?.end('cancelled');
    return;
  }
  void reportOn(message).then((report) => {
    running.delete(message.id);
    // The server may end at this very moment, and nothing takes the report then.
    if (process.connected) process.send?.(report, undefined, undefined, () => {});
    else endWhenIdle();
  });
});
process.on('disconnect', () => {
  for (const { isRemote, end } of running.values()) if (isRemote) end('cancelled');
  setTimeout(() => {
    for (const { end } of running.values()) end('late');
  }, LEFT_MS).unref();
  endWhenIdle();
});
// The server handles signals to the whole group: it has data to store before it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

function endWhenIdle(): void {
  if (running.size === 0) process.exit(0);
}

async function reportOn(message: GitOrder | GitQuestion): Promise<GitReport> {
  const { id } = message;
  try {
    return await ('requests' in message ? answer(message) : perform(message));
  } catch (error) {
    return { id, ...startFault(error, 'cwd' in message ? message.cwd : undefined) };
  }
}

/** @throws {Error} when git cannot be started */
async function perform(order: GitOrder): Promise<GitReport> {
  const { promise, resolve } = Promise.withResolvers<GitReport>();
  const { id, maxOutputBytes, timeoutMs, silenceMs } = order;
  // In a group of its own, so that processes that git starts for a transport end with it.
  const child = spawn('git', [...order.args], {
    cwd: order.cwd,
    env: { ...order.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  // Of one that has no room on this system, not even the streams are there.
  await once(child, 'spawn');
  child.on('error', () => {
    // A signal that could not be sent; its end is told all the same.
  });
  let ended: Parameters<Running['end']>[0] | undefined;
  let forcing: NodeJS.Timeout | null = null;
  const end: Running['end'] = (why) => {
    if (ended !== undefined) return;
    ended = why;
    // Not the group: what git has started then ends with its pipe, whereas the git of a remote on this machine that is
    // signalled while it makes a lock leaves that behind.
    child.kill('SIGTERM');
    forcing = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GRACE_MS);
  };
  running.set(id, { isRemote: order.isRemote === true, end });
  const limit = timeoutMs === undefined ? null : setTimeout(() => end('late'), timeoutMs);
  const silence = silenceMs === undefined ? null : setTimeout(() => end('silent'), silenceMs);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let bytes = 0;
  let saidBytes = 0;
  let truncated = false;
  child.stdout.on('data', (chunk: Buffer) => {
    silence?.refresh();
    if (truncated) return;
    stdout.push(chunk);
    bytes += chunk.length;
    if (maxOutputBytes !== undefined && bytes > maxOutputBytes) {
      truncated = true;
      signalGroup(child.pid, 'SIGKILL');
    }
  });
  child.stderr.on('data', (chunk: Buffer) => {
    silence?.refresh();
    stderr.push(chunk);
    saidBytes += chunk.length;
    // The end of it says why a command failed.
    while (saidBytes > MAX_STDERR_BYTES && stderr.length > 1) saidBytes -= stderr.shift()?.length ?? 0;
  });
  child.stdin.on('error', () => {
    // A command that ends before it has read all of its input says why by its exit code.
  });
  const settle = (report: GitReport): void => {
    if (limit !== null) clearTimeout(limit);
    if (silence !== null) clearTimeout(silence);
    if (forcing !== null) clearTimeout(forcing);
    resolve(report);
  };
  child.on('close', (code) => {
    const output = Buffer.concat(stdout);
    settle({
      id,
      exitCode: code ?? 128,
      stdout: truncated ? output.subarray(0, maxOutputBytes) : output,
      stderr: Buffer.concat(stderr).toString('utf8'),
      truncated,
      ...(ended === undefined ? {} : { ended }),
    });
  });
  child.stdin.end(order.input);
  return promise;
}

/** Readers by repository, least recently used first. */
const readers = new Map<string, { readonly reader: ObjectReader; readonly started: number }>();

async function answer({ id, gitDir, env, requests, timeoutMs }: GitQuestion): Promise<GitReport> {
  let limit: NodeJS.Timeout | undefined;
  try {
    const reader = readerOf(gitDir, env);
    running.set(id, { isRemote: false, end: () => reader.kill() });
    limit = setTimeout(() => reader.kill(), timeoutMs);
    return { id, objects: await reader.ask(requests) };
  } finally {
    clearTimeout(limit);
  }
}

function readerOf(gitDir: string, env: GitQuestion['env']): ObjectReader {
  // A repository that was removed and made again is another one.
  const { dev, ino, birthtimeMs } = statSync(path.join(gitDir, 'objects'));
  const key = JSON.stringify([gitDir, dev, ino, birthtimeMs, env]);
  const now = performance.now();
  const { reader, started } = readers.get(key) ?? { reader: startReader(key, gitDir, env), started: now };
  readers.delete(key);
  if (now - started > READER_LIFE_MS) {
    reader.close();
    return readerOf(gitDir, env);
  }
  readers.set(key, { reader, started });
  return reader;
}

function startReader(key: string, gitDir: string, env: GitQuestion['env']): ObjectReader {
  const [oldest] = readers.keys();
  if (readers.size >= MAX_READERS && oldest !== undefined) {
    readers.get(oldest)?.reader.close();
    readers.delete(oldest);
  }
  const reader = new ObjectReader(gitDir, env, () => {
    if (readers.get(key)?.reader === reader) readers.delete(key);
  });
  return reader;
}

// One timer for all: starting and stopping one for each question would cost more than it saves.
setInterval(() => {
  for (const [key, { reader }] of readers) {
    if (!reader.isIdleSince(IDLE_MS)) continue;
    readers.delete(key);
    reader.close();
  }
}, IDLE_MS).unref();

// Its first message: it has all that it needs, or what is missing.
process.send?.(closeInheritedDescriptors() ?? READY, undefined, undefined, () => {});
