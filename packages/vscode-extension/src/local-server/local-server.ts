/**
 * A server on this machine that the extension starts as a process of its own and ends again. What it says goes to a file,
 * so that it can outlive the window, and from there into the log.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface ServerCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** Further variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export type LocalServerState = 'stopped' | 'starting' | 'running';

export interface LocalServerOptions {
  /** Holds what the server of the last start said. */
  readonly logFile: string;
  readonly onState: (state: LocalServerState) => void;
  /** One line that the server said. */
  readonly onLine: (line: string) => void;
}

/** The command of a checkout: its own Node and pnpm, fetched at the first start. */
export function checkoutCommand(folder: string): ServerCommand {
  const server = ['--max-semi-space-size=8', 'packages/orchestrator/src/main.ts', 'serve'];
  return { program: 'node', args: ['tools/run.mjs', 'node', ...server], folder };
}

/** Ends the group of processes that it is told when its input ends without a word: whoever held it is gone, however it went. */
const WATCH = `
let isReleased = false;
process.stdin.on('data', () => { isReleased = true; });
process.stdin.on('end', () => {
  if (!isReleased) try { process.kill(Number(process.argv[1]), 'SIGTERM'); } catch {}
  process.exit();
});`;

const LOOK_EVERY_MS = 200;
const STOP_WITHIN_MS = 10_000;
/** Variables of the editor's own process that would change what another Node does. */
const OF_THE_EDITOR = /^(?:ELECTRON_|VSCODE_|NODE_OPTIONS$|NODE_COMPILE_CACHE$)/;

export class LocalServer {
  readonly #options: LocalServerOptions;
  #child: ChildProcess | null = null;
  #watcher: ChildProcess | null = null;
  #state: LocalServerState = 'stopped';
  #url: string | null = null;
  #tokenFile: string | null = null;
  #isDemo = false;
  /** Why the process before has ended; resolves when nothing of it is left. */
  #ended: Promise<string> = Promise.resolve('');

  constructor(options: LocalServerOptions) {
    this.#options = options;
  }

  get state(): LocalServerState {
    return this.#state;
  }

  /** True while what was started here is the demo, in which a script plays the models. */
  get isDemo(): boolean {
    return this.#isDemo;
  }

  /** Of the process that was started here; `null` without one. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Where the server that was started here answers, and its token; `null` unless it runs. */
  async place(): Promise<{ readonly url: string; readonly token: string | null } | null> {
    if (this.#url === null) return null;
    const token = this.#tokenFile === null ? null : await readFile(this.#tokenFile, 'utf8').catch(() => null);
    return { url: this.#url, token: token?.trim() || null };
  }

  /**
   * Resolves with the address when the server has said where it is.
   * @throws {Error} with its last words when it ends before
   */
  async start({ program, args, folder, env: more }: ServerCommand, { isDemo = false } = {}): Promise<string> {
    if (this.#child !== null) throw new Error('The local server has been started already.');
    const { logFile } = this.#options;
    await mkdir(dirname(logFile), { recursive: true });
    const output = openSync(logFile, 'w', 0o600);
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OF_THE_EDITOR.test(name)));
    const env = { ...inherited, ...more };
    // A group of its own, so that the processes below it end with it.
    const child = spawn(program, args, { cwd: folder, env, detached: true, stdio: ['ignore', output, output] });
    closeSync(output);
    this.#child = child;
    this.#isDemo = isDemo;
    this.#watcher = watch(child);
    this.#enter('starting');
    const said = followFile(logFile, (line) => this.#read(line));
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error: NodeJS.ErrnoException) => resolve(whyNotStarted(error, program)));
      child.once('exit', (code, signal) => resolve(`It ended (${signal ?? code}).`));
    });
    this.#ended = ended.then(async (reason) => {
      const last = await said.stop();
      this.leave();
      this.#child = null;
      this.#url = null;
      this.#tokenFile = null;
      this.#isDemo = false;
      this.#enter('stopped');
      return last === '' ? reason : `${reason} Its last words: ${last}`;
    });
    return new Promise<string>((resolve, reject) => {
      this.#whenUp = resolve;
      void this.#ended.then((reason) => reject(new Error(`The local server did not start. ${reason}`)));
    });
  }

  /** Resolves when the server and what it started are gone; at once where there is none. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    signalGroup(child, 'SIGTERM');
    const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_WITHIN_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** The window closes: there is no time to wait. */
  stopNow(): void {
    if (this.#child !== null) signalGroup(this.#child, 'SIGTERM');
  }

  /** Lets it run on without this process. */
  leave(): void {
    this.#watcher?.stdin?.end('released');
    this.#watcher = null;
    this.#child?.unref();
  }

  #whenUp: (url: string) => void = () => {};

  #read(line: string): void {
    this.#options.onLine(line);
    const [, name, value = ''] = /^ {2}(address|token) +(\S.*)$/.exec(line) ?? [];
    if (name === 'token' && value.startsWith('in ')) {
      this.#tokenFile = value.slice('in '.length);
      if (this.#url === null) return;
      this.#enter('running');
      this.#whenUp(this.#url);
    } else if (name === 'address') {
      this.#url = value.trim();
    } else if (name === 'token' && this.#url !== null) {
      this.#enter('running');
      this.#whenUp(this.#url);
    }
  }

  #enter(state: LocalServerState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onState(state);
  }
}

/** The editor ends its extensions without a word when it has to: then something else has to end the server. */
function watch({ pid }: ChildProcess): ChildProcess | null {
  if (pid === undefined) return null;
  const target = process.platform === 'win32' ? pid : -pid;
  const watcher = spawn(process.execPath, ['-e', WATCH, '--', String(target)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
  });
  // Without it the server ends with `deactivate`, as a rule.
  watcher.on('error', () => undefined);
  watcher.stdin.on('error', () => undefined);
  watcher.unref();
  return watcher;
}

function whyNotStarted(error: NodeJS.ErrnoException, program: string): string {
  if (error.code === 'ENOENT') return `'${program}' was not found; Node 20 or newer has to be in the PATH.`;
  return error.message;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    // Windows has no groups of processes.
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It is gone already.
  }
}

/** Hands on each whole line that comes to a file; `stop` gives the last one. */
function followFile(file: string, onLine: (line: string) => void): { stop(): Promise<string> } {
  let position = 0;
  let rest = '';
  let last = '';
  let reading: Promise<void> = Promise.resolve();
  const read = async (): Promise<void> => {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const buffer = Buffer.alloc(Math.max(0, size - position));
      await handle.read(buffer, 0, buffer.length, position);
      position += buffer.length;
      const lines = `${rest}${buffer.toString('utf8')}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.trim() !== '') last = line;
        onLine(line);
      }
    } finally {
      await handle.close();
    }
  };
  const look = (): void => {
    // A file that cannot be read this time is read the next.
    reading = reading.then(read).catch(() => undefined);
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      look();
      await reading;
      return last;
    },
  };
}
