/** Everything that can still be read of a run, row by row, for a person who wants to know what is wrong with it. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { newestSchema } from '../migrate.ts';
import { unpackSteps } from '../packed-steps.ts';
import { type Connection, connectReadOnly } from '../sqlite-connection.ts';
import { explainSqliteError } from '../sqlite-errors.ts';
import { assertCurrent } from './verify-database.ts';

/**
 * {@link exportRun} from a database file, without changing or holding it.
 * @throws {InvalidRequest} when it is another program's, or has another schema than the newest
 * @throws {Unavailable} when it is no database or cannot be opened
 */
export function exportFromFile(file: string, runId: string): JsonObject {
  assertCurrent(file);
  let connection: Connection | undefined;
  try {
    connection = connectReadOnly(file);
    return exportRun(connection, runId);
  } catch (error) {
    throw explainSqliteError(error, file);
  } finally {
    connection?.close();
  }
}

/** Rows of these tables belong to a run by its number. */
const TABLES = ['run_views', 'run_summaries', 'snapshots', 'activities', 'timers', 'clarification_requests'] as const;

/** Steps that are looked for one by one. */
const MAX_STEPS = 1_000_000;

/**
 * The run's rows by table, as they are stored: text as text, bytes in base64. Where a table or a step can't be read, the
 * reason stands in `unreadable`. `format` is the number of the schema. An unknown run gives no rows.
 */
export function exportRun(connection: Connection, runId: string): JsonObject {
  const unreadable: string[] = [];
  const attempt = <Result>(what: string, read: () => Result, otherwise: Result): Result => {
    try {
      return read();
    } catch (error) {
      unreadable.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return otherwise;
    }
  };
  const rows = (sql: string, ...values: readonly unknown[]) =>
    connection
      .prepare<unknown[], Record<string, unknown>>(sql)
      .all(...values)
      .map(toJson);

  const [run = null] = attempt('workflow_runs', () => rows('SELECT * FROM workflow_runs WHERE id = ?', runId), []);
  const number = run === null ? Number.NaN : Number(run['number']);
  const tables: Record<string, JsonValue> = {};
  if (run !== null) {
    tables['workflow_steps'] = exportSteps(number, Number(run['last_sequence']), rows, attempt);
    const packed = attempt('archived_steps', () => rows('SELECT * FROM archived_steps WHERE run = ?', number), []);
    // Steps that cannot be unpacked are exported packed.
    tables['archived_steps'] = attempt('archived_steps', () => exportArchive(connection, number), packed);
    for (const table of TABLES) {
      tables[table] = attempt(table, () => rows(`SELECT * FROM ${table} WHERE run = ?`, number), []);
    }
  }
  return { format: newestSchema(), runId, run, ...tables, unreadable };
}

/** One by one, so that a page that cannot be read takes no others with it. */
function exportSteps(
  number: number,
  lastSequence: number,
  rows: (sql: string, ...values: readonly unknown[]) => JsonObject[],
  attempt: <Result>(what: string, read: () => Result, otherwise: Result) => Result,
): JsonObject[] {
  const all = 'SELECT * FROM workflow_steps WHERE run = ? ORDER BY sequence';
  const steps = attempt<JsonObject[] | null>('workflow_steps', () => rows(all, number), null);
  if (steps !== null) return steps;
  const one = 'SELECT * FROM workflow_steps WHERE run = ? AND sequence = ?';
  const readable: JsonObject[] = [];
  // A damaged number of the last event may be any.
  const last = Math.min(lastSequence, MAX_STEPS);
  for (let sequence = 1; sequence <= last; sequence += 1) {
    readable.push(...attempt(`the step that ends with event ${sequence}`, () => rows(one, number, sequence), []));
  }
  return readable;
}

function exportArchive(connection: Connection, number: number): JsonObject[] {
  const packed = connection.prepare<[number], Buffer>('SELECT steps FROM archived_steps WHERE run = ?').pluck();
  const steps = packed.get(number);
  return steps === undefined ? [] : unpackSteps(steps).map((step) => toJson({ run: number, ...step }));
}

function toJson(row: Record<string, unknown>): JsonObject {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, toValue(value)]));
}

function toValue(value: unknown): JsonValue {
  if (Buffer.isBuffer(value)) return `base64:${value.toString('base64')}`;
  // SQLite has no others.
  return value as string | number | null;
}
