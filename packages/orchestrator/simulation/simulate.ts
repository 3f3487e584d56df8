/** Many schedules, on as many threads as there are cores. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { addFaults, type FaultCounts, noFaults } from './faults.ts';
import type { ScheduleResult } from './schedule.ts';

export interface SimulationOptions {
  readonly schedules: number;
  /** Of the first schedule; each following one has the next. */
  readonly seed: number;
  /** Default: one for each core. */
  readonly threads?: number;
  /** Name of a planted bug. */
  readonly bug?: string;
  /** Ends after so many violations. Default: never. */
  readonly mostViolations?: number;
}

export interface Simulation {
  readonly schedules: number;
  readonly crashes: number;
  readonly events: number;
  readonly faults: FaultCounts;
  /** Those that broke an invariant. */
  readonly violations: readonly ScheduleResult[];
  readonly seconds: number;
}

/** Schedules that a thread takes at a time: it opens one store for them. */
export const CHUNK = 50;

export interface ChunkOrder {
  readonly seed: number;
  readonly schedules: number;
  readonly mostViolations: number;
}

/** What a thread tells of its chunk. */
export interface ChunkResult {
  readonly schedules: number;
  readonly crashes: number;
  readonly events: number;
  readonly faults: FaultCounts;
  readonly violations: readonly ScheduleResult[];
}

/** @throws when a thread ends by an error of its own */
export async function simulate({
  schedules,
  seed,
  threads = availableParallelism(),
  bug,
  mostViolations = Infinity,
}: SimulationOptions): Promise<Simulation> {
  const startedAt = performance.now();
  const faults = noFaults();
  const violations: ScheduleResult[] = [];
  let next = 0;
  let done = 0;
  let crashes = 0;
  let events = 0;
  const takeChunk = (): ChunkOrder | null => {
    if (next >= schedules || violations.length >= mostViolations) return null;
    const order = { seed: seed + next, schedules: Math.min(CHUNK, schedules - next), mostViolations };
    next += order.schedules;
    return order;
  };
  const take = (result: ChunkResult): void => {
    done += result.schedules;
    crashes += result.crashes;
    events += result.events;
    addFaults(faults, result.faults);
    violations.push(...result.violations);
  };
  const workers = Math.min(threads, Math.ceil(schedules / CHUNK));
  await Promise.all(Array.from({ length: workers }, () => runThread(bug, takeChunk, take)));
  violations.sort((a, b) => a.seed - b.seed);
  return { schedules: done, crashes, events, faults, violations, seconds: (performance.now() - startedAt) / 1_000 };
}

function runThread(
  bug: string | undefined,
  takeChunk: () => ChunkOrder | null,
  take: (result: ChunkResult) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('simulation-thread.ts', import.meta.url), { workerData: { bug: bug ?? null } });
    const goOn = (): void => worker.postMessage(takeChunk());
    worker.on('message', (result: ChunkResult) => {
      take(result);
      goOn();
    });
    worker.once('error', reject);
    worker.once('exit', () => resolve());
    goOn();
  });
}
