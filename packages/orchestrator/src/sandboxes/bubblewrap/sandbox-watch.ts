/**
 * Watches what a bubblewrap sandbox takes, for what the kernel's own limits leave open: the resident memory of a process
 * (RLIMIT_RSS does nothing) and of all together, processes where the server is root, and a disk filled with many files.
 */
import { opendir, readdir, readFile, readlink, stat, statfs, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { runProgram } from '../../processes/program.ts';
import { megabytes, readDiskRoom } from '../disk-reserve.ts';
import type { SandboxLimits } from '../sandbox.ts';

const INTERVAL_MS = 250;

/** The folders are measured when as much has gone from the disk since they last were, or after so long. */
const MEASURED_AFTER_BYTES = 256 * 1024 * 1024;
const MEASURED_AFTER_MS = 10_000;
/** Time that a command has to tidy up a full folder. */
const TIDIED_WITHIN_MS = 5_000;
/** Measuring takes at most this share of the time. */
const MEASURING_SHARE = 0.1;
const MEASURING_TIMEOUT_MS = 10 * 60_000;
/** Longest wait for a measurement at a command's end. */
const MEASURED_AT_END_MS = 5_000;
/** Most descriptors of all processes together that one look reads. */
const DESCRIPTORS_LOOKED_AT = 2_000;

export interface Breach {
  /** `disk`: the machine's is full. `folder`: the sandbox has used up its share. */
  readonly kind: 'processes' | 'memory' | 'disk' | 'folder';
  /** For a person: the figure that was passed. */
  readonly message: string;
}

export interface WatchRequest {
  /** Host pid of the first process in the sandbox's pid namespace. */
  readonly pid: number;
  readonly folder: string;
  readonly disk: DiskUse;
  /** Paths inside of folders that lie in memory. */
  readonly inMemory: readonly string[];
  readonly limits: SandboxLimits;
  /** Space that must stay free on the disk that holds the folder. */
  readonly reservedDiskBytes: number;
  readonly onBreach: (breach: Breach) => void;
}

/**
 * Looks several times a second until the function it returns is called, at the command's end.
 * @returns the function; it gives the breach that only then was found
 */
export function watchSandbox(request: WatchRequest): () => Promise<Breach | null> {
  request.disk.commandStarts();
  let busy = false;
  const look = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    await giveWay(request.pid);
    const held = await readHeldFiles(request);
    const breach = (await findDiskBreach(request, held)) ?? (await findProcessBreach(request, held));
    busy = false;
    if (breach !== null) request.onBreach(breach);
  };
  const timer = setInterval(() => void look(), INTERVAL_MS);
  void look();
  return async () => {
    clearInterval(timer);
    const room = await readDiskRoom(request.folder, request.reservedDiskBytes);
    return room && request.disk.commandEnds(room.freeBytes);
  };
}

/**
 * Lowers the priority of the sandbox's session. Where the kernel shares processors between sessions (autogroup), the
 * priority of a process counts only within its session, and a sandbox is a session of its own. Does nothing where the
 * kernel has no autogroup, or where the server may not change the process.
 */
