/**
 * Notices when the event loop is blocked, which the blocked thread itself cannot. A separate thread counts heartbeats. When
 * they stop, it asks the debugger where the program stands and for which run, and logs the answer. A loop that stays blocked
 * serves no client and takes no signal, so the process is ended and its supervisor starts it again. A file names the run for
 * the next start.
 */
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { exposeActivity } from '../runner/activity-scope.ts';

export interface EventLoopWatchOptions {
  readonly dataFolder: string;
  /** Milliseconds after which the process of a blocked loop is ended. */
  readonly endAfterMs: number;
}

/** For the worker: where it counts and what it writes. */
export interface WatchOrder {
  /** Grows with each heartbeat. */
  readonly beats: Int32Array;
  readonly file: string;
  readonly logAfterMs: number;
  readonly endAfterMs: number;
}

export const BEAT_MS = 250;
/** Blocked for so long, it is logged. */
const LOG_AFTER_MS = 2_000;

/** @returns ends the watch */
export function watchEventLoop(options: EventLoopWatchOptions): () => Promise<void> {
  const { dataFolder, endAfterMs } = options;
  exposeActivity();
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const beating = setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS);
  beating.unref();
  const order: WatchOrder = { beats, file: blockedFile(dataFolder), logAfterMs: LOG_AFTER_MS, endAfterMs };
  // Only imports are rewritten by the build, so the ending follows this file's own.
  const file = `./event-loop-watch-worker${import.meta.url.slice(-3)}`;
  const worker = new Worker(new URL(file, import.meta.url), {
    workerData: order,
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  worker.unref();
  // The server works without its watch.
  worker.on('error', () => undefined);
  return async () => {
    clearInterval(beating);
    await worker.terminate();
  };
}

const blockedBy = z.object({ runId: z.string(), activity: z.string(), key: z.string(), where: z.string() });
/** The activity that blocked the last process until it was ended. */
export type BlockedBy = z.infer<typeof blockedBy>;

/**
 * Reads and removes the note that the watch of the last process left. `null` when no
 * watch ended it, or the note names no run.
 */
export function takeBlockedBy(dataFolder: string): BlockedBy | null {
  const file = blockedFile(dataFolder);
  try {
    const text = readFileSync(file, 'utf8');
    rmSync(file);
    return blockedBy.parse(JSON.parse(text));
  } catch {
    // There is none, or it names no run.
    return null;
  }
}

function blockedFile(dataFolder: string): string {
  return path.join(dataFolder, 'blocked-by.json');
}
