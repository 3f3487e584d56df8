/** Runs on a disk that is slow to sync, and how long they keep the event loop: `slow-disk-process.ts SLOW_DISK`. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openSqliteEventStore } from '@autonomous/orchestrator/engine';
import { contend } from '../contest/autonomous.ts';
import { endWithParent, report } from '../contest/child.ts';
import { drive, ids } from '../contest/load.ts';

export interface SlowDisk {
  readonly file: string;
  readonly writer: 'thread' | 'inline';
  readonly syncDelayMs: number;
  /** At the same time. */
  readonly runs: number;
  readonly seconds: number;
}

export interface SlowDiskReport {
  readonly runsPerS: number;
  readonly loopDelayP50Ms: number;
  readonly loopDelayP99Ms: number;
  readonly loopDelayMaxMs: number;
}

const RESOLUTION_MS = 1;
const NS_PER_MS = 1e6;
const WARM_UP_RUNS = 100;

endWithParent();
const { file, writer, syncDelayMs, runs, seconds } = JSON.parse(process.argv[2] ?? '') as SlowDisk; // The bench wrote it.
const engine = await contend(openSqliteEventStore({ file, writer, faults: { syncDelayMs } }));
const oneRun = async (id: string): Promise<void> => {
  await engine.start(id);
  await engine.approve(id);
};
await drive(ids('warm-up', WARM_UP_RUNS), runs, Infinity, oneRun);
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
const from = performance.now();
const done = await drive(ids('run', 100_000), runs, seconds, oneRun);
const elapsedMs = performance.now() - from;
delay.disable();
await report({
  runsPerS: (done / elapsedMs) * 1_000,
  loopDelayP50Ms: delay.percentile(50) / NS_PER_MS,
  loopDelayP99Ms: delay.percentile(99) / NS_PER_MS,
  loopDelayMaxMs: delay.max / NS_PER_MS,
} satisfies SlowDiskReport);
await engine.close();
process.exit();