async function giveWay(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/autogroup`, '5').catch(() => undefined);
}

async function findDiskBreach(
  { folder, disk, reservedDiskBytes }: WatchRequest,
  held: HeldFiles,
): Promise<Breach | null> {
  const room = await readDiskRoom(folder, reservedDiskBytes);
  if (room === null) return null;
  return room.shortage === null ? disk.findBreach(room.freeBytes, held) : { kind: 'disk', message: room.shortage };
}

/**
 * Disk use of a sandbox's folders, over all its commands. `du` measures it, which costs the server no time of its own.
 * Deleted files take space while a process has them open or mapped, or has sent them to a socket that is not read. Open
 * ones are counted. A server that is not root cannot see the others. A sandbox that may hold some is charged with all space
 * that the disk has lost and that is not counted otherwise.
 */
export class DiskUse {
  readonly #folders: readonly string[];
  readonly #limitBytes: number;
  /** So much more makes a measurement due, and in a full folder it is a breach. */
  readonly #stepBytes: number;
  readonly #now: () => number;
  readonly #bytesIn: typeof bytesIn;
  /** Of the disk: the most since the last measurement began. Others write and remove there too. */
  #freeBytes: number | null = null;
  #freeAtStart: number | null = null;
  /** As last measured. */
  #bytes = 0;
  #deletedBytes = 0;
  #measuring: Promise<void> | null = null;
  #measuredAt: number;
  #restMs = 0;
  /** Number of commands that were started. */
  #commands = 0;
  #commandStartedAt: number;
  /** Size of the folders at the start of the command. */
  #bytesAtStart = 0;
  /** A breach that was found and is not yet reported. */
  #breach: Breach | null = null;

  /** @param limitBytes `Infinity` is no limit */
  constructor(folders: readonly string[], limitBytes: number, now = () => performance.now(), measure = bytesIn) {
    this.#folders = folders;
    this.#limitBytes = limitBytes;
    this.#stepBytes = Math.min(MEASURED_AFTER_BYTES, limitBytes / 8);
    this.#now = now;
    this.#bytesIn = measure;
    this.#measuredAt = now();
    this.#commandStartedAt = now();
  }

  /** To be called at the start of each command: it is not ended for what an earlier command wrote. */
  commandStarts(): void {
    this.#commands += 1;
    this.#breach = null;
    this.#commandStartedAt = this.#now();
    this.#bytesAtStart = this.#bytes;
  }

  /**
   * To be called when a command has ended, before the next one starts: what it has written is not charged to that one.
   * @param freeBytes of the disk, now
   * @returns the breach of the command
   */
  async commandEnds(freeBytes: number): Promise<Breach | null> {
    const patience = new AbortController();
    const late = sleep(MEASURED_AT_END_MS, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([late, this.#measureAtEnd(freeBytes)]);
    patience.abort();
    return this.#take();
  }

  async #measureAtEnd(freeBytes: number): Promise<void> {
    await this.#measuring;
    this.#deletedBytes = 0;
    const isCheap = this.#restMs < MEASURED_AT_END_MS;
    const isDue = this.#bytes > this.#limitBytes || (this.#hasGone(freeBytes) && (isCheap || this.#mayMeasure()));
    if (this.#limitBytes !== Infinity && isDue) await this.#measure(freeBytes, false);
  }

  /**
   * Returns the breach that the last measurement found, once, and begins the next measurement when it is due.
   * @param freeBytes of the disk, now
   */
  findBreach(
    freeBytes: number,
    { deletedBytes, isHiding }: Pick<HeldFiles, 'deletedBytes' | 'isHiding'>,
  ): Breach | null {
    this.#freeBytes = Math.max(this.#freeBytes ?? 0, freeBytes);
    this.#freeAtStart ??= freeBytes + deletedBytes;
    this.#deletedBytes = deletedBytes;
    if (this.#bytes <= this.#limitBytes && this.#bytes + deletedBytes > this.#limitBytes)
      return this.#overLimit(this.#bytes + deletedBytes);
    const hidden = this.#freeAtStart - freeBytes - this.#bytes - deletedBytes;
    if (isHiding && hidden > this.#limitBytes) {
      const message = `the disk lost ${megabytes(hidden)} while it held deleted files whose size cannot be seen; the limit is ${megabytes(this.#limitBytes)}`;
      return { kind: 'folder', message };
    }
    const isTidied = this.#now() - this.#commandStartedAt > TIDIED_WITHIN_MS;
    const isFull = this.#bytes > this.#limitBytes;
    const isLate = isFull ? isTidied : this.#now() - this.#measuredAt > MEASURED_AFTER_MS;
    if (this.#limitBytes !== Infinity && (isLate || this.#hasGone(freeBytes)) && this.#mayMeasure())
      void this.#measure(freeBytes, isTidied);
    return this.#take();
  }

  #hasGone(freeBytes: number): boolean {
    return (this.#freeBytes ?? freeBytes) - freeBytes > this.#stepBytes;
  }

  #mayMeasure(): boolean {
    return this.#measuring === null && this.#now() - this.#measuredAt > this.#restMs;
  }

  #take(): Breach | null {
    const breach = this.#breach;
    this.#breach = null;
    return breach;
  }

  /** @param isTidied the command has had its time to tidy up */
  #measure(freeBytes: number, isTidied: boolean): Promise<void> {
    this.#freeBytes = freeBytes;
    this.#measuring = this.#measureNow(isTidied).finally(() => (this.#measuring = null));
    return this.#measuring;
  }

  async #measureNow(isTidied: boolean): Promise<void> {
    const startedAt = this.#now();
    const commands = this.#commands;
    const bytes = await this.#bytesIn(this.#folders);
    this.#measuredAt = this.#now();
    const tookMs = this.#measuredAt - startedAt;
    this.#restMs = tookMs / MEASURING_SHARE;
    const isOfThisCommand = commands === this.#commands;
    if (bytes === null) {
      if (!isOfThisCommand) return;
      const minutes = Math.round(tookMs / 60_000);
      const message = `its folder and HOME hold so many files that they could not be measured in ${minutes} minutes`;
      this.#breach = { kind: 'folder', message };
      return;
    }
    this.#bytes = bytes;
    const total = bytes + this.#deletedBytes;
    // A command that finds a full folder may tidy it up, and must not fill it more meanwhile.
    const allowed =
      this.#bytesAtStart > this.#limitBytes && !isTidied ? this.#bytesAtStart + this.#stepBytes : this.#limitBytes;
    if (isOfThisCommand && total > allowed) this.#breach = this.#overLimit(total);
  }

  #overLimit(bytes: number): Breach {
    const message = `its folder and HOME hold ${megabytes(bytes)}; the limit is ${megabytes(this.#limitBytes)}`;
    return { kind: 'folder', message };
  }
}

