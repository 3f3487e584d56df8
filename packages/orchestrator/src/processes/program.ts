/**
 * Programs that a small process starts for this one, since whoever starts a process is copied for it: the server, with much in its
 * memory, would stand still for tens of milliseconds.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ProgramOrder, ProgramReport } from './program-starter-process.ts';
import { notStarted, ProcessUnavailable, signalGroup, SmallProcess, startFault } from './small-process.ts';

const PROGRAM = fileURLToPath(new URL(`./program-starter-process${import.meta.url.slice(-3)}`, import.meta.url));

/** How long output may stay open after the program has ended, held by a process that left its group. */
const OUTPUT_GRACE_MS = 2_000;
/** Longest time that a slow reader has for the output of a program that has ended by itself. */
const READING_LIMIT_MS = 60_000;

export interface ProgramRequest extends Pick<ProgramOrder, 'file' | 'args' | 'cwd' | 'env'> {
  /** Its whole input. Absent: it is empty. */
  readonly input?: string | Uint8Array | undefined;
  /** The caller writes its input. */
  readonly isInputOpen?: boolean | undefined;
  /** File descriptors 3, 4, …: what the program reads there, or a listener for what it writes there, and the answer to the first of it. */
  readonly descriptors?: readonly (
    | { readonly write: string | Uint8Array }
    | { readonly read?: (text: string) => void; readonly answer?: string }
  )[];
  /** Kills the process group when it is aborted, also before the program has started. */
  readonly signal?: AbortSignal | undefined;
}

