/**
 * Watches what a bubblewrap sandbox takes, for what the kernel's own limits leave open: the resident memory of a process
 * (RLIMIT_RSS does nothing), processes where the server is root, and a disk filled with many small files.
 */
import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import type { SandboxLimits } from './sandbox.ts';

const INTERVAL_MS = 250;

export interface Breach {
  readonly kind: 'processes' | 'memory' | 'disk';
  /** For a person: the figure that was passed. */
  readonly message: string;
}

export interface WatchRequest {
  /** Host pid of the first process in the sandbox's pid namespace. */
  readonly pid: number;
  readonly folder: string;
  readonly limits: SandboxLimits;
  /** Space that must stay free on the disk that holds the folder. */
  readonly reservedDiskBytes: number;
  readonly onBreach: (breach: Breach) => void;
}

/** Looks several times a second until the function it returns is called. */
export function watchSandbox(request: WatchRequest): () => void {
  let busy = false;
  const look = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    const breach = (await findDiskBreach(request)) ?? (await findProcessBreach(request));
    busy = false;
    if (breach !== null) request.onBreach(breach);
  };
  const timer = setInterval(() => void look(), INTERVAL_MS);
  void look();
  return () => clearInterval(timer);
}

async function findDiskBreach({ folder, reservedDiskBytes }: WatchRequest): Promise<Breach | null> {
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) return null;
  const freeBytes = disk.bavail * disk.bsize;
  if (freeBytes >= reservedDiskBytes) return null;
  return {
    kind: 'disk',
    message: `only ${megabytes(freeBytes)} are free on the disk of ${folder}; ${megabytes(reservedDiskBytes)} are kept in reserve`,
  };
}

async function findProcessBreach({ pid, limits }: WatchRequest): Promise<Breach | null> {
  const proc = `/proc/${pid}/root/proc`;
  const processes = await listProcesses(proc);
  if (processes.length > limits.processes) {
    return { kind: 'processes', message: `${processes.length} processes; the limit is ${limits.processes}` };
  }
  const sizes = await Promise.all(processes.map((id) => residentBytes(`${proc}/${id}/status`)));
  const largest = Math.max(0, ...sizes);
  if (largest <= limits.memoryBytes) return null;
  return {
    kind: 'memory',
    message: `a process takes ${megabytes(largest)} of memory; the limit is ${megabytes(limits.memoryBytes)}`,
  };
}

/** The sandbox's own /proc lists its processes and no others. Until it is mounted, and when all is over, there are none. */
async function listProcesses(proc: string): Promise<string[]> {
  const [own, hosts] = await Promise.all([stat(proc).catch(() => null), stat('/proc')]);
  if (own === null || own.dev === hosts.dev) return [];
  return (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name));
}

async function residentBytes(statusFile: string): Promise<number> {
  const status = await readFile(statusFile, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`;
}