/** Bytes on the disk of all folders together. @returns `null` when that takes too long */
async function bytesIn(folders: readonly string[]): Promise<number | null> {
  const args = ['-n', '10', 'du', '-sk', '--', ...folders];
  // Files that vanish meanwhile make du complain and go on; its figures are on stdout all the same.
  const { stdout, isLate } = await runProgram('nice', args, { timeoutMs: MEASURING_TIMEOUT_MS }).catch(() => ({
    stdout: '',
    isLate: false,
  }));
  if (isLate) return null;
  const kilobytes = stdout.split('\n').map((line) => Number(/^\d+/.exec(line)?.[0] ?? 0));
  return kilobytes.reduce((sum, each) => sum + each, 0) * 1024;
}

async function findProcessBreach(
  { pid, limits, inMemory }: WatchRequest,
  { proc, processes, namelessBytes }: HeldFiles,
): Promise<Breach | null> {
  if (processes.length === 0) return null;
  if (processes.length > limits.processes) {
    return { kind: 'processes', message: `${processes.length} processes; the limit is ${limits.processes}` };
  }
  const sizes = await Promise.all(processes.map((id) => figures(`${proc}/${id}/status`, 'VmRSS')));
  const largest = Math.max(...sizes.map(([resident = 0]) => resident));
  const limit = `the limit is ${megabytes(limits.memoryBytes)}`;
  if (largest > limits.memoryBytes) {
    return { kind: 'memory', message: `a process takes ${megabytes(largest)} of memory; ${limit}` };
  }
  const files = namelessBytes + (await bytesInFolders(inMemory.map((path) => `/proc/${pid}/root${path}`)));
  const together = await bytesOfAll(proc, processes, files, limits.memoryBytes);
  if (together <= limits.memoryBytes) return null;
  return {
    kind: 'memory',
    message: `its ${processes.length} processes and their files in memory take ${megabytes(together)} of memory; ${limit}`,
  };
}

/** Memory of all processes together with the files in memory. Files that are mapped as well count once. */
async function bytesOfAll(proc: string, processes: readonly string[], files: number, enough: number): Promise<number> {
  const sum = async (file: string, own: string, shared: string): Promise<number> => {
    const parts = await Promise.all(processes.map((id) => figures(`${proc}/${id}/${file}`, own, shared)));
    const total = (index: number): number => parts.reduce((bytes, part) => bytes + (part[index] ?? 0), 0);
    return total(0) + Math.max(total(1), files);
  };
  const atMost = await sum('status', 'RssAnon', 'RssShmem');
  // `status` counts a shared page once for each process. The proportional figures make the kernel walk over all pages.
  return atMost <= enough ? atMost : sum('smaps_rollup', 'Pss_Anon', 'Pss_Shmem');
}

