/**
 * One command in an E2B sandbox. Of itself E2B would let its children live on, would run it as a user who may become root, and
 * with the environment of the template. So root starts it: in a process namespace of its own, which ends with it, as a user who
 * can become nobody else, under limits and with a clean environment.
 */
import { randomUUID } from 'node:crypto';
import { NeedsHuman } from '@autonomous/shared';
import type { CommandHandle, CommandResult as E2bResult, Sandbox as Machine } from 'e2b';
import { CappedOutput } from '../capped-output.ts';
import { DEFAULT_MAX_OUTPUT_BYTES, ENDLESS_OUTPUT_BYTES, neverStarted, withLine } from '../child-process.ts';
import { OTHER_TEMPLATE } from './e2b-failure.ts';
import { e2bNetwork } from './e2b-network.ts';
import { SCRIPTS_OFF } from '../npm-settings.ts';
import { AS_USER } from './remote-folder.ts';
import type { CommandRequest, CommandResult, ProcessRequest, SandboxProcess, SandboxSpec } from '../sandbox.ts';
import { quoted } from '../sandbox-files.ts';

export const WORKSPACE = '/workspace';
export const HOME = '/home/agent';
/** Only root can look into it. */
export const STAGING_DIR = '/var/lib/autonomous';

/**
 * Stands before all output. What a login shell says before is none of the command's; and E2B's decoder would take a byte
 * order mark at the beginning for its own.
 */
const MARK = '\u0002';

/** How long a command that was killed has to end; its stream is dropped then. */
const KILL_GRACE_MS = 10_000;

/** Most unread bytes of a long-running process. Beyond this the process is paused until they are read. */
const MAX_UNREAD_BYTES = 1024 ** 2;

/** setTimeout fires at once beyond this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface StartedCommand {
  /** @throws whatever E2B says where the command's end cannot be known */
  readonly done: Promise<CommandEnd>;
  /** Kills it with all its children. May be called twice; the first reason stands. */
  end(because: string): void;
  /** Whether it was told to end. */
  isEnding(): boolean;
}

export interface CommandEnd extends CommandResult {
  /** Why it was ended from here; `null` when it ended by itself. */
  readonly endedBecause: string | null;
}

/** How a command is spoken to that stays. */
interface Conversation {
  readonly env: Readonly<Record<string, string>>;
  readonly onStart: (handle: CommandHandle) => void;
  /** @returns resolves when there is room for more; nothing where there is room at once */
  readonly onStdout: (text: string) => Promise<void> | undefined;
  /** Called when the command is ended here: `onStdout` is not called any more, and its earlier promises are not awaited. */
  readonly onEnding: () => void;
}

/**
 * Starts a command as the agent's user in `/workspace`.
 * @param request its command fits on a command line: see `assertCommand`
 */
