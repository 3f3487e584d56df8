/** Reads Linux's figures of processes and files, and the current performance of the machine. */
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { loadavg } from 'node:os';
import path from 'node:path';
import { median, percentile, rounded } from './statistics.ts';

/** A process and all that descend from it, parents first. */
export function familyOf(pid: number): readonly number[] {
  const family = [pid];
  for (const member of family) family.push(...childrenOf(member));
  return family;
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return []; // It has ended.
  }
}

/** Resident memory of this process. */
export function rssMb(): number {
  return process.memoryUsage.rss() / 2 ** 20;
}

/** What several processes take together: memory that they share counts once. */
export function pssMb(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + pssKb(pid), 0) / 1_024;
}

function pssKb(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // It has ended.
  }
}

/** Bytes that the files below a folder take on the disk. */
export async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder, { recursive: true })) {
    // A database may remove a file of its own meanwhile.
    const stats = await lstat(path.join(folder, name)).catch(() => null);
    if (stats?.isFile()) bytes += stats.blocks * 512;
  }
  return bytes;
}

export interface Probe {
  /** Median and 90th percentile of appending 4 KiB to a file and syncing it. */
  readonly fsyncMs: number;
  readonly fsyncP90Ms: number;
  /** A fixed computation: what the processor gives this process now. */
  readonly spinMs: number;
  /** Processes that wanted the processor in the last minute. */
  readonly load: number;
}

const SYNCS = 60;
const SPINS = 20_000_000;

/** What disk and processor do at the moment, without which figures of two moments cannot be compared. */
export function probeMachine(folder: string): Probe {
  const file = path.join(folder, 'probe');
  const descriptor = openSync(file, 'w');
  const block = Buffer.alloc(4_096, 1);
  const syncs = Array.from({ length: SYNCS }, () => {
    const from = performance.now();
    writeSync(descriptor, block);
    fdatasyncSync(descriptor);
    return performance.now() - from;
  });
  closeSync(descriptor);
  rmSync(file);
  return {
    fsyncMs: median(syncs) ?? 0,
    fsyncP90Ms: percentile(syncs, 90) ?? 0,
    spinMs: spin(),
    load: loadavg()[0] ?? 0,
  };
}

/** For people, from probes at several moments. */
export function describeProbe(probes: readonly Probe[]): string {
  const of = (figure: keyof Probe): number => rounded(median(probes.map((probe) => probe[figure])) ?? 0);
  return (
    `Meanwhile on this machine: fsync of 4 KiB ${of('fsyncMs')} ms (p90 ${of('fsyncP90Ms')}), ` +
    `a fixed computation ${of('spinMs')} ms, load ${of('load')}. Under load, differences below a factor of 2 prove nothing.`
  );
}

function spin(): number {
  const from = performance.now();
  let value = 0;
  for (let turn = 0; turn < SPINS; turn++) value = (value * 31 + turn) | 0;
  // Asked for, so that no compiler leaves the loop out.
  if (!Number.isInteger(value)) throw new Error('A whole number became a fraction.');
  return performance.now() - from;
}
