/**
 * Sandboxes by bubblewrap, the embedded default on Linux. Each command is one bwrap of its own: own processes, users,
 * network and file tree; nothing of the host's environment; the run's folder is the only thing that can be written.
 *
 * Processes die with their command, and /tmp is empty for each. A sandbox with an allow-list still has no network of the
 * host's: a relay inside leads to the egress proxy's socket. With `network: 'open'` the host's network is shared as it is, its
 * loopback included. Where anything can be reached, install scripts of npm's packages are off.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, normalize } from 'node:path';
import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { NoSocketFolder } from '../../processes/private-socket.ts';
import { endAbandonedSandboxes } from './abandoned-sandboxes.ts';
import { explainFailure, readHostFacts, type Unavailable } from './bubblewrap-diagnosis.ts';
import { findHomePrograms, type HomePrograms } from './home-programs.ts';
import { HOME, isWrittenInside, limitedCommand, sandboxProfile } from './bubblewrap-profile.ts';
import {
  assertCommand,
  type ProcessEnd,
  sandboxProcess,
  type SpawnRequest,
  type StartedProcess,
  startProcess,
  streamedRequest,
  withLine,
} from '../child-process.ts';
import { createEgressProxy, type EgressProxy } from '../egress/egress-proxy.ts';
import { type NpmSettings, readNpmSettings } from '../npm-settings.ts';
import { readPackageSettings } from '../package-settings.ts';
import type {
  Availability,
  CommandRequest,
  CommandResult,
  ProcessRequest,
  Sandbox,
  SandboxProcess,
  SandboxProvider,
  SandboxSpec,
} from '../sandbox.ts';
import { megabytes, RESERVED_DISK_BYTES } from '../disk-reserve.ts';
import { createSandboxCgroup, removeAbandonedCgroups } from './sandbox-cgroup.ts';
import { type Breach, DiskUse, watchSandbox } from './sandbox-watch.ts';

const AVAILABILITY_KEPT_MS = 60_000;
const PROBE_TIMEOUT_MS = 10_000;

/**
 * Runs bwrap with lower priority than the server and first in line when memory runs out.
 * bwrap sees no variable of the server: the sandbox can read the environment of its first process, which is bwrap.
 */
const LAUNCH = 'echo 1000 > /proc/self/oom_score_adj 2> /dev/null; exec nice -n 10 "$0" "$@"';
const LAUNCH_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin' };

export interface BubblewrapOptions {
  /** The executable; `bwrap` on this process's PATH when absent. */
  readonly path?: string;
  /** Bytes of stdout and of stderr kept where a request names no figure. */
  readonly maxOutputBytes?: number;
  /** Host folders that stay out of sight even where they lie inside /usr: the server's data, its configuration. */
  readonly hiddenFolders?: readonly string[];
  /** Further folders of programs, absolute; they are shown read-only and come before those of the system. */
  readonly programs?: readonly string[];
  /** A command is ended, and its run paused as `storage_full`, when less is free on the folder's disk. Default 512 MB. */
  readonly reservedDiskBytes?: number;
}

export function createBubblewrapProvider(options: BubblewrapOptions = {}): SandboxProvider {
  let answer: { readonly at: number; readonly availability: Promise<Availability> } | undefined;
  let npm: Promise<NpmSettings> | undefined;

  const ask = (): Promise<Availability> => {
    if (answer === undefined || performance.now() - answer.at > AVAILABILITY_KEPT_MS) {
      const asked = { at: performance.now(), availability: probe(located(options)) };
      answer = asked;
      // A remedy that a person applied must be seen at once, not after a minute.
      const forget = (): void => {
        if (answer === asked) answer = undefined;
      };
      asked.availability.then(({ ok }) => ok || forget(), forget);
    }
    return answer.availability;
  };

  return {
    name: 'bubblewrap',
    availability: () => ask().catch(unanswered),
    async open(spec) {
      assertSpec(spec);
      const answered = await ask();
      if (!answered.ok)
        throw new NeedsHuman(
          'sandbox_unavailable',
          `No sandbox can be started: ${answered.reason}. ${answered.remedy}`,
        );
      const { network } = spec;
      const reachesOut = network === 'open' || (typeof network === 'object' && network.allow.length > 0);
      if (reachesOut) npm ??= readNpmSettings();
      return new BubblewrapSandbox(spec, located(options), {
        npm: reachesOut ? ((await npm) ?? null) : null,
        programs: programsOf(options),
      });
    },
  };
}

