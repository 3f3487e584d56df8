/**
 * Loaded into a server before its own code: watches its event loop from SIGUSR2 on, and writes what it saw to the file that
 * LOOP_WATCH names when the process exits.
 */
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface LoopWatch {
  /** Beyond the resolution of the clock, milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Most that was resident at any time, megabytes. */
  readonly rssMb: number;
}

const RESOLUTION_MS = 5;
const file = process.env['LOOP_WATCH'];
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

process.once('SIGUSR2', () => delay.enable());
process.once('exit', () => {
  if (file === undefined) return;
  const beyond = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const watched: LoopWatch = {
    p50Ms: beyond(delay.percentile(50)),
    p99Ms: beyond(delay.percentile(99)),
    maxMs: beyond(delay.max),
    rssMb: process.resourceUsage().maxRSS / 1_024,
  };
  writeFileSync(file, JSON.stringify(watched));
});
