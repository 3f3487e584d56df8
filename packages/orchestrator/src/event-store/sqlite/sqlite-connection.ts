/**
 * Opens a connection in the modes that keep every acknowledged write. Light enough for the writer's thread: this file
 * and what it imports load nothing but better-sqlite3.
 */
import Database from 'better-sqlite3';

export type Connection = Database.Database;

/** How long a connection waits for another one that writes. */
export const BUSY_TIMEOUT_MS = 5_000;
/** The log is written back to the file once it has so many pages (of 4 KB): seldom, and never for long. */
const CHECKPOINT_PAGES = 2_000;
const CACHE_KIB = 4_096;

/** A database that SQLite will not keep in a mode that this program needs. */
export class UnsafeMode extends Error {}

/** @param file a path, or `:memory:` */
export function connect(file: string): Connection {
  return new Database(file, { timeout: BUSY_TIMEOUT_MS });
}

/** Looks at a database that others may be writing; cannot change it. */
export function connectReadOnly(file: string): Connection {
  return new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
}

/**
 * @param maxBytes the file is treated as a full disk beyond so many bytes
 * @throws {UnsafeMode}
 */
export function configure(connection: Connection, maxBytes: number | undefined): void {
  setPragma(connection, 'journal_mode', 'wal', connection.memory ? 'memory' : 'wal');
  // better-sqlite3 makes NORMAL of it in WAL mode, which may lose the newest commits with the power.
  setPragma(connection, 'synchronous', 'full', 2);
  setPragma(connection, 'fullfsync', 'on', 1);
  setPragma(connection, 'foreign_keys', 'on', 1);
  connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  connection.pragma(`cache_size = -${CACHE_KIB}`);
  if (maxBytes === undefined) return;
  const pageSize = Number(connection.pragma('page_size', { simple: true }));
  connection.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
}

function setPragma(connection: Connection, name: string, value: string, expected: string | number): void {
  connection.pragma(`${name} = ${value}`);
  const actual = connection.pragma(name, { simple: true });
  if (actual === expected) return;
  throw new UnsafeMode(
    `${connection.name}: SQLite keeps ${name} at ${String(actual)} instead of ${value}. Put the file on a local disk.`,
  );
}
