/**
 * Checks all that is stored in a database file, for `verify` and for tests: every event of every run against its hash
 * chain, what is stored beside the events, and what SQLite itself notices. It only reads; a server may be using the file.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { InvalidRequest } from '@autonomous/shared';
import { newestSchema } from '../migrate.ts';
import { inspectDatabase } from '../sqlite-database.ts';
import { type Connection, connectReadOnly } from '../sqlite-connection.ts';
import { explainSqliteError } from '../sqlite-errors.ts';
import type { RunRow } from '../views/run-row.ts';
import { StoredRuns } from '../views/stored-runs.ts';

export interface DatabaseFault {
  /** `null` when it is known of no run. */
  readonly runId: string | null;
  /** The first event of the run that is wrong or missing; `null` when it concerns no event. */
  readonly sequence: number | null;
  readonly message: string;
}

/** The faults, as they are found; may be read once. */
export interface DatabaseCheck extends AsyncIterable<DatabaseFault> {
  /** Numbers of runs and events checked so far, including faulty ones. */
  readonly counts: { readonly runs: number; readonly events: number };
}

interface Counts {
  runs: number;
  events: number;
}

/** SQLite tells at most so many of its own faults; they are many where there is one. */
const MAX_SQLITE_FAULTS = 20;
const RUNS_PER_TURN = 50;

/**
 * The iteration throws where there is nothing to check: {@link InvalidRequest} when there is no such file, it is another
 * program's, or has another schema than the newest, {@link Unavailable} when it is no database or cannot be opened.
 */
export function verifyDatabase(file: string): DatabaseCheck {
  const counts: Counts = { runs: 0, events: 0 };
  return { counts, [Symbol.asyncIterator]: () => faultsOf(file, counts) };
}

async function* faultsOf(file: string, counts: Counts): AsyncGenerator<DatabaseFault> {
  assertCurrent(file);
  let connection: Connection | undefined;
  try {
    connection = connectReadOnly(file);
    yield* faultsOfFile(connection);
    const runs = new StoredRuns(connection);
    let last = 0;
    for (;;) {
      const page = readPage(runs, last);
      for (const [run, faults] of page.runs) {
        counts.runs += 1;
        counts.events += run.lastSequence;
        last = run.number;
        yield* faults;
      }
      if (page.failure !== null) yield page.failure;
      if (page.runs.length < RUNS_PER_TURN) break;
      await nextTurn();
    }
    yield* strayRows(connection);
  } catch (error) {
    throw explainSqliteError(error, file);
  } finally {
    connection?.close();
  }
}

/** @throws {InvalidRequest} when there is no such file, or it is another program's, or has another schema than the newest */
export function assertCurrent(file: string): void {
  const schema = inspectDatabase(file)?.schema;
  if (schema === undefined)
    throw new InvalidRequest(
      `There is no database ${file}. Name the data folder of the server with --data or AUTONOMOUS_DATA.`,
    );
  if (schema === newestSchema()) return;
  throw new InvalidRequest(
    `The database ${file} has format ${schema}, and this program reads format ${newestSchema()}: start its server once, which migrates it.`,
  );
}

/** Returns the faults that SQLite's own check finds, such as pages and indexes that do not match or columns of a wrong type. */
function faultsOfFile(connection: Connection): readonly DatabaseFault[] {
  try {
    const lines = connection.prepare<[], string>(`PRAGMA integrity_check(${MAX_SQLITE_FAULTS})`).pluck().all();
    return lines.filter((line) => line !== 'ok').map((line) => fileFault(line));
  } catch (error) {
    return [fileFault(String(error))];
  }
}

function readPage(
  runs: StoredRuns,
  after: number,
): {
  readonly runs: readonly (readonly [RunRow, readonly DatabaseFault[]])[];
  readonly failure: DatabaseFault | null;
} {
  const read: (readonly [RunRow, readonly DatabaseFault[]])[] = [];
  try {
    // At once, so that a run is not continued or archived between two looks at it.
    runs.atOnce(() => {
      for (const run of runs.allRuns(after, RUNS_PER_TURN)) read.push([run, faultsOfRun(runs, run)]);
    });
    return { runs: read, failure: null };
  } catch (error) {
    return { runs: read, failure: fileFault(`the runs after number ${after} cannot be read: ${String(error)}`) };
  }
}

function faultsOfRun(runs: StoredRuns, run: RunRow): readonly DatabaseFault[] {
  const faults: DatabaseFault[] = [];
  const runId = run.id;
  for (const fault of [runs.checkAll(run), runs.checkBeside(run)]) if (fault !== null) faults.push({ runId, ...fault });
  if (runs.find(run.id)?.number !== run.number) {
    faults.push({ runId, sequence: null, message: 'it is not found by its id' });
  }
  return faults;
}

/** Steps of runs that are gone. */
function strayRows(connection: Connection): readonly DatabaseFault[] {
  return ['workflow_steps', 'archived_steps'].flatMap((table) => {
    const stray = connection
      .prepare<[], number>(`SELECT DISTINCT run FROM ${table} WHERE run NOT IN (SELECT number FROM workflow_runs)`)
      .pluck();
    try {
      return stray.all().map((run) => fileFault(`${table} has events of run number ${run}, which is missing`));
    } catch (error) {
      return [fileFault(`${table} cannot be read: ${String(error)}`)];
    }
  });
}

function fileFault(message: string): DatabaseFault {
  return { runId: null, sequence: null, message };
}
