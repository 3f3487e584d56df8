/**
 * Lets one window install while others wait. It saves the others the download and no more: installations that overlap for
 * any reason write into folders of their own, and the first that is complete is used.
 */
import { randomUUID } from 'node:crypto';
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';

export interface LockOptions {
  /** The holder renews the file this often; 2 s when absent. */
  readonly renewEveryMs?: number;
  /** A file that nobody renewed for this long is stale; 15 s when absent. */
  readonly staleAfterMs?: number;
}

interface Holder {
  readonly id: string;
  readonly pid: number;
  readonly host: string;
}

/** @returns a function that gives the lock back; `null` while another process holds it */
export async function takeLock(file: string, options: LockOptions = {}): Promise<(() => Promise<void>) | null> {
  const { renewEveryMs = 2_000, staleAfterMs = 15_000 } = options;
  const own: Holder = { id: randomUUID(), pid: process.pid, host: hostname() };
  if (await isStale(file, staleAfterMs)) await rm(file, { force: true });
  try {
    await writeFile(file, JSON.stringify(own), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw error;
  }
  const timer = setInterval(() => {
    const now = new Date();
    // A lock that is gone was taken over: both go on, and the first is used.
    utimes(file, now, now).catch(() => undefined);
  }, renewEveryMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    if ((await readHolder(file))?.id === own.id) await rm(file, { force: true });
  };
}

/** True for a process of this machine that is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function isStale(file: string, staleAfterMs: number): Promise<boolean> {
  const found = await stat(file).catch(() => null);
  if (found === null) return false;
  if (Date.now() - found.mtimeMs > staleAfterMs) return true;
  const holder = await readHolder(file);
  return holder !== null && holder.host === hostname() && !isAlive(holder.pid);
}

/** `null` for a file that is gone or is being written. */
async function readHolder(file: string): Promise<Holder | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder;
  } catch {
    return null;
  }
}
