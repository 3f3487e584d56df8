/**
 * Starts one command as a process group of its own and sees it to its end: input, capped output, time limit, abort.
 * A streamed one is spoken to instead: its input stays open and its output is read as it comes.
 */
import { constants } from 'node:os';
import { PassThrough, pipeline, Readable, Writable } from 'node:stream';
import { InvalidRequest, NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { launchProgram, MayHaveRun, type ProgramRequest } from '../processes/program.ts';
import { ProcessUnavailable } from '../processes/small-process.ts';
import { CappedOutput } from './capped-output.ts';
import type { CommandRequest, CommandResult, ProcessExit, ProcessRequest, SandboxProcess } from './sandbox.ts';

/** Kept of stdout and of stderr (each) where a request names no other figure. */
export const DEFAULT_MAX_OUTPUT_BYTES = 1024 * 1024;

/** Most bytes of output. A command that writes more is ended, because passing the output on costs the server. */
export const ENDLESS_OUTPUT_BYTES = 64 * 1024 * 1024;

const LONGEST_COMMAND_BYTES = 120_000;

/** setTimeout fires at once beyond this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface SpawnRequest
  extends Omit<CommandRequest, 'command'>, Pick<ProgramRequest, 'file' | 'args' | 'cwd' | 'env' | 'descriptors'> {
  /** Ends what is not in the process group. */
  readonly killMore?: () => void;
  /** Leaves stdin and stdout to the caller: only stderr is kept, and no amount of output ends it. */
  readonly streamed?: boolean;
}

export interface ProcessEnd extends CommandResult {
  /** Signal that ended the process and was not sent by this server; `null`: none. */
  readonly foreignSignal: string | null;
  /** Why it was ended before its time; `null` when it ended by itself. */
  readonly endedBecause: string | null;
}

export interface StartedProcess {
  /** Settles when the process has ended and its output read. Rejects with `NeedsHuman` when it cannot be started. */
  readonly done: Promise<ProcessEnd>;
  /** Kills the process group. May be called twice; the first reason stands. */
  end(because: string): void;
  /** Both are there for a streamed process that was started. */
  readonly stdin?: Writable;
  readonly stdout?: Readable;
}

/** Options of a streamed process for `startProcess`. */
export function streamedRequest({ signal, maxStderrBytes }: ProcessRequest) {
  return {
    streamed: true,
    timeoutMs: Number.POSITIVE_INFINITY,
    ...(signal === undefined ? {} : { signal }),
    ...(maxStderrBytes === undefined ? {} : { maxOutputBytes: maxStderrBytes }),
  };
}

/** A streamed process as the port has it. */
export function sandboxProcess(started: StartedProcess, done: Promise<ProcessEnd>): SandboxProcess {
  const { stdin = nowhere(), stdout = Readable.from([]) } = started;
  const exit = done.then(({ exitCode, stderr, endedBecause }): ProcessExit => ({ exitCode, stderr, endedBecause }));
  // Callers that never await the end get the failure from the streams.
  exit.catch(() => {});
  return {
    stdin: Writable.toWeb(stdin),
    // Node's own type of the same stream: the bytes of a pipe.
    stdout: Readable.toWeb(stdout) as ReadableStream<Uint8Array>,
    done: exit,
    end: (because) => started.end(because),
  };
}

