/**
 * A small process beside this program that starts others for it. Whoever starts a process is copied for it and stands still meanwhile,
 * which takes this program, with much in its memory, tens of milliseconds.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

const COMPILED = process.env['NODE_COMPILE_CACHE'];
/** Electron starts an editor instead of Node without it. */
const AS_NODE = process.versions['electron'] === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' };

/** Longest start. A process that finds no room for its threads may hang at it for ever. */
const START_LIMIT_MS = 60_000;
/** A process that owes an answer is asked so often, and killed after so many questions in a row without a word from it. */
const QUESTION_EVERY_MS = 1_000;
const UNANSWERED_QUESTIONS = 10;

/** System error codes for a lack of processes, memory or file descriptors. */
const NO_ROOM: ReadonlySet<unknown> = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE']);

/** Whether the system had too little memory, or too few processes or file descriptors, which passes. */
export function isNoRoom(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NO_ROOM.has(error.code);
}

/**
 * A program did not start for want of something that comes back, such as memory or room for one more process; or what starts it was
 * killed, and whether the program has done what it was started for is not known.
 */
export class ProcessUnavailable extends Error {}

/** Why a program was not started, as the small process reports it. */
export interface StartFault {
  readonly fault: string;
  /** Error code of the system, such as `EMFILE`. */
  readonly code?: string;
}

/**
 * The error for a program that could not be started: `ProcessUnavailable` for a lack of room, which passes.
 * @param what name of the program, the subject of the message
 */
export function notStarted(what: string, { fault, code }: StartFault): Error {
  return NO_ROOM.has(code) ? new ProcessUnavailable(`${what} cannot be started (${fault})`) : new Error(fault);
}

/** @param cwd folder in which the program was to start: the system names the program where the folder is at fault */
export function startFault(error: unknown, cwd?: string): StartFault {
  if (!(error instanceof Error)) return { fault: String(error) };
  if (!('code' in error)) return { fault: error.message };
  const code = String(error.code);
  if (code === 'E2BIG') return { fault: 'its arguments and variables are longer than the system takes (E2BIG)', code };
  const isOfFile = ['ENOENT', 'ENOTDIR', 'EACCES'].includes(code);
  return { fault: (isOfFile && cwd !== undefined && folderFault(cwd)) || error.message, code };
}

/** @returns `null` for a folder that can be entered */
function folderFault(folder: string): string | null {
  try {
    accessSync(`${folder}/.`, constants.X_OK);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return `there is no folder ${folder} to start it in`;
    return code === 'ENOTDIR'
      ? `${folder} is not a folder, so it cannot be started there`
      : `it may not enter the folder ${folder} (${code})`;
  }
}

export const READY = 'ready';

export interface SmallProcessSettings {
  /** File that it runs. Its first message is `READY`, or a sentence about what it misses. */
  readonly program: string;
  /** Plural name of the programs that it starts, for messages. */
  readonly starts: string;
  readonly onReady?: (self: SmallProcess) => void;
  readonly onEnd: (self: SmallProcess) => void;
}

export interface Sending<Report> {
  /** Reports that come before the last one, which has no `isNews`. */
  readonly onNews?: (report: Report) => void;
  /** Asks it to end what the message has started; the last report still comes. */
  readonly signal?: AbortSignal | undefined;
}

/** Asks for the end of what the message of this id has started. */
export interface Cancellation {
  readonly cancel: number;
}

/** Asks for an answer of any kind; it is sent back as it is. */
export interface Question {
  readonly isQuestion: true;
}

interface Report {
  readonly id: number;
  readonly isNews?: true;
  /** A program has started. */
  readonly pid?: number;
}

interface Waiting {
  /** Answer that is due: the start of a program, or its end once that was asked for. `null` while a program runs. */
  owed: 'start' | 'end' | null;
  readonly onNews: ((report: never) => void) | undefined;
  readonly resolve: (report: never) => void;
  readonly reject: (error: Error) => void;
}

export class SmallProcess {
  static readonly #ready = new Set<SmallProcess>();

