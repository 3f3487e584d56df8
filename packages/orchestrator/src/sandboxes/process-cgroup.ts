/**
 * A control group that bounds how many processes a sandbox has. For servers that run as root, to whom RLIMIT_NPROC does
 * not apply; where no control group can be made, `sandbox-watch.ts` ends a fork bomb some moments later.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Where new groups can be made: the pids controller of version 1, and the one hierarchy of version 2. */
const HIERARCHIES = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'];

const PREFIX = 'autonomous-';

export interface ProcessCgroup {
  /** A process that writes its pid here is in the group, with all its later children. */
  readonly joinFile: string;
  /** To be called when its processes are gone. */
  remove(): Promise<void>;
}

/** @returns `null` when none is needed (not root) or none can be made */
export function createProcessCgroup(processes: number): ProcessCgroup | null {
  if (process.getuid?.() !== 0) return null;
  for (const hierarchy of HIERARCHIES) {
    const folder = join(hierarchy, `${PREFIX}${process.pid}-${randomUUID()}`);
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    const limit = join(folder, 'pids.max');
    // Without the controller the folder has no such file, and in a plain tmpfs it would be made an ordinary one.
    if (existsSync(limit)) {
      writeFileSync(limit, String(processes));
      return { joinFile: join(folder, 'cgroup.procs'), remove: () => removeWhenEmpty(folder) };
    }
    rmdirSync(folder);
  }
  return null;
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
