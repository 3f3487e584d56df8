/**
 * Sandboxes by E2B: a small virtual machine for each activity, at E2B or at a service that speaks its protocol. For servers that
 * have no user namespaces of their own, and for agents that shall not run on the server's machine at all.
 *
 * The run's folder is copied there when a sandbox is opened; `sync` brings back what changed. Nothing outlives the activity but
 * what a killed server leaves: its next start ends it or takes it up again, and E2B ends it after `timeoutMinutes`.
 */
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute, normalize } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pass } from 'node:timers/promises';
import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import type { Sandbox as Machine } from 'e2b';
import { assertCommand } from '../child-process.ts';
import { HOME, type StartedCommand, startCommand, startProcess, STAGING_DIR, WORKSPACE } from './e2b-command.ts';
import { explainE2bFailure, MISSING_TOOLS, wayOutOf } from './e2b-failure.ts';
import { type E2bNetwork, e2bNetwork } from './e2b-network.ts';
import { RemoteFolder, type RemoteMachine, sendArchive } from './remote-folder.ts';
import type {
  Availability,
  CommandRequest,
  CommandResult,
  ProcessExit,
  ProcessRequest,
  Sandbox,
  SandboxProcess,
  SandboxProvider,
  SandboxSpec,
} from '../sandbox.ts';
import { quoted } from '../sandbox-files.ts';

export interface E2bOptions {
  readonly apiKey: string;
  /** Name or id of the template. Default `base`. */
  readonly template?: string;
  /** Other addresses than E2B's own. */
  readonly apiUrl?: string;
  readonly sandboxUrl?: string;
  /** Time after which a sandbox that this server does not keep alive is ended. */
  readonly timeoutMinutes: number;
  /** Tells this server's sandboxes from those of others with the same key. */
  readonly server: string;
  /** A sandbox in which no command ran for so long is paused until the next one. Default 5 minutes. */
  readonly pauseAfterMs?: number;
}

/** Each look starts a machine, which costs something: health checks ask every few seconds. */
const AVAILABLE_KEPT_MS = 10 * 60_000;
/** Where the machine came and could not be used. */
const UNUSABLE_KEPT_MS = 60_000;
const PAUSE_AFTER_MS = 5 * 60_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** Archives of a whole project with its dependencies. */
const TRANSFER_TIMEOUT_MS = 20 * 60_000;
const STOCK_TIMEOUT_MS = 15_000;
/** Between the attempts to end a machine. */
const KILL_PAUSES_MS = [1_000, 4_000, 10_000];

export function createE2bProvider(options: E2bOptions): SandboxProvider {
  const e2b = new E2b(options);
  return {
    name: 'e2b',
    platform: [options.apiUrl ?? 'e2b', templateOf(options)].join(' '),
    availability: () => e2b.availability(),
    open: (spec) => e2b.open(spec),
    endAbandoned: (openKeys) => e2b.endAbandoned(openKeys),
    close: () => e2b.close(),
  };
}

function templateOf({ template = 'base' }: E2bOptions): string {
  return template;
}

/** Spec of a sandbox that only tests whether sandboxes can be started. */
const PROBE = {
  key: 'availability',
  network: 'none',
  limits: { memoryBytes: 2 ** 30, fileBytes: 2 ** 20, processes: 64, cpuSeconds: 5 },
} as const;

/** The metadata that E2B keeps with a sandbox; its list can be searched by it. */
type Marks = Readonly<
  Record<'autonomousServer' | 'autonomousRun' | 'autonomousActivity' | 'autonomousNetwork', string>
>;

/** All sandboxes of one server. */
class E2b {
  readonly #options: E2bOptions;
  readonly #opened = new Set<E2bSandbox>();
  readonly #opening = new Set<Promise<Sandbox>>();
  /** Ids of sandboxes that an earlier process left, by the marks of the work that is resumed. */
  readonly #left = new Map<string, string>();
  #stock: Promise<void> = Promise.resolve();
  #loaded: Promise<typeof Machine> | undefined;
  #answer: Promise<Availability> | undefined;
  #answerKeptUntil = Number.POSITIVE_INFINITY;

  constructor(options: E2bOptions) {
    this.#options = options;
  }

