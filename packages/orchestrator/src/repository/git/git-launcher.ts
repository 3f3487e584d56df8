/**
 * Speaks with the small process that starts git: one for the whole program, started with the first command, and replaced when much
 * went through it, since a start of git costs in proportion to the memory of the process that starts it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { GitCancellation, GitOrder, GitQuestion, GitReport } from './git-launcher-process.ts';
import type { GitObjects } from './object-reader.ts';

const COMPILED = process.env['NODE_COMPILE_CACHE'];
/** Electron starts an editor instead of Node without it. */
const AS_NODE = process.versions['electron'] === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' };

export type GitRun = Omit<Extract<GitReport, { readonly exitCode: number }>, 'id'>;

/** Input and output of git after which the small process is replaced: it keeps much of the memory that they took. */
const CARRIED_BYTES = 16 * 1024 * 1024;
/** Bytes of an object's name, id, type and size in a message, estimated. */
const OBJECT_BYTES = 200;

const PROGRAM = fileURLToPath(new URL(`./git-launcher-process${import.meta.url.slice(-3)}`, import.meta.url));

/**
 * Runs git to its end.
 * @param signal ends it when it is aborted
 * @throws {Error} when it cannot be started, or when nobody knows how it ended
 */
export async function launchGit(order: Omit<GitOrder, 'id'>, signal?: AbortSignal): Promise<GitRun> {
  const report = await runningLauncher().send(order, signal);
  if ('exitCode' in report) return report;
  throw 'fault' in report ? notStarted('Git', report) : new Error('git was not asked for objects');
}

/**
 * Asks a git that is kept for such questions, and started where none is there.
 * @param signal gives the question up when it is aborted
 * @throws {Error} when it ends without an answer
 */
export async function askLaunched(question: Omit<GitQuestion, 'id'>, signal?: AbortSignal): Promise<GitObjects> {
  const report = await runningLauncher().send(question, signal);
  if ('objects' in report) return report.objects;
  throw new Error('fault' in report ? report.fault : 'git was not asked to run');
}

let launcher: Launcher | null = null;
/** Takes the place of the launcher once it has said that it is ready. */
let follower: Launcher | null = null;

function runningLauncher(): Launcher {
  if (launcher === null) {
    try {
      launcher = follower ?? startLauncher();
    } catch (error) {
      throw launcherNotStarted(error as NodeJS.ErrnoException); // Node throws nothing else.
    }
    follower = null;
  }
  if (launcher.carriedBytes > CARRIED_BYTES && follower === null) {
    try {
      follower = startLauncher();
    } catch {
      // Where there is no room for another one this one goes on, as it does beside one that hangs at its start.
    }
  }
  return launcher;
}

/** @throws {Error} where Node says at once that there is no room for it */
function startLauncher(): Launcher {
  return new Launcher({
    onReady(ready) {
      if (follower !== ready) return;
      launcher?.retire();
      launcher = ready;
      follower = null;
    },
    onEnd(ended) {
      if (launcher === ended) launcher = null;
      if (follower === ended) follower = null;
    },
  });
}

/** Bytes of a message's input, output or objects; the rest of it is small. */
function bytesOf(message: Omit<GitOrder, 'id'> | Omit<GitQuestion, 'id'> | GitReport): number {
  if ('input' in message) return Buffer.byteLength(message.input);
  if ('stdout' in message) return message.stdout.byteLength;
  if ('objects' in message)
    return message.objects.reduce((sum, object) => sum + OBJECT_BYTES + (object?.content.byteLength ?? 0), 0);
  return 0;
}

