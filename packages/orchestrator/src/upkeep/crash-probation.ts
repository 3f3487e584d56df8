/**
 * Recovers the runs that the crash ledger holds back, one after the other. The server is first watched without them: a
 * crash in this time was not caused by any of them. A run is cleared when its activities end, or after a minute.
 */
import type { Logger } from 'pino';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../engine/clock.ts';
import type { CrashLedger } from '../engine/crashes/crash-ledger.ts';

export interface CrashProbationOptions {
  readonly ledger: CrashLedger;
  readonly store: Pick<EventStore, 'openKeys'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Starts the open work of a run. */
  readonly recoverRun: (runId: string) => Promise<void>;
}

/**
 * Time that the server must last, after it has recovered a run on probation or all runs,
 * before what was counted is forgotten.
 */
const PROBATION_MS = 60_000;
/** Interval between checks whether the activities of a run on probation have ended. */
const LOOK_MS = 1_000;
/**
 * Time that the server is watched without the runs that are held back. Each crash that
 * counts against one of them triples it.
 */
const QUIET_MS = 5_000;
const LONGEST_QUIET_MS = 45_000;

export class CrashProbation {
  readonly #options: CrashProbationOptions;
  readonly #waiting: string[];
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(options: CrashProbationOptions) {
    this.#options = options;
    this.#waiting = [...options.ledger.held];
  }

  /** To be called when all other runs are recovered. */
  start(): void {
    const { ledger, log } = this.#options;
    if (this.#waiting.length === 0) {
      this.#after(PROBATION_MS, () => ledger.survived());
      return;
    }
    const quietMs = Math.min(LONGEST_QUIET_MS, QUIET_MS * 3 ** ledger.accusations);
    log.warn(
      { runIds: this.#waiting },
      `The server crashed several times while several runs were under way. They are recovered one after the other, the first in ${quietMs / 1_000} seconds, to find the run that crashes the server.`,
    );
    this.#after(quietMs, () => void this.#next());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async #next(): Promise<void> {
    const { ledger, store, log, recoverRun } = this.#options;
    const runId = this.#waiting.shift();
    if (runId === undefined) {
      this.#after(PROBATION_MS, () => ledger.survived());
      return;
    }
    try {
      const before = new Set((await store.openKeys(runId)).activities);
      if (this.#stopped) return;
      ledger.onProbation(runId, false);
      await recoverRun(runId);
      ledger.onProbation(runId, true);
      this.#watch(runId, before, PROBATION_MS);
    } catch (error) {
      log.error({ err: error, runId }, 'a run that was held back could not be recovered');
      this.#clear(runId);
    }
  }

  /** @param before keys of the activities that were open before the run was recovered */
  #watch(runId: string, before: ReadonlySet<string>, leftMs: number): void {
    this.#after(LOOK_MS, async () => {
      const { activities } = await this.#options.store.openKeys(runId).catch(() => ({ activities: [] }));
      if (this.#stopped) return;
      if (leftMs <= LOOK_MS || !activities.some((key) => before.has(key))) this.#clear(runId);
      else this.#watch(runId, before, leftMs - LOOK_MS);
    });
  }

  #clear(runId: string): void {
    this.#options.ledger.cleared(runId);
    void this.#next();
  }

  #after(ms: number, work: () => void | Promise<void>): void {
    if (!this.#stopped) this.#cancel = this.#options.clock.after(ms, () => void work());
  }
}