export interface ProgramEnd {
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface LaunchedProgram {
  /** `null` where it was not to be open. */
  readonly stdin: Socket | null;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /**
   * Settles when the program has ended and all of its output has been read: see to it that it is.
   * Rejects with `ProcessUnavailable` when the small process ends before.
   */
  readonly end: Promise<ProgramEnd>;
}

/** The small process ended after it could start the program and before it told of that. */
export class MayHaveRun extends ProcessUnavailable {}

/**
 * Starts a program.
 * @throws {Error} when it cannot be started, or is ended before; `ProcessUnavailable` where time mends that; `MayHaveRun` where it is not
 * known whether the program has run
 */
export async function launchProgram(request: ProgramRequest): Promise<LaunchedProgram> {
  const { file, args, cwd, env, input, isInputOpen = false, descriptors = [] } = request;
  const key = randomUUID();
  const order: Omit<ProgramOrder, 'id'> = {
    key,
    file,
    args,
    cwd,
    env,
    sockets: isInputOpen || input !== undefined ? [0, 1, 2] : [1, 2],
    descriptors: descriptors.map((each) => ('write' in each ? each : { answer: each.answer ?? null })),
  };
  const { promise: started, resolve, reject } = Promise.withResolvers<number>();
  const sockets = new Map<number, Socket>();
  const onNews = (news: ProgramReport): void => {
    if ('pid' in news) resolve(news.pid);
    else if ('socketPath' in news) {
      socketFolder = path.dirname(news.socketPath);
      for (const stream of order.sockets) sockets.set(stream, openStream(news.socketPath, `${key}${stream}`, reject));
    } else if ('text' in news) {
      const descriptor = descriptors[news.descriptor - 3];
      if (descriptor !== undefined && !('write' in descriptor)) descriptor.read?.(news.text);
    }
  };
  const unconnected = new AbortController();
  const signal = AbortSignal.any([unconnected.signal, ...(request.signal === undefined ? [] : [request.signal])]);
  const last = runningStarter().send<ProgramReport>(order, { onNews, signal });
  last.then(
    (report) => {
      if (!('fault' in report)) return;
      const why = notStarted(file, report);
      // After a start without room a process may hold on to descriptors that it had already opened for it.
      if (why instanceof ProcessUnavailable) replaceStarter();
      reject(why);
    },
    (cause: unknown) => reject(sockets.size === 0 ? cause : new MayHaveRun(startFault(cause).fault, { cause })),
  );
  try {
    const pid = await started;
    // The small process may stand still.
    request.signal?.addEventListener('abort', () => signalGroup(pid, 'SIGKILL'), { once: true });
    const [stdin, stdout, stderr] = [sockets.get(0) ?? null, sockets.get(1) as Socket, sockets.get(2) as Socket];
    // It ends when the program closes its input, which shows only while it is read.
    stdin?.resume();
    if (input !== undefined) stdin?.end(input);
    const closed = Promise.all([stdout, stderr].map(isClosed));
    const end = last.then(
      async (report): Promise<ProgramEnd> => {
        stdin?.destroy();
        for (const output of [stdout, stderr]) output.resume();
        const endedAt = performance.now();
        const grace = setInterval(() => {
          const isOver = request.signal?.aborted || performance.now() - endedAt > READING_LIMIT_MS;
          for (const output of [stdout, stderr])
            if (isOver || !isBehind(output)) output.destroy(new Error('The output of a program was cut off'));
        }, OUTPUT_GRACE_MS);
        await closed;
        clearInterval(grace);
        if ('exitCode' in report) return { exitCode: report.exitCode, signal: report.signal };
        throw new Error('fault' in report ? report.fault : 'nobody told how it ended');
      },
      (error: unknown) => {
        signalGroup(pid, 'SIGKILL');
        for (const socket of sockets.values()) socket.destroy(new Error('The output of a program was cut off'));
        throw error;
      },
    );
    return { stdin, stdout, stderr, end };
  } catch (error) {
    unconnected.abort();
    for (const socket of sockets.values()) socket.destroy();
    throw error;
  }
}

/** Whether output has arrived that its reader has not taken yet. */
function isBehind(output: Socket): boolean {
  return output.readableLength > 0;
}

let starter: SmallProcess | null = null;
let socketFolder: string | null = null;

/** The next program starts in a new small process. Programs under way in the former one come to their end. */
function replaceStarter(): void {
  starter?.retire();
  starter = null;
  socketFolder = null;
}

function runningStarter(): SmallProcess {
  starter ??= new SmallProcess({
    program: PROGRAM,
    starts: 'programs',
    onEnd(ended) {
      if (starter !== ended) return;
      starter = null;
      // A small process that was killed has not removed its folder.
      if (socketFolder !== null) rmSync(socketFolder, { recursive: true, force: true });
      socketFolder = null;
    },
  });
  return starter;
}

/** @param fail is told when it breaks; that means nothing once the program has started */
function openStream(socketPath: string, name: string, fail: (error: Error) => void): Socket {
  const socket = connect(socketPath);
  socket.on('error', (error) => fail(new ProcessUnavailable(`The stream of a program broke: ${error.message}`)));
  socket.write(name);
  return socket;
}

function isClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

export interface RunOptions {
  /** Default: `/`. */
  readonly cwd?: string;
  /** The whole environment. Default: the server's PATH and plain messages. */
  readonly env?: ProgramOrder['env'];
  /** Kills it when it is aborted. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface RunResult {
  /** `null` when it was killed. */
  readonly exitCode: number | null;
  /** The first megabyte. */
  readonly stdout: string;
  readonly stderr: string;
  /** It was killed for the time that it took. */
  readonly isLate: boolean;
}

const KEPT_BYTES = 1024 * 1024;

/**
 * Runs a program without input to its end.
 * @throws {Error} as `launchProgram`
 */
export async function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { cwd = '/', env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' }, signal, timeoutMs } = options;
  const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const ends = [signal, late].filter((each) => each !== undefined);
  const program = await launchProgram({ file, args, cwd, env, signal: AbortSignal.any(ends) });
  const [stdout, stderr] = [beginningOf(program.stdout), beginningOf(program.stderr)];
  const { exitCode } = await program.end;
  return { exitCode, stdout: stdout(), stderr: stderr(), isLate: late?.aborted === true };
}

/** Reads a stream to its end and keeps its beginning. @returns the text so far */
function beginningOf(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes < KEPT_BYTES) chunks.push(chunk);
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
