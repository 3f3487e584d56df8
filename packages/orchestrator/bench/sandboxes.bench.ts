/**
 * Measures a sandbox: the time until its first command has ended, and the time of each later command, compared with the
 * bare `spawn` of a shell. `egress` is bubblewrap with an allow-list, whose commands have a relay to the egress proxy
 * started before them.
 *
 * startOverBare: opening and the first command, less a bare spawn · commandOverBare: each later command, less a bare spawn.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { InvalidRequest } from '@autonomous/shared';
import { createBubblewrapProvider } from '../src/sandboxes/bubblewrap/bubblewrap.ts';
import type { SandboxProvider, SandboxSpec } from '../src/sandboxes/sandbox.ts';
import type { BenchResult } from './bench.ts';

export const name = 'sandboxes';
export const description = 'start-up and per-command cost of each sandbox, beside a bare spawn';

const MB = 1024 * 1024;
const LIMITS = { memoryBytes: 4_096 * MB, fileBytes: 1_024 * MB, processes: 512, cpuSeconds: 3_600 };
/** The first ones find caches cold, of the disk and of the compiler. */
const WARM_UP = 5;

interface Case {
  /** Begins the names of its figures. */
  readonly key: string;
  readonly provider: SandboxProvider;
  readonly network: SandboxSpec['network'];
}

interface Samples {
  readonly startMs: readonly number[];
  readonly commandMs: readonly number[];
}

/**
 * @param options `--samples N`: how often each is measured (default 60)
 * @throws {InvalidRequest} for other options
 */
export async function run(options: readonly string[]): Promise<BenchResult> {
  const count = readCount(options);
  const bubblewrap = createBubblewrapProvider();
  const cases: readonly Case[] = [
    { key: 'bubblewrap', provider: bubblewrap, network: 'none' },
    { key: 'bubblewrapEgress', provider: bubblewrap, network: { allow: [] } },
  ];
  const folder = await mkdtemp(path.join(tmpdir(), 'bench-sandboxes-'));
  try {
    const bare: number[] = [];
    const measured = new Map<string, { startMs: number[]; commandMs: number[] }>();
    const notes: string[] = [];
    const usable: Case[] = [];
    for (const each of cases) {
      const available = await each.provider.availability();
      if (available.ok) usable.push(each);
      else notes.push(`${each.key} is not measured: ${available.reason}. ${available.remedy}`);
      measured.set(each.key, { startMs: [], commandMs: [] });
    }
    // In turns, so that what else the machine does meanwhile falls on all alike.
    for (let round = 0; round < WARM_UP + count; round += 1) {
      const isKept = round >= WARM_UP;
      const bareMs = await timed(() => bareSpawn(folder));
      if (isKept) bare.push(bareMs);
      for (const each of usable) {
        const { startMs, commandMs } = await measureOnce(each, folder);
        if (!isKept) continue;
        measured.get(each.key)?.startMs.push(startMs);
        measured.get(each.key)?.commandMs.push(commandMs);
      }
    }
    return { ...result(bare, measured), notes };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readCount(options: readonly string[]): number {
  try {
    const { values } = parseArgs({ args: [...options], options: { samples: { type: 'string', default: '60' } } });
    const count = Number(values.samples);
    if (Number.isInteger(count) && count > 0 && count <= 10_000) return count;
  } catch {
    // Said below.
  }
  throw new InvalidRequest('Usage: npm run bench -- sandboxes [--samples N], with N from 1 to 10000');
}

async function measureOnce({ provider, network }: Case, folder: string) {
  const from = performance.now();
  const sandbox = await provider.open({ key: 'bench', folder, readOnly: [], network, limits: LIMITS });
  try {
    const command = async (): Promise<void> => {
      const { exitCode, stderr } = await sandbox.run({ command: 'true', timeoutMs: 60_000 });
      if (exitCode !== 0) throw new Error(`The command 'true' ended with ${exitCode}: ${stderr}`);
    };
    await command();
    const startMs = performance.now() - from;
    return { startMs, commandMs: await timed(command) };
  } finally {
    await sandbox.dispose();
  }
}

/** The same shell with the same pipes, and nothing around it. */
function bareSpawn(cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', 'true'], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    child.once('error', reject);
    child.once('close', () => resolve());
    child.stdout.resume();
    child.stderr.resume();
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

function result(bare: readonly number[], measured: ReadonlyMap<string, Samples>): Omit<BenchResult, 'notes'> {
  const bareP50 = percentile(bare, 50);
  const over = (values: readonly number[], percent: number): number | null =>
    values.length === 0 ? null : rounded(percentile(values, percent) - bareP50);
  const rows: (readonly [string, number, number])[] = [['bare spawn', rounded(bareP50), rounded(percentile(bare, 95))]];
  const figures: Record<string, number | null> = {
    bareSpawnP50Ms: rounded(bareP50),
    bareSpawnP95Ms: rounded(percentile(bare, 95)),
  };
  for (const [key, { startMs, commandMs }] of measured) {
    for (const [what, values] of [
      ['Start', startMs],
      ['Command', commandMs],
    ] as const) {
      figures[`${key}${what}OverBareP50Ms`] = over(values, 50);
      figures[`${key}${what}OverBareP95Ms`] = over(values, 95);
      if (values.length > 0)
        rows.push([`${key}, ${what.toLowerCase()}`, rounded(percentile(values, 50)), rounded(percentile(values, 95))]);
    }
  }
  return { table: { columns: ['what', 'p50 ms', 'p95 ms'], rows }, figures };
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? 0;
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
