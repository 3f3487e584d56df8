/**
 * Measures the effect of a slow disk on everything else that a server answers. Each sync takes 20 ms longer, 50 runs
 * work at the same time, and the event loop of the main thread is watched, with the writer in its own thread (the
 * default) and in the main one. The two take turns; figures are medians.
 *
 * Options: --repeat N --seconds N --delay MS
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BenchResult } from './bench.ts';
import { runChild } from './contest/child.ts';
import { readNumbers } from './contest/options.ts';
import { describeProbe, type Probe, probeMachine } from './contest/processes.ts';
import { median, rounded } from './contest/statistics.ts';
import type { SlowDisk, SlowDiskReport } from './slow-disk/slow-disk-process.ts';

export const name = 'slow-disk';
export const description = 'the delay of the event loop while each sync takes 20 ms, writer in a thread and inline';

const PROGRAM = path.join(import.meta.dirname, 'slow-disk', 'slow-disk-process.ts');
const WRITERS = ['thread', 'inline'] as const;
const RUNS = 50;
const SILENCE_S = 120;

export async function run(args: readonly string[]): Promise<BenchResult> {
  const { repeat, seconds, delay } = readNumbers(args, { repeat: 3, seconds: 4, delay: 20 });
  const folder = mkdtempSync(path.join(tmpdir(), 'slow-disk-'));
  const reports: Record<SlowDisk['writer'], SlowDiskReport[]> = { thread: [], inline: [] };
  const probes: Probe[] = [];
  try {
    for (let round = 1; round <= repeat; round++) {
      probes.push(probeMachine(folder));
      for (const writer of WRITERS) {
        const file = path.join(folder, `${writer}-${round}.db`);
        reports[writer].push(await measure({ file, writer, syncDelayMs: delay, runs: RUNS, seconds }));
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const of = (writer: SlowDisk['writer'], figure: keyof SlowDiskReport): number =>
    rounded(median(reports[writer].map((report) => report[figure])) ?? Number.NaN);
  return {
    table: {
      columns: ['writer', 'runs/s', 'loop delay p50 ms', 'p99 ms', 'longest ms'],
      rows: WRITERS.map((writer) => [
        writer,
        of(writer, 'runsPerS'),
        of(writer, 'loopDelayP50Ms'),
        of(writer, 'loopDelayP99Ms'),
        of(writer, 'loopDelayMaxMs'),
      ]),
    },
    notes: [describeProbe(probes)],
    figures: {
      syncDelayMs: delay,
      loopDelayP99ThreadMs: of('thread', 'loopDelayP99Ms'),
      loopDelayP99InlineMs: of('inline', 'loopDelayP99Ms'),
      runsPerSThread: of('thread', 'runsPerS'),
      runsPerSInline: of('inline', 'runsPerS'),
    },
  };
}

async function measure(disk: SlowDisk): Promise<SlowDiskReport> {
  let measured: SlowDiskReport | undefined;
  const failure = await runChild<SlowDiskReport>(PROGRAM, disk, {
    silenceS: SILENCE_S,
    onMessage: (report) => (measured = report),
  });
  if (failure !== undefined || measured === undefined) {
    throw new Error(`The process with its writer ${disk.writer} failed: ${failure ?? 'it reported nothing'}`);
  }
  return measured;
}
