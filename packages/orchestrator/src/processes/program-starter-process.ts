/**
 * Starts programs for the server, each in a process group of its own. Their input and output are sockets, which the server connects
 * to this process and which the program gets: nothing that it reads or writes goes through here. It ends with the server, and
 * everything that it started ends with it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { closeInheritedDescriptors } from './inherited-descriptors.ts';
import { PrivateSocket } from './private-socket.ts';
import { type Cancellation, type Question, READY, signalGroup, type StartFault, startFault } from './small-process.ts';

export interface ProgramOrder {
  readonly id: number;
  /** Begins what each of its sockets says first, so that they are told from those of others. */
  readonly key: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard streams that have a socket, 0 to 2; the others are empty. */
  readonly sockets: readonly number[];
  /** File descriptors 3, 4, …: what the program reads there, or what its first words there are answered with, if anything. */
  readonly descriptors: readonly ({ readonly write: string | Uint8Array } | { readonly answer: string | null })[];
}

export type ProgramReport = { readonly id: number } &
  /** It waits for the sockets, at this path. */
  (
    | { readonly isNews: true; readonly socketPath: string }
    | { readonly isNews: true; readonly pid: number }
    /** Text that the program wrote to a descriptor from 3 on. */
    | { readonly isNews: true; readonly descriptor: number; readonly text: string }
    | { readonly exitCode: number | null; readonly signal: NodeJS.Signals | null }
    | StartFault
  );

/** Characters of a key; the number of the stream follows. */
const KEY_LENGTH = 36;

/** How long descriptors may stay open after the program has ended, held by a process that left its group. */
const PIPE_GRACE_MS = 2_000;
/** Longest time until all sockets of an order are there, and until one has said whose it is. */
const CONNECT_LIMIT_MS = 30_000;

const tell = (report: ProgramReport | Question): void => {
  // The server may end at this very moment.
  if (process.connected) process.send?.(report, undefined, undefined, () => {});
};

/** Orders that wait for their sockets, by key. */
const awaited = new Map<string, (stream: number, socket: Socket) => void>();
/** Ends of what was started or is about to be, by id. */
const ends = new Map<number, () => void>();

const entrance = new PrivateSocket(() => createServer(receive));
process.on('exit', () => void entrance.close());

process.on('message', (message: ProgramOrder | Cancellation | Question) => {
  if ('isQuestion' in message) tell(message);
  else if ('cancel' in message) ends.get(message.cancel)?.();
  else void perform(message);
});
process.on('disconnect', () => {
  for (const end of ends.values()) end();
  process.exit(0);
});
// The server handles signals to the whole group: it has data to store before it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

// Its first message: it has all that it needs, or what is missing.
process.send?.(closeInheritedDescriptors() ?? READY, undefined, undefined, () => {});

async function perform(order: ProgramOrder): Promise<void> {
  const { id } = order;
  try {
    const cancelled = new AbortController();
    ends.set(id, () => cancelled.abort(new Error('it was ended before it started')));
    const sockets = await socketsOf(order, cancelled.signal);
    const child = start(order, sockets);
    ends.set(id, () => signalGroup(child.pid, 'SIGKILL'));
    // A child without room on this system has no streams.
    await once(child, 'spawn');
    tell({ id, isNews: true, pid: child.pid ?? 0 });
    order.descriptors.forEach((descriptor, index) => attend(child, id, { descriptor, number: 3 + index }));
    child.once('exit', () => {
      // Background processes of the program do not outlive it.
      signalGroup(child.pid, 'SIGKILL');
      setTimeout(() => child.stdio.forEach((stream) => stream?.destroy()), PIPE_GRACE_MS).unref();
    });
    const [exitCode, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    tell({ id, exitCode, signal });
  } catch (error) {
    tell({ id, ...startFault(error, order.cwd) });
  } finally {
    ends.delete(id);
  }
}

/** The order's sockets, once all are there. @throws {Error} when it is ended before, or they do not come */
async function socketsOf(
  { id, key, sockets: wanted }: ProgramOrder,
  signal: AbortSignal,
): Promise<Map<number, Socket>> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sockets = new Map<number, Socket>();
  const limit = setTimeout(
    () => reject(Object.assign(new Error('its streams were not connected'), { code: 'EAGAIN' })),
    CONNECT_LIMIT_MS,
  );
  signal.addEventListener('abort', () => reject(signal.reason as Error));
  awaited.set(key, (stream, socket) => {
    sockets.set(stream, socket);
    if (wanted.every((each) => sockets.has(each))) resolve();
  });
  try {
    tell({ id, isNews: true, socketPath: await entrance.path() });
    await promise;
    return sockets;
  } catch (error) {
    for (const socket of sockets.values()) socket.destroy();
    throw error;
  } finally {
    clearTimeout(limit);
    awaited.delete(key);
  }
}

/** @throws {Error} when the system has no room for it at all */
function start({ file, args, cwd, env, descriptors }: ProgramOrder, sockets: Map<number, Socket>): ChildProcess {
  try {
    return spawn(file, [...args], {
      cwd,
      env: { ...env },
      // A group of its own, so that one kill reaches every process which has not left it.
      detached: true,
      stdio: [...[0, 1, 2].map((stream) => sockets.get(stream) ?? 'ignore'), ...descriptors.map(() => 'pipe' as const)],
    });
  } finally {
    // The program has its own copies.
    for (const socket of sockets.values()) socket.destroy();
  }
}

function attend(
  child: ChildProcess,
  id: number,
  { descriptor, number }: { readonly descriptor: ProgramOrder['descriptors'][number]; readonly number: number },
): void {
  const stream = child.stdio[number] as Readable & Writable;
  // A program may end without reading all that is there for it.
  stream.on('error', () => {});
  if ('write' in descriptor) {
    stream.end(descriptor.write);
    return;
  }
  stream.setEncoding('utf8').on('data', (text: string) => {
    if (descriptor.answer !== null && !stream.writableEnded) stream.end(descriptor.answer);
    tell({ id, isNews: true, descriptor: number, text });
  });
}

/** Gives a socket to the order that waits for it. */
function receive(socket: Socket): void {
  socket.setTimeout(CONNECT_LIMIT_MS, () => socket.destroy());
  socket.on('error', () => {});
  socket.once('data', (first: Buffer) => {
    // The server says nothing more to it before the program has it.
    socket.pause().setTimeout(0);
    const said = first.toString('latin1');
    const take = awaited.get(said.slice(0, KEY_LENGTH));
    if (take === undefined) socket.destroy();
    else take(Number(said.slice(KEY_LENGTH)), socket);
  });
}