  availability(): Promise<Availability> {
    if (this.#answer === undefined || performance.now() >= this.#answerKeptUntil) {
      this.#answerKeptUntil = Number.POSITIVE_INFINITY;
      this.#answer = this.#probe().then(({ availability, keptMs }) => {
        this.#answerKeptUntil = performance.now() + keptMs;
        return availability;
      });
    }
    return this.#answer;
  }

  async open(spec: SandboxSpec): Promise<Sandbox> {
    assertSpec(spec);
    const { signal } = spec;
    const opening = this.#open(spec);
    this.#opening.add(opening);
    const forget = (): unknown => this.#opening.delete(opening);
    opening.then(forget, forget);
    try {
      return await orAborted(opening, signal);
    } catch (error) {
      // A machine that comes all the same is ended when it is there: before, nobody knows its id.
      if (signal?.aborted) opening.then((sandbox) => sandbox.dispose()).catch(() => {});
      throw error;
    }
  }

  async #open(spec: SandboxSpec): Promise<Sandbox> {
    await this.#stock;
    spec.signal?.throwIfAborted();
    const machine = await this.#machineFor(spec);
    const sandbox = new E2bSandbox(machine, spec, this.#options, () => this.#opened.delete(sandbox));
    this.#opened.add(sandbox);
    try {
      await sandbox.prepare(spec.signal);
      return sandbox;
    } catch (error) {
      await sandbox.dispose();
      throw error;
    }
  }

  endAbandoned(openKeys: ReadonlySet<string>): Promise<void> {
    const stock = this.#takeStock(openKeys);
    this.#stock = stock.catch(() => {});
    return stock;
  }

  async close(): Promise<void> {
    await this.#stock;
    await Promise.allSettled(this.#opening);
    const left = [...this.#left.values()];
    this.#left.clear();
    await Promise.all([...this.#opened].map((sandbox) => sandbox.dispose()));
    await this.#kill(left);
  }

  /** One that an earlier process left for the same work, or a new one. */
  async #machineFor(spec: SandboxSpec): Promise<Machine> {
    const network = e2bNetwork(spec.network);
    const marks = this.#marks(spec.key, network);
    const left = this.#left.get(nameOf(marks));
    if (left !== undefined) {
      this.#left.delete(nameOf(marks));
      const found = await this.#adopt(left);
      if (found !== null) return found;
    }
    return this.#create(marks, network, this.#options.timeoutMinutes * 60_000);
  }

  async #create(marks: Marks, network: E2bNetwork, timeoutMs: number): Promise<Machine> {
    const template = templateOf(this.#options);
    try {
      const sandboxes = await this.#load();
      return await sandboxes.create(template, {
        ...this.#connection(),
        timeoutMs,
        metadata: { ...marks },
        ...network.options,
      });
    } catch (error) {
      // The cached answer is not valid any more.
      this.#answerKeptUntil = 0;
      throw explainE2bFailure(error, `No E2B sandbox of template "${template}" can be started`);
    }
  }

  /** @returns `null` when it is gone */
  async #adopt(id: string): Promise<Machine | null> {
    try {
      const sandboxes = await this.#load();
      const timeoutMs = this.#options.timeoutMinutes * 60_000;
      const machine = await sandboxes.connect(id, { ...this.#connection(), timeoutMs });
      // Commands that the earlier process started continue until they are ended.
      const processes = await machine.commands.list();
      await Promise.all(processes.map(({ pid }) => machine.commands.kill(pid)));
      return machine;
    } catch {
      await this.#kill([id]);
      return null;
    }
  }

  async #takeStock(openKeys: ReadonlySet<string>): Promise<void> {
    const sandboxes = await this.#load();
    const query = {
      metadata: { autonomousServer: this.#options.server },
      state: ['running' as const, 'paused' as const],
    };
    const orphans: string[] = [];
    try {
      const pages = sandboxes.list({ ...this.#connection(), requestTimeoutMs: STOCK_TIMEOUT_MS, query });
      while (pages.hasNext) {
        for (const { sandboxId, metadata } of await pages.nextItems()) {
          // A service that does not search by metadata lists those of others too.
          if (metadata['autonomousServer'] !== this.#options.server) continue;
          // It is somebody's question, which is being answered.
          if (metadata['autonomousActivity'] === PROBE.key) continue;
          const name = nameOf(metadata);
          if (openKeys.has(metadata['autonomousActivity'] ?? '') && !this.#left.has(name))
            this.#left.set(name, sandboxId);
          else orphans.push(sandboxId);
        }
      }
    } catch (error) {
      throw explainE2bFailure(error, 'E2B does not say which sandboxes an earlier process has left');
    }
    await this.#kill(orphans);
  }

  async #kill(ids: readonly string[]): Promise<void> {
    const sandboxes = await this.#load();
    // Machines that cannot be ended now are found again by the next start.
    await Promise.allSettled(ids.map((id) => insistently(() => sandboxes.kill(id, this.#connection()))));
  }

  /** @returns `keptMs`: time for which the answer is cached; an answer that cost nothing is not cached */
  async #probe(): Promise<{ readonly availability: Availability; readonly keptMs: number }> {
    const startedAt = performance.now();
    let keptMs = 0;
    const template = templateOf(this.#options);
    try {
      const network = e2bNetwork(PROBE.network);
      const machine = await this.#create(this.#marks(PROBE.key, network), network, REQUEST_TIMEOUT_MS);
      keptMs = UNUSABLE_KEPT_MS;
      try {
        await new Root(machine).asRoot(PREPARE);
        const { exitCode, stderr } = await startCommand(machine, PROBE, { command: 'true', timeoutMs: 30_000 }).done;
        if (exitCode !== 0)
          throw new NeedsHuman('sandbox_unavailable', `no command can be run in it: ${stderr.trim()}`);
      } finally {
        await machine.kill();
      }
    } catch (error) {
      const { message } = explainE2bFailure(error, `No E2B sandbox of template "${template}" can be used`);
      return { availability: { ok: false, reason: message, remedy: wayOutOf(error) }, keptMs };
    }
    const tookMs = Math.round(performance.now() - startedAt);
    const detail = `E2B started a sandbox of template "${template}" in ${tookMs} ms`;
    return { availability: { ok: true, detail }, keptMs: AVAILABLE_KEPT_MS };
  }

  #marks(key: string, network: E2bNetwork): Marks {
    return {
      autonomousServer: this.#options.server,
      autonomousRun: key.split('/')[0] ?? key,
      autonomousActivity: key,
      autonomousNetwork: network.mark,
    };
  }

  #connection() {
    const { apiKey, apiUrl, sandboxUrl } = this.#options;
    return {
      apiKey,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      ...(apiUrl === undefined ? {} : { apiUrl }),
      ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
    };
  }

  /** The SDK's entry, loaded when it is needed: most servers use another provider. */
  #load(): Promise<typeof Machine> {
    return (this.#loaded ??= import('e2b').then((sdk) => sdk.Sandbox));
  }
}

class E2bSandbox implements Sandbox {
  readonly provider = 'e2b';
  readonly #machine: Machine;
  readonly #root: Root;
  readonly #spec: SandboxSpec;
  readonly #options: E2bOptions;
  readonly #onDispose: () => void;
  readonly #folders: readonly RemoteFolder[];
  readonly #running = new Set<StartedCommand>();
  readonly #keepingAlive: NodeJS.Timeout;
  #pausing: NodeJS.Timeout | undefined;
  #uses = 0;
  /** Whether it was really paused; `null` while it is to run. */
  #paused: Promise<boolean> | null = null;
  #lost: RetryableFailure | null = null;
  #disposed: Promise<void> | null = null;

  constructor(machine: Machine, spec: SandboxSpec, options: E2bOptions, onDispose: () => void) {
    this.#machine = machine;
    this.#root = new Root(machine);
    this.#spec = spec;
    this.#options = options;
    this.#onDispose = onDispose;
    const { fileBytes } = spec.limits;
    const pairs = [[spec.folder, WORKSPACE] as const, ...(spec.home === undefined ? [] : [[spec.home, HOME] as const])];
    this.#folders = pairs.map(
      ([host, inside]) => new RemoteFolder(this.#root, { host, inside, transit: STAGING_DIR, fileBytes }),
    );
    this.#keepingAlive = setInterval(() => void this.#keepAlive(), (options.timeoutMinutes * 60_000) / 3).unref();
  }

  async prepare(signal: AbortSignal | undefined): Promise<void> {
    await this.#used(async () => {
      await this.#root.asRoot(PREPARE, signal);
      for (const folder of this.#folders) await folder.send(signal);
      for (const mount of this.#spec.readOnly) await this.#copyReadOnly(mount, signal);
    }, signal);
  }

  async run(request: CommandRequest): Promise<CommandResult> {
    this.#assertOpen('runs no more commands');
    assertCommand(request.command);
    return this.#used(async () => {
      const started = startCommand(this.#machine, this.#spec, request);
      this.#running.add(started);
      const end = await started.done.finally(() => this.#running.delete(started));
      const { exitCode, stdout, stderr, timedOut, durationMs } = end;
      return { exitCode, stdout, stderr, timedOut, durationMs };
    });
  }

  /** While it lives, the machine is not paused. */
  async start(request: ProcessRequest): Promise<SandboxProcess> {
    this.#assertOpen('starts no more processes');
    assertCommand(request.command);
    const { promise: starting, resolve, reject } = Promise.withResolvers<ReturnType<typeof startProcess>>();
    const done = this.#used(async (): Promise<ProcessExit> => {
      const started = startProcess(this.#machine, this.#spec, request);
      this.#running.add(started);
      resolve(started);
      const { exitCode, stderr, endedBecause } = await started.done.finally(() => this.#running.delete(started));
      return { exitCode, stderr, endedBecause };
    });
    // Callers that never await the end get the failure from the streams.
    done.catch(reject);
    const started = await starting;
    return { stdin: started.stdin, stdout: started.stdout, done, end: (because) => started.end(because) };
  }

  async sync(signal?: AbortSignal): Promise<void> {
    this.#assertOpen('gives nothing back');
    // A command that was just aborted may still write a file or two.
    const ending = [...this.#running].filter((started) => started.isEnding());
    await orAborted(Promise.allSettled(ending.map(({ done }) => done)), signal);
    await this.#used(async () => {
      for (const folder of this.#folders) await folder.fetch(signal);
    }, signal);
  }

  dispose(): Promise<void> {
    this.#disposed ??= this.#end();
    return this.#disposed;
  }

  async #end(): Promise<void> {
    clearInterval(this.#keepingAlive);
    clearTimeout(this.#pausing);
    const running = [...this.#running];
    for (const started of running) started.end('the sandbox was disposed');
    await Promise.allSettled([this.#kill(), ...running.map(({ done }) => done)]);
    this.#onDispose();
  }

  /** A running sandbox that cannot be ended now ends by itself, because it is not kept alive any more. A paused one does not. */
  async #kill(): Promise<void> {
    const kill = () => this.#machine.kill();
    await ((await this.#paused) ? insistently(kill) : kill());
  }

  #assertOpen(what: string): void {
    if (this.#disposed !== null) throw new Error(`Sandbox ${this.#spec.key} is disposed and ${what}`);
    if (this.#lost !== null) throw this.#lost;
  }

  /**
   * Does something with the machine, which is awake and not paused meanwhile.
   * @param signal with which the work was given up where it is aborted: the machine is none the worse for that
   */
  async #used<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    this.#uses += 1;
    clearTimeout(this.#pausing);
    try {
      await orAborted(this.#wake(), signal);
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      const failure = explainE2bFailure(
        error,
        `The E2B sandbox ${this.#machine.sandboxId} of ${this.#spec.key} was lost; the work starts again from the last commit`,
      );
      if (failure instanceof RetryableFailure && failure !== error) this.#lost = failure;
      throw failure;
    } finally {
      this.#uses -= 1;
      if (this.#uses === 0) this.#pauseLater();
    }
  }

  /** While a person is awaited nothing shall run that costs. */
  #pauseLater(): void {
    if (this.#disposed !== null || this.#lost !== null) return;
    const pause = (): void => {
      // Where it cannot be paused it goes on, kept alive as before.
      this.#paused = this.#machine.pause().catch(() => false);
    };
    this.#pausing = setTimeout(pause, this.#options.pauseAfterMs ?? PAUSE_AFTER_MS).unref();
  }

  async #wake(): Promise<void> {
    const paused = this.#paused;
    if (paused === null) return;
    if (await paused) await this.#machine.connect({ timeoutMs: this.#options.timeoutMinutes * 60_000 });
    if (this.#paused === paused) this.#paused = null;
  }

  async #keepAlive(): Promise<void> {
    if (this.#paused !== null && (await this.#paused)) return;
    // Where it is gone the next command says so.
    await this.#machine.setTimeout(this.#options.timeoutMinutes * 60_000).catch(() => {});
  }

  async #copyReadOnly(
    { host, inside }: SandboxSpec['readOnly'][number],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const found = await stat(host).catch(() => null);
    if (found === null) {
      throw new NeedsHuman(
        'sandbox_unavailable',
        `"${host}" has to be shown read-only in the sandbox, and is not there.`,
      );
    }
    const path = quoted(inside);
    if (found.isDirectory()) {
      await this.#root.asRoot(`mkdir -p ${path}`, signal);
      const unpack = (archive: string): string => `tar -xzf ${archive} --no-same-owner -C ${path}`;
      await sendArchive(this.#root, host, STAGING_DIR, unpack, signal);
    } else {
      await this.#root.writeFile(inside, await openAsBlob(host), signal);
    }
    await this.#root.asRoot(`chown -R root:root ${path} && chmod -R a-w,a+rX ${path}`, signal);
  }
}

/** Tries again a few times what a moment's trouble may have kept from being done. */
async function insistently(attempt: () => Promise<unknown>): Promise<void> {
  for (const pauseMs of KILL_PAUSES_MS) {
    try {
      await attempt();
      return;
    } catch {
      await pass(pauseMs);
    }
  }
  await attempt();
}

/** Operations that root performs in a machine. */
class Root implements RemoteMachine {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  async asRoot(script: string, signal?: AbortSignal): Promise<void> {
    const options = { user: 'root', cwd: '/', timeoutMs: TRANSFER_TIMEOUT_MS, ...(signal ? { signal } : {}) };
    await orAborted(this.#machine.commands.run(script, options), signal);
  }

  async writeFile(path: string, content: Blob, signal?: AbortSignal): Promise<void> {
    const limit = AbortSignal.timeout(TRANSFER_TIMEOUT_MS);
    const ending = signal === undefined ? limit : AbortSignal.any([limit, signal]);
    // As a stream: what is given as a whole would be held in memory twice.
    await orAborted(this.#machine.files.write(path, content.stream(), { user: 'root', signal: ending }), signal);
  }

  async readFile(path: string, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const base = { format: 'stream', user: 'root', requestTimeoutMs: TRANSFER_TIMEOUT_MS } as const;
    const options = { ...base, ...(signal ? { signal } : {}) };
    return Readable.fromWeb(await orAborted(this.#machine.files.read(path, options), signal));
  }
}

/**
 * Awaits `work`, or rejects with the signal's reason as soon as the signal is aborted. Without this, the SDK first checks
 * whether the machine still exists, which may take a minute.
 */
async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work;
  work.catch(() => {});
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Makes the folders, empty; says what the template lacks. */
const PREPARE = `
for tool in unshare setpriv prlimit tar find head; do
  [ -x "$(command -v "$tool")" ] || { echo "it has no program $tool" >&2; exit ${MISSING_TOOLS}; }
done
id user > /dev/null 2>&1 || { echo "it has no user named user" >&2; exit ${MISSING_TOOLS}; }
set -e
mkdir -p ${STAGING_DIR} && chmod 0700 ${STAGING_DIR}
find ${STAGING_DIR} -mindepth 1 -delete
find /tmp -mindepth 1 -user user -delete
for folder in ${WORKSPACE} ${HOME}; do
  mkdir -p "$folder"
  find "$folder" -mindepth 1 -delete
  chown user:user "$folder"
done
`;

/** Sandboxes of this name can stand for each other. */
function nameOf(marks: Readonly<Record<string, string>>): string {
  return `${marks['autonomousNetwork']} ${marks['autonomousActivity']}`;
}

function assertSpec(spec: SandboxSpec): void {
  const inside = spec.readOnly.map((mount) => mount.inside);
  const wrong = [spec.folder, ...(spec.home === undefined ? [] : [spec.home]), ...inside].find(
    (path) => !isAbsolute(path) || normalize(path) !== path,
  );
  if (wrong !== undefined) throw new Error(`Sandbox ${spec.key}: "${wrong}" is not an absolute, normal path`);
}
