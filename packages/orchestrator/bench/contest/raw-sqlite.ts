/**
 * Upper bound by the disk and SQLite alone: the ten facts of a run are inserted one after the other, each waits for the
 * disk, and facts of all runs that wait at the same time share one commit.
 */
import path from 'node:path';
import Database from 'better-sqlite3';
import { type Contender, type Place, workload, Workload } from './contender.ts';

export async function open({ folder }: Place): Promise<Contender> {
  const database = new Database(path.join(folder, 'raw.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(
    'CREATE TABLE IF NOT EXISTS events (run TEXT, sequence INTEGER, type TEXT, payload TEXT, PRIMARY KEY (run, sequence)) WITHOUT ROWID',
  );
  const log = new Log(database);
  const readRun = database.prepare<[string], { sequence: number; payload: string }>(
    'SELECT sequence, payload FROM events WHERE run = ? ORDER BY sequence',
  );
  return {
    async start(id) {
      await log.append(id, 1, 'RUN_STARTED', { id });
      await log.append(id, 2, 'PLAN_STARTED', {});
      await log.append(id, 3, 'PLAN_COMPLETED', { output: workload.plan(id) });
      await log.append(id, 4, 'APPROVAL_REQUESTED', {});
    },
    async approve(id) {
      // A run that waits is not in memory, as with every engine: what it knows comes from the file.
      const events = readRun.all(id).map(({ payload }) => JSON.parse(payload) as object);
      const last = events.length;
      await log.append(id, last + 1, 'APPROVAL_GRANTED', { by: 'the bench' });
      await log.append(id, last + 2, 'IMPLEMENTATION_STARTED', {});
      await log.append(id, last + 3, 'IMPLEMENTATION_COMPLETED', { output: workload.implement(id) });
      await log.append(id, last + 4, 'VALIDATION_STARTED', {});
      const verdict = workload.validate(id);
      await log.append(id, last + 5, 'VALIDATION_COMPLETED', { output: verdict });
      await log.append(id, last + 6, 'RUN_COMPLETED', {});
      Workload.check(id, verdict);
    },
    async grow(id, steps) {
      for (let step = 1; step <= steps; step++)
        await log.append(id, step, 'STEP_COMPLETED', { output: workload.grow() });
    },
    async close() {
      database.close();
    },
  };
}

interface Pending {
  readonly row: readonly [run: string, sequence: number, type: string, payload: string];
  readonly stored: () => void;
  readonly failed: (error: unknown) => void;
}

class Log {
  readonly #commit: (batch: readonly Pending[]) => void;
  #pending: Pending[] = [];

  constructor(database: Database.Database) {
    const insert = database.prepare('INSERT INTO events VALUES (?, ?, ?, ?)');
    const insertAll = database.transaction((batch: readonly Pending[]) => {
      for (const { row } of batch) insert.run(...row);
    });
    this.#commit = (batch) => insertAll.immediate(batch);
  }

  /** Resolves once the disk has it. */
  append(run: string, sequence: number, type: string, payload: object): Promise<void> {
    const row = [run, sequence, type, JSON.stringify(payload)] as const;
    return new Promise((stored, failed) => {
      if (this.#pending.push({ row, stored, failed }) === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    const batch = this.#pending;
    this.#pending = [];
    try {
      this.#commit(batch);
    } catch (error) {
      for (const { failed } of batch) failed(error);
      return;
    }
    for (const { stored } of batch) stored();
  }
}
