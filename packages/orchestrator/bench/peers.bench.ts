/**
 * This engine beside others on the same work: create → plan (1 KB) → wait for approval → implement (4 KB) → validate →
 * done. Each measurement is a process of its own on empty storage, and the contenders take turns (A B C A B C …), so
 * that what else the machine does meets all of them. Figures are medians of the rounds.
 *
 * approve p50: from before the approval is sent until the code of the implementation starts · restart: 1,000 waiting
 * runs, kill -9, a new process; from before it opens the storage until the last run is completed · MB: resident after a
 * collection, and what other processes of the engine take beside it · ms a step: the mean of the second half of a run of
 * so many steps whose state grows by 1 KB each · KB a run: on disk after a checkpoint.
 *
 * Options: --only NAME,NAME --parts throughput,restart,memory,growth --repeat N --runs N --seconds N
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BenchResult } from './bench.ts';
import type { Entrant } from './contest/entrants.ts';
import { installPeers } from './contest/install.ts';
import { measure } from './contest/measure.ts';
import { type Part, type PeersOptions, readPeersOptions } from './contest/options.ts';
import type { Order, Report } from './contest/orders.ts';
import { type PostgresCluster, startPostgres } from './contest/postgres.ts';
import { describeProbe, type Probe, probeMachine } from './contest/processes.ts';
import {
  CONCURRENCIES,
  figuresOf,
  GROWTH_STEPS,
  failuresOf,
  type Sample,
  tableOf,
  WAITING_RUNS,
} from './contest/summary.ts';

export const name = 'peers';
export const description =
  'runs a second, latency, restart, memory and growth beside LangGraph, Mastra, DBOS and others';

const RESTARTED_RUNS = 1_000;
/** Nothing that is measured takes so long; what does counts as not finished. */
const PATIENCE = { throughputS: 60, waitingS: 150, restartS: 90, growthS: 30 };
/** What takes longer than this is measured in the first round alone. */
const REPEATED_BELOW_S: Readonly<Record<Part, number>> = { throughput: Infinity, restart: 20, memory: 12, growth: 12 };

export async function run(args: readonly string[]): Promise<BenchResult> {
  const options = readPeersOptions(args);
  const folder = mkdtempSync(path.join(tmpdir(), 'peers-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  // Measuring processes end when this one does, and the cluster with its parent.
  process.once('SIGINT', () => process.exit(130)).once('exit', removeFolder);
  const ground = await prepare(options.entrants, folder);
  try {
    const { samples, probes } = await measureAll(options, ground);
    return {
      table: tableOf(options.entrants, samples),
      notes: [...failuresOf(options.entrants, samples), describeProbe(probes)],
      figures: figuresOf(options.entrants, samples, probes),
    };
  } finally {
    await ground.postgres?.stop();
    removeFolder();
  }
}

/** What the contenders stand on. */
interface Ground {
  readonly folder: string;
  readonly postgres: PostgresCluster | undefined;
  /** Why something that a contender needs is not there. */
  readonly missing: ReadonlyMap<Entrant['needs'][number], string>;
}

async function prepare(entrants: readonly Entrant[], folder: string): Promise<Ground> {
  const needed = new Set(entrants.flatMap(({ needs }) => needs));
  const missing = new Map<Entrant['needs'][number], string>();
  let postgres: PostgresCluster | undefined;
  try {
    if (needed.has('peers')) installPeers();
  } catch (error) {
    missing.set('peers', wordsOf(error));
  }
  try {
    if (needed.has('postgres')) postgres = await startPostgres();
  } catch (error) {
    missing.set('postgres', wordsOf(error));
  }
  return { folder, postgres, missing };
}

async function measureAll(
  options: PeersOptions,
  ground: Ground,
): Promise<{ readonly samples: readonly Sample[]; readonly probes: readonly Probe[] }> {
  const samples: Sample[] = [];
  const probes: Probe[] = [];
  const take = (entrant: Entrant, reports: readonly Report[]): void =>
    void samples.push(...reports.map((report) => ({ ...report, contender: entrant.name })));

  const able = options.entrants.filter((entrant) => {
    const reasons = entrant.needs.flatMap((need) => ground.missing.get(need) ?? []);
    for (const reason of reasons) take(entrant, [{ part: 'failed', message: `cannot run here: ${reason}` }]);
    return reasons.length === 0;
  });
  const slow = new Set<string>();
  for (let round = 1; round <= options.repeat; round++) {
    for (const { title, part, work } of measurementsOf(options)) {
      console.error(`[peers] round ${round} of ${options.repeat}: ${title}`);
      probes.push(probeMachine(ground.folder));
      for (const entrant of able) {
        const key = `${part} ${entrant.name}`;
        if (slow.has(key)) continue;
        const from = performance.now();
        take(entrant, await inFreshFolder(entrant, ground, work));
        if (performance.now() - from > REPEATED_BELOW_S[part] * 1_000) slow.add(key);
      }
    }
  }
  return { samples, probes };
}

type OrderBase = Pick<Order, 'adapter' | 'folder' | 'settings'>;

/** What each contender does in its turn. */
interface Measurement {
  readonly part: Part;
  readonly title: string;
  readonly work: (base: OrderBase) => Promise<readonly Report[]>;
}

function measurementsOf({ parts, runs, seconds }: PeersOptions): readonly Measurement[] {
  const all: readonly Measurement[] = [
    ...CONCURRENCIES.map((concurrency) => ({
      part: 'throughput' as const,
      title: `runs a second at ${concurrency}`,
      work: (base: OrderBase) =>
        measure({ ...base, part: 'throughput', concurrency, runs, seconds }, PATIENCE.throughputS),
    })),
    { part: 'restart', title: 'restart', work: measureRestart },
    {
      part: 'memory',
      title: 'memory',
      work: (base) => measure({ ...base, part: 'waiting', counts: WAITING_RUNS }, PATIENCE.waitingS),
    },
    {
      part: 'growth',
      title: 'growth',
      work: (base) =>
        measure({ ...base, part: 'growth', steps: GROWTH_STEPS, seconds: PATIENCE.growthS }, PATIENCE.growthS),
    },
  ];
  return all.filter(({ part }) => parts.has(part));
}

async function measureRestart(base: OrderBase): Promise<readonly Report[]> {
  const waiting = await measure({ ...base, part: 'waiting', counts: [0, RESTARTED_RUNS] }, PATIENCE.waitingS);
  if (waiting.some(({ part }) => part === 'failed')) return waiting;
  return [...waiting, ...(await measure({ ...base, part: 'restart', runs: RESTARTED_RUNS }, PATIENCE.restartS))];
}

async function inFreshFolder(
  entrant: Entrant,
  { folder, postgres }: Ground,
  work: (base: OrderBase) => Promise<readonly Report[]>,
): Promise<readonly Report[]> {
  const own = mkdtempSync(path.join(folder, `${entrant.name}-`));
  const cluster = postgres ? { postgres: postgres.url, postmaster: String(postgres.pid) } : {};
  try {
    return await work({ adapter: entrant.adapter, folder: own, settings: { ...entrant.settings, ...cluster } });
  } finally {
    rmSync(own, { recursive: true, force: true, maxRetries: 3 });
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