export function startProcess(request: SpawnRequest): StartedProcess {
  const startedAt = performance.now();
  if (request.signal?.aborted) return { done: Promise.resolve(neverStarted()), end: () => {} };

  let endedBecause: string | null = null;
  let timedOut = false;
  let fault: Error | undefined;

  const killed = new AbortController();
  const end = (because: string): void => {
    endedBecause ??= because;
    killed.abort();
    request.killMore?.();
  };
  const abort = (): void => end('aborted');
  const timer = Number.isFinite(request.timeoutMs)
    ? setTimeout(
        () => {
          timedOut = true;
          end(`time limit of ${request.timeoutMs} ms`);
        },
        Math.min(request.timeoutMs, LONGEST_TIMER_MS),
      )
    : undefined;
  request.signal?.addEventListener('abort', abort, { once: true });

  const stdout = new CappedOutput(request.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
  const stderr = new CappedOutput(request.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
  const collect = (stream: Readable, output: CappedOutput): void => {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const report = (text: string): void => {
      if (text === '' || fault !== undefined) return;
      try {
        request.onOutput?.(text);
      } catch (error) {
        fault = error instanceof Error ? error : new Error(String(error));
        end('its listener failed');
      }
    };
    stream.on('data', (chunk: Buffer) => {
      output.push(chunk);
      if (endedBecause === null) report(decoder.decode(chunk, { stream: true }));
      if (!request.streamed && stdout.totalBytes + stderr.totalBytes > ENDLESS_OUTPUT_BYTES) {
        end(`more than ${ENDLESS_OUTPUT_BYTES / 1024 / 1024} MB of output`);
      }
    });
    stream.on('end', () => report(decoder.decode()));
  };
  const { file, args, cwd, env, descriptors = [], stdin, streamed = false } = request;
  const program = { file, args, cwd, env, descriptors, input: stdin, isInputOpen: streamed };
  const launched = launchProgram({ ...program, signal: killed.signal });
  // Those of a streamed process are there before it has started.
  const [input, output] = [new PassThrough(), new PassThrough()];
  const gone = launched.then((started) => {
    collect(started.stderr, stderr);
    if (!streamed || started.stdin === null) collect(started.stdout, stdout);
    else {
      // A write to a process that is gone fails where it is made. A quick one is gone by now.
      if (started.stdin.writable) pipeline(input, started.stdin, () => {});
      else input.destroy();
      pipeline(started.stdout, output, () => {});
    }
    return started.end.catch(lost);
  }, notStarted);

  const done = gone
    .catch((error: unknown) => {
      input.destroy();
      output.end();
      // A command that was ended before it started has no output.
      if (endedBecause !== null) return { exitCode: null, signal: null };
      throw error;
    })
    .then(({ exitCode, signal }): ProcessEnd => {
      if (fault !== undefined) throw fault;
      const note = endedBecause === null ? '' : `[ended by the sandbox: ${endedBecause}]\n`;
      return {
        exitCode: endedBecause === null ? (exitCode ?? 128 + (signal === null ? 0 : constants.signals[signal])) : null,
        stdout: stdout.text(),
        stderr: withLine(stderr.text(), note),
        timedOut,
        durationMs: Math.round(performance.now() - startedAt),
        foreignSignal: endedBecause === null ? signal : null,
        endedBecause,
      };
    })
    .finally(() => {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', abort);
    });
  return streamed ? { done, end, stdin: input.on('error', () => {}), stdout: output } : { done, end };
}

/**
 * Linux takes no single argument of 128 kB or more, and none with a NUL.
 * @throws {InvalidRequest} naming the way out
 */
export function assertCommand(command: string): void {
  if (command.includes('\0')) throw new InvalidRequest('A command must not hold a NUL character');
  const bytes = Buffer.byteLength(command);
  if (bytes > LONGEST_COMMAND_BYTES) {
    throw new InvalidRequest(
      `The command has ${bytes} bytes, the limit is ${LONGEST_COMMAND_BYTES}: write it to a file and run that, or pass its data as stdin`,
    );
  }
}

/** Puts `line` on a line of its own at the end of `text`. */
export function withLine(text: string, line: string): string {
  return line === '' || text === '' || text.endsWith('\n') ? text + line : `${text}\n${line}`;
}

/** The input of a process that was never started. */
function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, callback) => callback(new Error('the process has ended')) });
}

/** The end of a command whose signal was aborted before it began. */
export function neverStarted(): ProcessEnd {
  const stderr = '[ended by the sandbox: aborted before it started]\n';
  return {
    exitCode: null,
    stdout: '',
    stderr,
    timedOut: false,
    durationMs: 0,
    foreignSignal: null,
    endedBecause: 'aborted',
  };
}

/** Neither the command nor its author can help that the machine starts no process. */
function notStarted(error: unknown): never {
  if (error instanceof MayHaveRun) lost(error);
  const why = error instanceof Error ? error.message : String(error);
  if (error instanceof ProcessUnavailable)
    throw new RetryableFailure(
      `The command could not be started: ${why}. It is tried again; check the server's memory and its limits of open files and processes where that goes on`,
      { reason: 'sandbox_unavailable', cause: error },
    );
  throw new NeedsHuman('sandbox_unavailable', `The command could not be started: ${why}`, { cause: error });
}

/** The small process that starts programs has ended while a command ran. The command is not at fault; how far it came is not known. */
function lost(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new RetryableFailure(`A command was lost and may have run: ${why}`, {
    reason: 'sandbox_unavailable',
    cause: error,
  });
}