export function startCommand(
  machine: Machine,
  spec: Pick<SandboxSpec, 'limits' | 'network'>,
  request: CommandRequest,
  conversation?: Conversation,
): StartedCommand {
  if (request.signal?.aborted) return { done: Promise.resolve(neverStarted()), end: () => {}, isEnding: () => true };
  const startedAt = performance.now();
  const stdout = new MarkedOutput(request.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
  const stderr = new MarkedOutput(request.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
  let endedBecause: string | null = null;
  let timedOut = false;
  let fault: Error | undefined;
  let handle: CommandHandle | undefined;
  const { promise: killed, resolve: onKilled } = Promise.withResolvers<void>();
  const sending = new AbortController();

  const end = (because: string): void => {
    if (endedBecause !== null) return;
    endedBecause = because;
    onKilled();
    sending.abort();
    conversation?.onEnding();
  };
  /** The SDK asks for no more of the command's output before what this returns has resolved. */
  const take = (output: MarkedOutput, text: string): Promise<void> | undefined => {
    const fresh = output.push(text);
    if (conversation !== undefined && handle !== undefined && stdout.marked) forgetOutput(handle);
    if (conversation === undefined && stdout.totalBytes + stderr.totalBytes > ENDLESS_OUTPUT_BYTES) {
      end(`more than ${ENDLESS_OUTPUT_BYTES / 1024 / 1024} MB of output`);
    }
    if (fresh === '' || endedBecause !== null) return undefined;
    try {
      request.onOutput?.(fresh);
      return output === stdout ? conversation?.onStdout(fresh) : undefined;
    } catch (error) {
      fault = error instanceof Error ? error : new Error(String(error));
      end('its listener failed');
      return undefined;
    }
  };

  const result = (exitCode: number | null, note: string): CommandEnd => ({
    exitCode,
    stdout: stdout.text(),
    stderr: withLine(stderr.text(), note),
    timedOut,
    durationMs: Math.round(performance.now() - startedAt),
    endedBecause,
  });
  const perform = async (): Promise<CommandEnd> => {
    const input =
      request.stdin === undefined
        ? null
        : await Promise.race([sendInput(machine, request.stdin, sending.signal), killed]);
    // It was ended before it began.
    if (input === undefined) return result(null, `[ended by the sandbox: ${endedBecause}]\n`);
    const names = Object.keys(conversation?.env ?? {});
    handle = await machine.commands.run(
      wrapped(spec, { ...request, names, isOpen: conversation !== undefined }, input),
      {
        background: true,
        stdin: conversation !== undefined,
        user: 'root',
        cwd: '/',
        envs: { COMMAND: request.command, ...passedOn(conversation?.env ?? {}) },
        // The limit is ours; 0 switches the SDK's own off.
        timeoutMs: 0,
        onStdout: (text) => take(stdout, text),
        onStderr: (text) => take(stderr, text),
      },
    );
    conversation?.onStart(handle);
    const exit = await exitOf(handle, killed).catch((error: unknown) => {
      if (endedBecause !== null) return null;
      throw error;
    });
    if (fault !== undefined) throw fault;
    if (endedBecause !== null) return result(null, `[ended by the sandbox: ${endedBecause}]\n`);
    if (exit === null || exit.exitCode < 0) {
      const why = exit?.error ?? 'no reason was given';
      return result(null, `[ended by the machine: ${why}; its memory is probably used up]\n`);
    }
    if (!stdout.marked) {
      throw new NeedsHuman(
        'sandbox_unavailable',
        `No command can be run in the E2B sandbox: ${exit.stderr.trim()}. ${OTHER_TEMPLATE}`,
      );
    }
    return result(exit.exitCode, '');
  };

  const abort = (): void => end('aborted');
  request.signal?.addEventListener('abort', abort, { once: true });
  const timer = Number.isFinite(request.timeoutMs)
    ? setTimeout(
        () => {
          timedOut = true;
          end(`time limit of ${request.timeoutMs} ms`);
        },
        Math.min(request.timeoutMs, LONGEST_TIMER_MS),
      )
    : undefined;
  const done = perform().finally(() => {
    clearTimeout(timer);
    request.signal?.removeEventListener('abort', abort);
  });
  return { done, end, isEnding: () => endedBecause !== null };
}

/** A command that stays and is spoken to. */
export interface StartedProcess extends StartedCommand, Pick<SandboxProcess, 'stdin' | 'stdout'> {}

/** Starts a command without a time limit whose input stays open. It is paused while its output is not read. */
export function startProcess(
  machine: Machine,
  spec: Pick<SandboxSpec, 'limits' | 'network'>,
  { command, env = {}, signal, maxStderrBytes }: ProcessRequest,
): StartedProcess {
  const { promise: handle, resolve: onStart, reject: onNever } = Promise.withResolvers<CommandHandle>();
  const encoder = new TextEncoder();
  let output: ReadableStreamDefaultController<Uint8Array> | null = null;
  let onRoom = (): void => {};
  const stdout = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        output = controller;
      },
      pull: () => onRoom(),
      cancel: () => {
        output = null;
        onRoom();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  );
  const write = (text: string): Promise<void> | undefined => {
    output?.enqueue(encoder.encode(text));
    if (output === null || (output.desiredSize ?? 0) > 0) return undefined;
    const { promise: room, resolve } = Promise.withResolvers<void>();
    onRoom = resolve;
    return room;
  };
  const request: CommandRequest = {
    command,
    timeoutMs: Number.POSITIVE_INFINITY,
    ...(signal === undefined ? {} : { signal }),
    ...(maxStderrBytes === undefined ? {} : { maxOutputBytes: maxStderrBytes }),
  };
  const started = startCommand(machine, spec, request, {
    env,
    onStart,
    onStdout: write,
    onEnding: () => onRoom(),
  });
  const done = started.done.then(
    (end) => {
      onNever(new Error('the process has ended'));
      output?.close();
      return end;
    },
    (error: unknown) => {
      onNever(error);
      output?.error(error);
      throw error;
    },
  );
  // Callers that write nothing get the failure from `done`.
  handle.catch(() => {});
  const stdin = new WritableStream<Uint8Array>({
    write: async (chunk) => {
      const { pid } = await handle;
      if (started.isEnding()) throw new Error('the process has ended');
      await machine.commands.sendStdin(pid, chunk);
    },
    close: async () => {
      const { pid } = await handle;
      // Where it has ended meanwhile there is nothing to close.
      await machine.commands.closeStdin(pid).catch(() => undefined);
    },
  });
  return { ...started, done, stdin, stdout };
}

/** The SDK keeps all output of a command. For a long-running command that is not needed, and it may write for days. */
function forgetOutput(handle: CommandHandle): void {
  // These fields are private in its types alone; it has no other way to let go of them.
  Object.assign(handle, { _stdout: '', _stderr: '' });
}

/** One stream of a command, from its mark on. */
class MarkedOutput {
  readonly #kept: CappedOutput;
  #marked = false;

  constructor(maxBytes: number) {
    this.#kept = new CappedOutput(maxBytes);
  }

  get marked(): boolean {
    return this.#marked;
  }

  get totalBytes(): number {
    return this.#kept.totalBytes;
  }

  /** @returns what of the text is the command's */
  push(text: string): string {
    const start = this.#marked ? 0 : text.indexOf(MARK) + 1;
    if (!this.#marked && start === 0) return '';
    this.#marked = true;
    const fresh = text.slice(start);
    this.#kept.push(Buffer.from(fresh));
    return fresh;
  }

  text(): string {
    return this.#kept.text();
  }
}

/** The end of a command. `null`: it was killed and E2B did not say that it ended. */
async function exitOf(handle: CommandHandle, killed: Promise<void>): Promise<E2bResult | null> {
  const ended = handle.wait().catch((error: unknown) => {
    if (isExit(error)) return error;
    throw error;
  });
  const dropped = killed.then(async () => {
    await handle.kill().catch(() => false);
    const { promise: late, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(() => resolve(null), KILL_GRACE_MS);
    const last = await Promise.race([ended.catch(() => null), late]).finally(() => clearTimeout(timer));
    if (last === null) await handle.disconnect();
    return last;
  });
  return Promise.race([ended, dropped]);
}

/** The SDK rejects with the result of a command that failed. */
function isExit(error: unknown): error is Error & E2bResult {
  return error instanceof Error && error.name === 'CommandExitError' && 'exitCode' in error;
}

async function sendInput(machine: Machine, stdin: string | Uint8Array, signal: AbortSignal): Promise<string> {
  const file = `${STAGING_DIR}/stdin-${randomUUID()}`;
  const content = new Blob([typeof stdin === 'string' ? stdin : Uint8Array.from(stdin)]);
  // The SDK itself waits for a stream without end.
  await machine.files.write(file, content.stream(), { user: 'root', signal });
  return file;
}

/**
 * Returns the script for root's shell. The first process of the namespace stays root and waits. The command is another process,
 * because signals do not reach the first one as they reach others. COMMAND is passed as a variable, since it would not fit twice
 * into the arguments.
 */
function wrapped(
  { limits, network }: Pick<SandboxSpec, 'limits' | 'network'>,
  {
    offline,
    names,
    isOpen,
  }: Pick<CommandRequest, 'offline'> & { readonly names: readonly string[]; readonly isOpen: boolean },
  input: string | null,
): string {
  const { reachesOut } = e2bNetwork(network);
  const variables = [
    `CI=1 HOME=${HOME} LANG=C.UTF-8 PATH="${HOME}/.venv/bin:$PATH:${HOME}/.local/bin" TERM=dumb TMPDIR=/tmp`,
  ];
  // As with bubblewrap: packages which an agent has just added must not run code where something can be reached.
  const off = Object.entries(SCRIPTS_OFF).map(([name, value]) => `${name}=${value}`);
  if (reachesOut) variables.push(...off, 'npm_config_audit=false npm_config_fund=false');
  variables.push(...names.map((name) => `${name}="$${PASSED_ON}${name}"`));
  const first = [
    isOpen ? 'exec 3<&0' : input === null ? 'exec 3< /dev/null' : `exec 3< ${input}; rm -f ${input}`,
    `mark='${MARK}'; printf %s "$mark"; printf %s "$mark" >&2`,
    [
      `${AS_USER.replace(/ --$/, '')} --inh-caps=-all --bounding-set=-all --no-new-privs --`,
      `prlimit --fsize=${limits.fileBytes} --nproc=${limits.processes} --cpu=${limits.cpuSeconds} --core=0 --`,
      `env -i ${variables.join(' ')} sh -c 'cd ${WORKSPACE} && exec sh -c "$1"' sh "$COMMAND" 0<&3 3<&-`,
    ].join(' '),
    'exit $?',
  ].join('\n');
  const apart = `--pid --mount-proc --ipc${offline && reachesOut ? ' --net' : ''}`;
  return `exec unshare --fork --kill-child ${apart} -- sh -c ${quoted(first)}`;
}

/** Before the names of variables on their way through root's shell, whose own they must not change. */
const PASSED_ON = 'PASSED_ON_';

function passedOn(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [`${PASSED_ON}${name}`, value]));
}