class BubblewrapSandbox implements Sandbox {
  readonly provider = 'bubblewrap';
  readonly #spec: SandboxSpec;
  readonly #options: BubblewrapOptions;
  readonly #npm: NpmSettings | null;
  readonly #programs: HomePrograms;
  readonly #running = new Set<StartedProcess>();
  readonly #disk: DiskUse;
  #egress: EgressProxy | undefined;
  #disposed = false;

  constructor(spec: SandboxSpec, options: BubblewrapOptions, { npm, programs }: Pick<Belongings, 'npm' | 'programs'>) {
    this.#spec = spec;
    this.#options = options;
    this.#npm = npm;
    this.#programs = programs;
    const { folder, home, limits } = spec;
    this.#disk = new DiskUse([folder, ...(home === undefined ? [] : [home])], limits.diskBytes ?? Infinity);
  }

  async run(request: CommandRequest): Promise<CommandResult> {
    const launched = await this.#launch(request.command, request);
    return commandResult(await this.#ended(launched));
  }

  async start(request: ProcessRequest): Promise<SandboxProcess> {
    const launched = await this.#launch(request.command, streamedRequest(request), request.env);
    return sandboxProcess(launched.process, this.#ended(launched));
  }

  async #launch(command: string, request: LaunchRequest, env?: ProcessRequest['env']): Promise<Launched> {
    this.#assertOpen();
    assertCommand(command);
    const egressSocket = request.offline ? null : await this.#openEgress();
    this.#assertOpen();
    const launched = launch(
      this.#spec,
      this.#options,
      { npm: this.#npm, programs: this.#programs, egressSocket, disk: this.#disk },
      { ...request, command, env },
    );
    this.#running.add(launched.process);
    return launched;
  }

  #assertOpen(): void {
    if (this.#disposed) throw new Error(`Sandbox ${this.#spec.key} is disposed and runs no more commands`);
  }

  async #ended(launched: Launched): Promise<ProcessEnd> {
    const end = await launched.process.done.finally(() => this.#running.delete(launched.process));
    const breach = launched.breach();
    if (breach?.kind === 'disk') throw new NeedsHuman('storage_full', `The command was ended: ${breach.message}`);
    if (breach !== null && end.endedBecause === null) {
      const stderr = withLine(end.stderr, `[failed at its end: ${breach.message}]\n`);
      return { ...end, exitCode: end.exitCode || 1, stderr };
    }
    const outOfMemory = launched.outOfMemory();
    if (outOfMemory !== null && end.endedBecause === null) {
      const stderr = withLine(end.stderr, `[ended by the sandbox: ${outOfMemory}]\n`);
      return { ...end, exitCode: null, stderr, endedBecause: outOfMemory };
    }
    if (launched.commandRan() || end.endedBecause !== null) return end;
    if (end.foreignSignal !== null) {
      const note = `[ended by the machine with ${end.foreignSignal}; its memory is probably used up]\n`;
      return { ...end, exitCode: null, stderr: withLine(end.stderr, note) };
    }
    const { reason, remedy } = explainFailure(end.stderr, this.#options.path ?? 'bwrap', readHostFacts(), {
      folder: this.#spec.folder,
      remedy: "Restore it, and let the server's user read and write it; then retry.",
    });
    throw new NeedsHuman(
      'sandbox_unavailable',
      `The sandbox ${this.#spec.key} could not be started: ${reason}. ${remedy}`,
    );
  }

  async sync(): Promise<void> {
    // The folder itself is mounted.
  }

  /** With the first command that may use it: file tools alone need none. @returns the path of the socket */
  async #openEgress(): Promise<string | null> {
    const { network, onRefused } = this.#spec;
    if (typeof network !== 'object') return null;
    this.#egress ??= createEgressProxy({ allow: network.allow, onRefused });
    return this.#egress.socketPath();
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    const running = [...this.#running];
    for (const started of running) started.end('the sandbox was disposed');
    await Promise.allSettled(running.map(({ done }) => done));
    await this.#egress?.close();
  }
}

type LaunchRequest = Pick<
  SpawnRequest,
  'stdin' | 'timeoutMs' | 'offline' | 'signal' | 'maxOutputBytes' | 'onOutput' | 'streamed'
>;

interface Launched {
  readonly process: StartedProcess;
  /** bwrap reports an exit code only for a command that it could start. */
  commandRan(): boolean;
  breach(): Breach | null;
  /** Returns the message for a process that the kernel ended for lack of memory before the watch saw it; `null`: none was. */
  outOfMemory(): string | null;
}

/** Settings of a sandbox beside its spec. */
interface Belongings {
  readonly npm: NpmSettings | null;
  readonly programs: HomePrograms;
  readonly egressSocket: string | null;
  readonly disk: DiskUse;
}

function launch(
  spec: SandboxSpec,
  options: BubblewrapOptions,
  { npm, programs, egressSocket, disk }: Belongings,
  { command, env = {}, ...request }: LaunchRequest & { readonly command: string; readonly env?: ProcessRequest['env'] },
): Launched {
  const packages = npm === null ? null : readPackageSettings();
  const profile = sandboxProfile({
    spec,
    npm,
    packages,
    egressSocket,
    programs,
    hiddenFolders: options.hiddenFolders ?? [],
    env,
  });
  let status = '';
  let firstPid: number | undefined;
  let breach: Breach | null = null;
  let stopWatching: ReturnType<typeof watchSandbox> | undefined;
  const cgroup = createSandboxCgroup(spec.limits);
  const join = cgroup?.joinFiles.map((file) => `{ echo $$ > ${file}; } 2> /dev/null; `).join('') ?? '';
  let ranOutOfMemory = false;

  const onStatus = (text: string): void => {
    status += text;
    firstPid ??= childPid(status);
    if (firstPid === undefined) return;
    stopWatching ??= watchSandbox({
      pid: firstPid,
      folder: spec.folder,
      disk,
      inMemory: ['/tmp', '/dev/shm', ...(spec.home === undefined ? [HOME] : [])],
      limits: spec.limits,
      reservedDiskBytes: options.reservedDiskBytes ?? RESERVED_DISK_BYTES,
      onBreach: (found) => {
        breach ??= found;
        started.end(found.message);
      },
    });
  };

  const started = startProcess({
    ...request,
    ...(request.maxOutputBytes === undefined && options.maxOutputBytes !== undefined
      ? { maxOutputBytes: options.maxOutputBytes }
      : {}),
    file: '/bin/sh',
    args: [
      '-c',
      join + LAUNCH,
      options.path ?? 'bwrap',
      ...profile.args,
      '--',
      ...limitedCommand(spec, command, egressSocket !== null),
    ],
    cwd: '/',
    env: LAUNCH_ENVIRONMENT,
    descriptors: [{ read: onStatus }, { answer: 'go\n' }, ...profile.files.map((content) => ({ write: content }))],
    // The first process inside dies with bwrap, unless bwrap is killed before it could say so to the kernel.
    killMore: () => killFirstProcess(firstPid),
  });
  const done = started.done.finally(async () => {
    ranOutOfMemory = cgroup?.ranOutOfMemory() ?? false;
    void cgroup?.remove();
    const found = await stopWatching?.();
    breach ??= found ?? null;
  });
  return {
    process: { ...started, done },
    commandRan: () => status.includes('"exit-code"'),
    breach: () => breach,
    outOfMemory: () =>
      ranOutOfMemory && breach === null
        ? `it took more than ${megabytes(cgroup?.memoryBytes ?? 0)} of memory; the limit is ${megabytes(spec.limits.memoryBytes)}`
        : null,
  };
}

function childPid(status: string): number | undefined {
  const pid = /"child-pid": (\d+)/.exec(status)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

function killFirstProcess(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function commandResult({ exitCode, stdout, stderr, timedOut, durationMs }: ProcessEnd): CommandResult {
  return { exitCode, stdout, stderr, timedOut, durationMs };
}

function programsOf({ programs = [], hiddenFolders = [] }: BubblewrapOptions): HomePrograms {
  return findHomePrograms({ named: programs, hidden: hiddenFolders, isTaken: isWrittenInside });
}

/** Searched each time: a person may install it while the server runs. The launching shell has its own PATH. */
function located(options: BubblewrapOptions): BubblewrapOptions {
  if (options.path !== undefined) return options;
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const path = folders.map((folder) => join(folder, 'bwrap')).find(isExecutable);
  return path === undefined ? options : { ...options, path };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Message of the launching shell when bwrap is missing. */
const NOT_FOUND = 'nice: bwrap: No such file or directory';

async function probe(options: BubblewrapOptions): Promise<Availability> {
  const bwrap = options.path ?? 'bwrap';
  const explain = (failure: string): Unavailable =>
    explainFailure(failure, bwrap, readHostFacts(), { folder: tmpdir(), remedy: setTemporaryFolder() });
  if (process.platform !== 'linux') return explain('');
  if (options.path === undefined) return explain(NOT_FOUND);
  const spec: SandboxSpec = {
    key: 'availability',
    folder: await realpath(tmpdir()),
    readOnly: [],
    network: 'none',
    limits: { memoryBytes: 2 ** 30, fileBytes: 2 ** 20, processes: 64, cpuSeconds: 5 },
  };
  await endAbandonedSandboxes();
  removeAbandonedCgroups();
  await tryEgress();
  const belongings = { npm: null, programs: programsOf(options), egressSocket: null, disk: new DiskUse([], Infinity) };
  const launched = launch(spec, { ...options, reservedDiskBytes: 0 }, belongings, {
    command: 'true',
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  const end = await launched.process.done;
  if (end.exitCode === 0) return { ok: true, detail: `bubblewrap started a sandbox in ${end.durationMs} ms` };
  return explain(end.stderr);
}

function setTemporaryFolder(): string {
  return `Set TMPDIR to a folder that is there and can be written; it is ${tmpdir()}.`;
}

/** Sandboxes with an allow-list need a socket. @throws {NoSocketFolder} where none can be made */
async function tryEgress(): Promise<void> {
  const egress = createEgressProxy({ allow: [] });
  await egress.socketPath().finally(() => egress.close());
}

/** The answer of a server that is short of something itself: a run is tried again, a person is told. */
function unanswered(error: unknown): Availability {
  if (error instanceof NoSocketFolder) return { ok: false, reason: error.reason, remedy: error.remedy };
  const cause = error instanceof RetryableFailure ? error.cause : error;
  const { code } = cause as NodeJS.ErrnoException;
  const isOfFolder = code === 'ENOENT' || code === 'EACCES' || code === 'EROFS' || code === 'ENOTDIR';
  return {
    ok: false,
    reason: `no sandbox could be tried: ${cause instanceof Error ? cause.message : String(cause)}`,
    remedy: isOfFolder ? setTemporaryFolder() : "Check the server's memory and its limits of open files and processes.",
  };
}

function assertSpec(spec: SandboxSpec): void {
  const inside = spec.readOnly.map((mount) => mount.inside);
  const wrong = [spec.folder, ...(spec.home === undefined ? [] : [spec.home]), ...inside].find(
    (path) => !isAbsolute(path) || normalize(path) !== path,
  );
  if (wrong !== undefined) throw new Error(`Sandbox ${spec.key}: "${wrong}" is not an absolute, normal path`);
  const writable = inside.find(isWrittenInside);
  if (writable !== undefined)
    throw new Error(`Sandbox ${spec.key}: "${writable}" is in a folder that commands write to; mount it elsewhere`);
}
