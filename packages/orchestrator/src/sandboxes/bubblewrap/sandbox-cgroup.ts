/**
 * A control group that bounds how many processes a sandbox has and how much memory they take, and gives way to the server where
 * processors are short. For servers that run as root: RLIMIT_NPROC does not apply to them. Where no control group can be
 * made, `sandbox-watch.ts` ends what takes too much some moments later.
 *
 * The watch tells what it found, so it comes first: the kernel's bound on memory lies above the limit, for what is quicker.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxLimits } from '../sandbox.ts';

/** Where new groups can be made: one hierarchy for each controller in version 1, and the one of version 2. */
const HIERARCHIES = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/cpu', '/sys/fs/cgroup'];

const PREFIX = 'autonomous-';
const ABOVE_MEMORY_LIMIT = 1.5;

export interface SandboxCgroup {
  /** A process that writes its pid to each of them is in the group, with all its later children. */
  readonly joinFiles: readonly string[];
  /** Bytes after which the kernel ends processes; `null` where it does not. */
  readonly memoryBytes: number | null;
  /** True once the kernel has ended one of its processes for want of memory. */
  ranOutOfMemory(): boolean;
  /** To be called when its processes are gone. */
  remove(): Promise<void>;
}

/** @returns `null` when none is needed (not root) or none can be made */
export function createSandboxCgroup({
  processes,
  memoryBytes,
}: Pick<SandboxLimits, 'processes' | 'memoryBytes'>): SandboxCgroup | null {
  if (process.getuid?.() !== 0) return null;
  const kernelsBytes = Math.ceil(memoryBytes * ABOVE_MEMORY_LIMIT);
  const settings = {
    'pids.max': processes,
    'memory.limit_in_bytes': kernelsBytes,
    'memory.memsw.limit_in_bytes': kernelsBytes,
    'memory.max': kernelsBytes,
    'memory.swap.max': 0,
    // A third of what the server weighs: a priority (nice) counts only within a session, and a sandbox is one of its own.
    'cpu.shares': 341,
    'cpu.weight': 33,
  };
  const name = `${PREFIX}${process.pid}-${randomUUID()}`;
  const folders: string[] = [];
  const limited = new Set<string>();
  for (const hierarchy of HIERARCHIES) {
    const folder = join(hierarchy, name);
    const taken = limitsOf(folder, settings, limited);
    if (taken.length > 0) folders.push(folder);
    for (const setting of taken) limited.add(setting);
  }
  if (folders.length === 0) return null;
  return {
    joinFiles: folders.map((folder) => join(folder, 'cgroup.procs')),
    memoryBytes: limited.has('memory.max') || limited.has('memory.limit_in_bytes') ? kernelsBytes : null,
    ranOutOfMemory: () => folders.some(hasEndedProcesses),
    remove: async () => {
      await Promise.all(folders.map(removeWhenEmpty));
    },
  };
}

/** Makes the group where it has a controller that sets a limit not set yet, and leaves nothing where it has none. */
function limitsOf(folder: string, settings: Readonly<Record<string, number>>, limited: ReadonlySet<string>): string[] {
  try {
    mkdirSync(folder);
  } catch {
    return [];
  }
  // Without the controller the folder has no such file, and in a plain tmpfs it would be made an ordinary one.
  const taken = Object.entries(settings).filter(([setting, value]) => {
    const file = join(folder, setting);
    return !limited.has(setting) && existsSync(file) && isTaken(file, value);
  });
  if (taken.length === 0) rmdirSync(folder);
  return taken.map(([setting]) => setting);
}

function isTaken(file: string, value: number): boolean {
  try {
    writeFileSync(file, String(value));
    return true;
  } catch {
    return false;
  }
}

function hasEndedProcesses(folder: string): boolean {
  return ['memory.events', 'memory.oom_control'].some((name) => {
    const file = join(folder, name);
    return existsSync(file) && /^oom_kill [1-9]/m.test(readFileSync(file, 'utf8'));
  });
}

/** Removes what servers that were killed have left. A group with processes in it cannot be removed, so nothing in use is. */
export function removeAbandonedCgroups(): void {
  if (process.getuid?.() !== 0) return;
  for (const hierarchy of HIERARCHIES) {
    const names = existsSync(hierarchy) ? readdirSync(hierarchy) : [];
    for (const name of names.filter((found) => found.startsWith(PREFIX))) {
      const owner = name.slice(PREFIX.length).split('-')[0] ?? '';
      if (existsSync(`/proc/${owner}`)) continue;
      try {
        rmdirSync(join(hierarchy, name));
      } catch {
        // Still in use, or another server was faster.
      }
    }
  }
}

/** The kernel takes a moment to clear away what was killed; an empty group that stays behind does no harm. */
async function removeWhenEmpty(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 40; attempt += 1) {
    try {
      rmdirSync(folder);
      return;
    } catch {
      await delay(25, undefined, { ref: false });
    }
  }
}