/** Bytes in folders that lie in memory. Their file systems count deleted files while a process holds them. */
async function bytesInFolders(folders: readonly string[]): Promise<number> {
  const found = await Promise.all(folders.map((folder) => statfs(folder).catch(() => null)));
  return found.reduce((sum, each) => sum + (each === null ? 0 : (each.blocks - each.bfree) * each.bsize), 0);
}

/** Files that a sandbox's processes hold and no folder shows. */
interface HeldFiles {
  /** The sandbox's own /proc, as the host sees it, and the processes in it. */
  readonly proc: string;
  readonly processes: readonly string[];
  /** Files in memory that have no name (memfd_create) and belong to no process's resident memory. */
  readonly namelessBytes: number;
  /** Deleted files on the disk of the folder that are open. */
  readonly deletedBytes: number;
  /** True when deleted files may be held whose size cannot be seen. */
  readonly isHiding: boolean;
}

async function readHeldFiles({ pid, folder }: WatchRequest): Promise<HeldFiles> {
  const proc = `/proc/${pid}/root/proc`;
  const [processes, disk] = await Promise.all([listProcesses(proc), stat(folder).catch(() => null)]);
  const nameless = new Map<number, number>();
  const deleted = new Map<number, number>();
  let isHiding = false;
  let left = DESCRIPTORS_LOOKED_AT;
  const look = async (file: string, info: string): Promise<void> => {
    const target = await readlink(file).catch(() => '');
    if (target.startsWith('socket:')) {
      isHiding ||= /^scm_fds:\s*[1-9]/m.test(await readFile(info, 'utf8').catch(() => ''));
      return;
    }
    if (!target.endsWith(' (deleted)')) return;
    const found = await stat(file).catch(() => null);
    if (found === null || found.nlink > 0) return;
    if (target.startsWith('/memfd:')) nameless.set(found.ino, found.blocks * 512);
    else if (found.dev === disk?.dev) deleted.set(found.ino, found.blocks * 512);
  };
  for (const id of processes) {
    const names = await descriptors(`${proc}/${id}/fd`, left);
    if (names === null) {
      // It has just ended, or keeps what it has from being seen.
      isHiding ||= (await stat(`${proc}/${id}`).catch(() => null)) !== null;
      continue;
    }
    left -= names.length;
    await Promise.all(names.map((name) => look(`${proc}/${id}/fd/${name}`, `${proc}/${id}/fdinfo/${name}`)));
    isHiding ||= await mapsDeletedFile(`${proc}/${id}/maps`);
  }
  const sum = (files: ReadonlyMap<number, number>): number =>
    [...files.values()].reduce((all, bytes) => all + bytes, 0);
  return {
    proc,
    processes,
    namelessBytes: sum(nameless),
    deletedBytes: sum(deleted),
    isHiding: isHiding || left <= 0,
  };
}

/** Shared memory is mapped as a deleted file of /dev or /tmp, or under a name of its own. */
async function mapsDeletedFile(maps: string): Promise<boolean> {
  const lines = (await readFile(maps, 'utf8').catch(() => '')).split('\n');
  return lines.some((line) => line.endsWith(' (deleted)') && !/ \/(?:dev\/|tmp\/|memfd:|SYSV)/.test(line));
}

/** Processes of the sandbox, from its own /proc. Empty before that is mounted, and after the sandbox has ended. */
async function listProcesses(proc: string): Promise<string[]> {
  const [own, hosts] = await Promise.all([stat(proc).catch(() => null), stat('/proc')]);
  if (own === null || own.dev === hosts.dev) return [];
  return (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name));
}

/** @returns the first of them, since a process may have a million; `null` where they cannot be read */
async function descriptors(folder: string, atMost: number): Promise<string[] | null> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) {
      if (names.length >= atMost) break;
      names.push(name);
    }
  } catch {
    return null;
  }
  return names;
}

/** Figures of a file in /proc that has them in kB, as bytes; 0 for a missing one. */
async function figures(file: string, ...keys: readonly string[]): Promise<number[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  // oxlint-disable-next-line autonomous/linear-expressions -- a key of /proc, which the kernel writes
  return keys.map((key) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024);
}