  static {
    // A process that stands still does not notice that this program ends.
    process.on('exit', () => {
      for (const each of SmallProcess.#ready) if (each.#unanswered > 0 || isStopped(each.#process.pid)) each.#kill();
    });
  }

  readonly #process: ChildProcess;
  readonly #starts: string;
  readonly #onEnd: (self: SmallProcess) => void;
  readonly #waiting = new Map<number, Waiting>();
  /** Gives up all that wait. */
  readonly #abandon: (why: Error) => void;
  #isReady = false;
  #watch: NodeJS.Timeout | null = null;
  #unanswered = 0;
  #lastId = 0;
  #isRetired = false;

  /** @throws {ProcessUnavailable} where Node says at once that there is no room for it */
  constructor({ program, starts, onReady, onEnd }: SmallProcessSettings) {
    this.#starts = starts;
    this.#onEnd = onEnd;
    this.#process = this.#fork(program);
    const kill = (): void => this.#kill();
    const limit = setTimeout(() => {
      end(new ProcessUnavailable(`${this.#name} was not ready within ${START_LIMIT_MS / 1_000} seconds`));
      kill();
    }, START_LIMIT_MS).unref();
    // A process that hangs at its start does not notice that this program ends.
    process.once('exit', kill);
    const hasStarted = (): void => {
      clearTimeout(limit);
      process.off('exit', kill);
    };
    this.#process.once('message', (first) => {
      hasStarted();
      if (first !== READY) {
        end(new Error(`${this.#name} cannot work: ${String(first)}`));
        kill();
        return;
      }
      this.#isReady = true;
      SmallProcess.#ready.add(this);
      onReady?.(this);
      this.#process.on('message', (report) => this.#take(report as Report | Question));
    });
    // It has ended, or could not be started; the next message starts another one.
    const end = (why: Error): void => {
      hasStarted();
      SmallProcess.#ready.delete(this);
      onEnd(this);
      const waiting = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const each of waiting) each.reject(why);
    };
    this.#abandon = end;
    this.#process.on('error', (error) => end(notStarted(this.#name, startFault(error))));
    this.#process.once('exit', (code, signal) =>
      end(new ProcessUnavailable(`${this.#name} ended (${signal ?? code}) while ${starts} worked`)),
    );
    this.#hold();
  }

  get #name(): string {
    return `The process that starts ${this.#starts}`;
  }

  #fork(program: string): ChildProcess {
    try {
      return fork(program, [], {
        serialization: 'advanced',
        // Nothing of the server's own environment: what a program needs comes with each message.
        env: { TMPDIR: tmpdir(), ...(COMPILED === undefined ? {} : { NODE_COMPILE_CACHE: COMPILED }), ...AS_NODE },
        execArgv: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1'],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        // A Ctrl-C at the server's terminal is for the server, which has data to store before it ends.
        detached: true,
      });
    } catch (error) {
      throw notStarted(this.#name, startFault(error));
    }
  }

  /** Ends the process as soon as nothing is under way in it. It takes no more messages. */
  retire(): void {
    this.#isRetired = true;
    this.#endRetired();
  }

  #endRetired(): void {
    if (this.#isRetired && this.#waiting.size === 0 && this.#process.connected) this.#process.disconnect();
  }

  /**
   * Sends a message and waits for its last report.
   * @param message gets an id
   * @throws {ProcessUnavailable} when the process ends without it
   */
  send<Report>(message: object, { onNews, signal }: Sending<Report> = {}): Promise<Report> {
    const { promise, resolve, reject } = Promise.withResolvers<Report>();
    const id = (this.#lastId += 1);
    const waiting: Waiting = { owed: 'start', onNews, resolve, reject };
    const cancel = (): void => {
      waiting.owed = 'end';
      this.#watchOwed();
      this.#process.send({ cancel: id } satisfies Cancellation, () => {});
    };
    this.#waiting.set(id, waiting);
    // A process that could not be started may have no channel. The 'error' event rejects all that wait.
    if (this.#process.pid === undefined) return promise;
    this.#hold();
    this.#watchOwed();
    this.#process.send({ ...message, id }, (error) => {
      if (error === null) return;
      this.#waiting.delete(id);
      this.#hold();
      // Its end may not be known yet. The next message starts another one.
      this.#onEnd(this);
      reject(new ProcessUnavailable(`${this.#name} ended before it took a command`, { cause: error }));
    });
    if (signal === undefined) return promise;
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    return promise.finally(() => signal.removeEventListener('abort', cancel));
  }

  #take(report: Report | Question): void {
    this.#unanswered = 0;
    if ('isQuestion' in report) return;
    const waiting = this.#waiting.get(report.id);
    if (report.isNews === true) {
      if (waiting?.owed === 'start' && report.pid !== undefined) waiting.owed = null;
      waiting?.onNews?.(report as never);
      return;
    }
    this.#waiting.delete(report.id);
    this.#hold();
    this.#endRetired();
    waiting?.resolve(report as never);
  }

  /**
   * Replaces a process that stands still, as after SIGSTOP, once an answer is due. Questions are counted and not the time, which goes on
   * while this program stands still itself.
   */
  #watchOwed(): void {
    if (this.#watch !== null) return;
    this.#unanswered = 0;
    this.#watch = setInterval(() => {
      if ([...this.#waiting.values()].every(({ owed }) => owed === null)) {
        clearInterval(this.#watch ?? undefined);
        this.#watch = null;
      } else if (this.#unanswered >= UNANSWERED_QUESTIONS) {
        const seconds = (UNANSWERED_QUESTIONS * QUESTION_EVERY_MS) / 1_000;
        this.#kill();
        this.#abandon(new ProcessUnavailable(`${this.#name} did not answer for ${seconds} seconds and was killed`));
      } else if (this.#isReady) {
        this.#unanswered += 1;
        this.#process.send({ isQuestion: true } satisfies Question, () => {});
      }
    }, QUESTION_EVERY_MS).unref();
  }

  /** With all that it has started: nothing else would end that. */
  #kill(): void {
    const started = childrenOf(this.#process.pid);
    this.#process.kill('SIGKILL');
    for (const pid of started) signalGroup(pid, 'SIGKILL');
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

/** Signals a process group. Nothing happens to a group that has ended; macOS refuses a group of zombies. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

/** Whether the process was stopped by a signal. Linux only. */
function isStopped(pid: number | undefined): boolean {
  return / [Tt] /.test(readProc(`${pid}/stat`).replace(/^.*\)/s, ''));
}

/** Each is the leader of a process group. Linux only. */
function childrenOf(pid: number | undefined): readonly number[] {
  return (readProc(`${pid}/task/${pid}/children`).match(/\d+/g) ?? []).map(Number);
}

/** @returns an empty text where there is no such file */
function readProc(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, 'utf8');
  } catch {
    return '';
  }
}
