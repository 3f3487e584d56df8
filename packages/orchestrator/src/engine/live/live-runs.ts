/**
 * The runs in memory. A run is read once, however many ask for it at the same time; it is evicted when it is idle, and closed
 * while something other than its machine writes to it.
 */
import type { Conflict, PauseReason, RunView } from '@autonomous/shared';
import { holdsRunSlot, isFinal } from '../../core/advance.ts';
import { type LiveRun, type ReadRun, sizeOf } from './live-run.ts';

export interface LiveRunsOptions {
  /** Reads a run from the store. @throws {NotFound} */
  readonly read: (runId: string) => Promise<ReadRun>;
  /** Notes that a run is read; the result is called when that has ended. */
  readonly beginRecovery: (runId: string) => (() => void) | undefined;
  /** Quarantines a run that cannot be read, and gives the error for those who asked for it. */
  readonly quarantine: (runId: string, reason: PauseReason, message: string) => Promise<Conflict>;
}

/** Runs that came to rest a moment ago and may go on at once; those that wait for longer hold no memory. */
const RESTING_RUNS = 256;
/** Largest size of their states together, as JSON. */
const RESTING_BYTES = 16 * 1024 * 1024;

export class LiveRuns {
  readonly #options: LiveRunsOptions;
  readonly #runs = new Map<string, LiveRun>();
  /** Runs at rest, the one that came to rest last at the end. */
  readonly #resting = new Map<string, LiveRun>();
  #restingBytes = 0;
  readonly #opening = new Map<string, Promise<LiveRun>>();
  /** Runs that may not be opened now. */
  readonly #closed = new Map<string, Promise<void>>();

  constructor(options: LiveRunsOptions) {
    this.#options = options;
  }

  /** Runs that hold memory now. */
  get size(): number {
    return this.#runs.size + this.#resting.size;
  }

  /** A run that is in use; `undefined` where it is at rest or not in memory. */
  inUse(runId: string): LiveRun | undefined {
    return this.#runs.get(runId);
  }

  /** A run that is in memory, in use or at rest. */
  find(runId: string): LiveRun | undefined {
    return this.#runs.get(runId) ?? this.#resting.get(runId);
  }

  /** The view of a run that is in memory, once the disk has it. */
  async committedView(runId: string): Promise<RunView | undefined> {
    const run = this.find(runId);
    if (run?.committed === null) await run.tail.catch(() => undefined);
    return run?.committed ?? undefined;
  }

  /** Waits until all that was handed to the store is stored or has failed. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#runs.values()].map((run) => run.tail));
  }

  /** Puts a run in use, in the place of the one that is in memory. */
  put(runId: string, run: LiveRun): void {
    this.remove(runId);
    this.#runs.set(runId, run);
  }

  remove(runId: string): void {
    this.#reactivate(runId);
    this.#runs.delete(runId);
  }

  /** @throws {NotFound} @throws {Conflict} when the run cannot be read; it is quarantined then */
  async open(runId: string): Promise<LiveRun> {
    for (let closed = this.#closed.get(runId); closed !== undefined; closed = this.#closed.get(runId)) await closed;
    const live = this.#runs.get(runId) ?? this.#reactivate(runId);
    if (live) return live;
    let opening = this.#opening.get(runId);
    if (!opening) {
      const recovery = this.#options.beginRecovery(runId);
      opening = this.#read(runId).finally(() => {
        this.#opening.delete(runId);
        recovery?.();
      });
      this.#opening.set(runId, opening);
    }
    return opening;
  }

  async #read(runId: string): Promise<LiveRun> {
    const read = await this.#options.read(runId);
    if (!read.ok) throw await this.#options.quarantine(runId, read.reason, read.message);
    this.#runs.set(runId, read.run);
    return read.run;
  }

  /**
   * Works on the run that is in memory now: between its opening and the work nothing can put another in its place.
   * @param work must make its step before it waits for anything
   */
  async withRun<Result>(runId: string, work: (run: LiveRun) => Promise<Result>): Promise<Result> {
    for (;;) {
      const run = await this.open(runId);
      if (this.#runs.get(runId) !== run || this.#closed.has(runId)) continue;
      try {
        return await work(run);
      } finally {
        this.evictIfIdle(runId, run);
      }
    }
  }

  /**
   * Writes to a run that is not in memory, and keeps it closed until the write is done: a step that was computed
   * without this write must not be stored after it.
   * @param tail steps of the run that are being stored; the write follows them, also when they fail
   */
  async withExclusiveAccess<Result>(
    runId: string,
    write: () => Promise<Result>,
    tail?: Promise<unknown>,
  ): Promise<Result> {
    for (let other = this.#closed.get(runId); other !== undefined; other = this.#closed.get(runId)) await other;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed.set(runId, promise);
    try {
      // The run stays in memory until then: a step that fails has to find it there.
      if (tail !== undefined) await tail.catch(() => undefined);
      this.remove(runId);
      return await write();
    } finally {
      this.#closed.delete(runId);
      resolve();
    }
  }

  /** Removes a run from memory that neither runs nor is being written, unless it continues soon. */
  evictIfIdle(runId: string, run: LiveRun): void {
    if (run.pending > 0 || holdsRunSlot(run.state) || this.#runs.get(runId) !== run) return;
    this.#runs.delete(runId);
    if (isFinal(run.view.status)) return;
    this.#resting.set(runId, run);
    this.#restingBytes += sizeOf(run);
    for (const [oldestId, oldest] of this.#resting) {
      if (this.#resting.size <= RESTING_RUNS && this.#restingBytes <= RESTING_BYTES) return;
      this.#resting.delete(oldestId);
      this.#restingBytes -= sizeOf(oldest);
    }
  }

  #reactivate(runId: string): LiveRun | undefined {
    const run = this.#resting.get(runId);
    if (run === undefined) return undefined;
    this.#resting.delete(runId);
    this.#restingBytes -= sizeOf(run);
    this.#runs.set(runId, run);
    return run;
  }
}