interface Waiting {
  readonly resolve: (report: GitReport) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Git did not start for want of something that comes back, such as memory or room for one more process; or what starts it was
 * killed, and whether git has done what it was asked for is not known.
 */
export class GitUnavailable extends Error {}

/** System error codes for a lack of processes, memory or file descriptors. */
const NO_ROOM: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE']);

function notStarted(what: string, { fault, code }: { readonly fault: string; readonly code?: string }): Error {
  return NO_ROOM.has(code) ? new GitUnavailable(`${what} cannot be started (${fault})`) : new Error(fault);
}

function launcherNotStarted({ message: fault, code }: NodeJS.ErrnoException): Error {
  return notStarted('The process that starts git', { fault, ...(code === undefined ? {} : { code }) });
}

/** Longest start. A process that finds no room for its threads may hang at it for ever. */
const START_LIMIT_MS = 60_000;

class Launcher {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  carriedBytes = 0;
  #isRetired = false;

  constructor({ onReady, onEnd }: Record<'onReady' | 'onEnd', (self: Launcher) => void>) {
    this.#process = fork(PROGRAM, [], {
      serialization: 'advanced',
      // Nothing of the server's own environment: what git needs comes with each command.
      env: { ...(COMPILED === undefined ? {} : { NODE_COMPILE_CACHE: COMPILED }), ...AS_NODE },
      execArgv: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const kill = (): void => void this.#process.kill('SIGKILL');
    const limit = setTimeout(() => {
      end(new GitUnavailable(`The process that starts git was not ready within ${START_LIMIT_MS / 1_000} seconds`));
      kill();
    }, START_LIMIT_MS).unref();
    // One that hangs does not hear that this program ends.
    process.once('exit', kill);
    const hasStarted = (): void => {
      clearTimeout(limit);
      process.off('exit', kill);
    };
    this.#process.once('message', () => {
      hasStarted();
      onReady(this);
      this.#process.on('message', (report) => this.#take(report as GitReport));
    });
    // It has ended, or could not be started; the next command starts another one.
    const end = (why: Error): void => {
      hasStarted();
      onEnd(this);
      const waiting = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const { reject } of waiting) reject(why);
    };
    this.#process.on('error', (error) => end(launcherNotStarted(error)));
    this.#process.once('exit', (code, signal) =>
      end(new GitUnavailable(`The process that starts git ended (${signal ?? code}) while git worked`)),
    );
    this.#hold();
  }

  /** Ends the process as soon as nothing is under way in it. It takes no more commands. */
  retire(): void {
    this.#isRetired = true;
    this.#endRetired();
  }

  #endRetired(): void {
    if (this.#isRetired && this.#waiting.size === 0 && this.#process.connected) this.#process.disconnect();
  }

  send(order: Omit<GitOrder, 'id'> | Omit<GitQuestion, 'id'>, signal?: AbortSignal): Promise<GitReport> {
    const { promise, resolve, reject } = Promise.withResolvers<GitReport>();
    const id = (this.#lastId += 1);
    const cancel = (): void => void this.#process.send({ cancel: id } satisfies GitCancellation, () => {});
    this.#waiting.set(id, { resolve, reject });
    // One that could not be started may have no channel; why is told to all who wait.
    if (this.#process.pid === undefined) return promise;
    this.carriedBytes += bytesOf(order);
    this.#hold();
    this.#process.send({ ...order, id } satisfies GitOrder | GitQuestion, (error) => {
      if (error === null) return;
      this.#waiting.delete(id);
      this.#hold();
      reject(new GitUnavailable('The process that starts git ended before it took a command', { cause: error }));
    });
    if (signal === undefined) return promise;
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    return promise.finally(() => signal.removeEventListener('abort', cancel));
  }

  #take(report: GitReport): void {
    const waiting = this.#waiting.get(report.id);
    this.#waiting.delete(report.id);
    this.carriedBytes += bytesOf(report);
    this.#hold();
    this.#endRetired();
    waiting?.resolve(report);
  }

  /** Keeps the program alive while a command is under way, and no longer. */
  #hold(): void {
    const { channel } = this.#process;
    if (this.#waiting.size > 0) {
      this.#process.ref();
      channel?.ref();
    } else {
      this.#process.unref();
      channel?.unref();
    }
  }
}
