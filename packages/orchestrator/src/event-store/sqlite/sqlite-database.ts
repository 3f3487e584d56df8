/**
 * Opens the database file: alone, in the modes that keep every acknowledged write, with the newest schema. A file
 * that is another program's, or a later version's, or has a schema that this program does not know, is refused before anything in it changes.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { InvalidRequest, Unavailable } from '@autonomous/shared';
import { isLaterVersion, programVersion } from '../program-version.ts';
import { type FileIdentity, identityOf } from './file-identity.ts';
import { lockDatabase } from './database-lock.ts';
import { faultOfFormat } from '../../core/stored-format.ts';
import { appliedMigrations, FIRST_SCHEMA, knownMigrations, migrate, newestSchema } from './migrate.ts';
import { configure, connect, connectReadOnly, type Connection } from './sqlite-connection.ts';
import { explainSqliteError, sqliteCode } from './sqlite-errors.ts';

/** A database that lives as long as its connection, for tests and simulations. */
const IN_MEMORY = ':memory:';

export interface SqliteFile {
  /** A path, or `:memory:`. */
  readonly file: string;
  /** The file is treated as a full disk beyond so many bytes; absent: as large as the disk allows. */
  readonly maxBytes?: number;
}

export interface SqliteDatabase {
  readonly connection: Connection;
  /** The file without links; `:memory:` when there is none. */
  readonly path: string;
  readonly feedId: string;
  /** Counts the openings of this database: who writes with an older one has been replaced. */
  readonly epoch: number;
  /** Of the files, when it was opened; `undefined` for one in memory. */
  readonly identity: FileIdentity | undefined;
  close(): void;
}

/**
 * Opens or makes the database; a missing folder is made, for this user alone.
 * @throws {Unavailable} another server uses it, it cannot be written, or it is no database or damaged
 * @throws {InvalidRequest} it is another program's, or has a schema that this program does not know; it is left as it was
 * @throws {StorageFull}
 */
export function openDatabase({ file, maxBytes }: SqliteFile): SqliteDatabase {
  const isFile = file !== IN_MEMORY;
  const path = isFile ? prepareFile(file) : file;
  const lock = isFile ? lockDatabase(path) : undefined;
  let connection: Connection | undefined;
  try {
    // A killed server left its log. Closing a connection that can write would move it into the file, also of one that is refused.
    if (isFile && existsSync(`${path}-wal`)) inspectDatabase(path);
    connection = connect(path);
    const opened = connection;
    assertSafeVersion(String(opened.prepare('SELECT sqlite_version()').pluck().get()));
    refuseForeign(opened, path);
    configure(opened, maxBytes);
    migrate(opened);
    const { feedId, epoch } = register(opened, isFile ? String(statSync(path, { bigint: true }).ino) : path);
    return {
      connection: opened,
      path,
      feedId,
      epoch,
      identity: isFile ? identityOf(path) : undefined,
      close: () => {
        opened.close();
        lock?.release();
      },
    };
  } catch (error) {
    connection?.close();
    lock?.release();
    throw explainSqliteError(error, path);
  }
}

/**
 * Looks at a database without changing or holding it; a server may be using it.
 * @returns `null` when there is no file yet
 * @throws {Unavailable | InvalidRequest} as {@link openDatabase} does
 */
export function inspectDatabase(
  file: string,
): { readonly schema: number; readonly projectIds: readonly string[] } | null {
  if (!existsSync(file)) return null;
  let connection: Connection | undefined;
  try {
    connection = connectReadOnly(file);
    refuseForeign(connection, file);
    const hasTables = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'projects'").get() !== undefined;
    const projectIds = hasTables ? connection.prepare<[], string>('SELECT id FROM projects').pluck().all() : [];
    return { schema: Number(connection.pragma('user_version', { simple: true })), projectIds };
  } catch (error) {
    throw explainSqliteError(error, file);
  } finally {
    connection?.close();
  }
}

/**
 * SQLite 3.7.0 to 3.51.2 can lose committed transactions when a WAL is reset (sqlite.org/wal.html, "the WAL-reset bug").
 * @throws {Unavailable} when `version` is one of them
 */
export function assertSafeVersion(version: string): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const number = (major * 1_000 + minor) * 1_000 + patch;
  if (number < 3_007_000 || number > 3_051_002) return;
  throw new Unavailable(
    `SQLite ${version} can lose committed data (its WAL-reset bug). Install this program's own better-sqlite3, with SQLite 3.51.3 or newer.`,
  );
}

/** @returns the path without links, so that all names of one file share one lock */
function prepareFile(file: string): string {
  const wanted = resolve(file);
  try {
    mkdirSync(dirname(wanted), { recursive: true, mode: 0o700 });
    const path = existsSync(wanted) ? realpathSync(wanted) : join(realpathSync(dirname(wanted)), basename(wanted));
    if (existsSync(path) && !statSync(path).isFile()) throw new Error('it is not a file');
    // Made here for their mode: requests, plans and answers are nobody else's business. SQLite copies it to -wal and -shm.
    for (const name of [path, `${path}.lock`]) if (!existsSync(name)) closeSync(openSync(name, 'a', 0o600));
    return path;
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new Unavailable(
      `The database ${wanted} cannot be made or written (${what}). Give this server's user a folder that it may write, or name another file with DATABASE_URL.`,
      { cause },
    );
  }
}

/** Only reads. */
function refuseForeign(connection: Connection, path: string): void {
  const tables = new Set(connection.prepare('SELECT name FROM sqlite_schema').pluck().all());
  if (tables.size === 0) return;
  if (!tables.has('workflow_runs') || !tables.has('__drizzle_migrations')) {
    throw new InvalidRequest(`${path} is a database of another program. Name another file with DATABASE_URL.`);
  }
  const known = knownMigrations();
  const isKnown = appliedMigrations(connection).every((when) => known.includes(when));
  const schema = Number(connection.pragma('user_version', { simple: true }));
  const writer = tables.has('marks') ? (markIn(connection, PROGRAM) ?? '') : '';
  const isNewer = isLaterVersion(writer, programVersion());
  const fault =
    faultOfFormat(schema, newestSchema(), FIRST_SCHEMA) ??
    (isNewer
      ? `was opened by version ${writer} of this program, and this is ${programVersion()}. Start that version.`
      : null) ??
    (isKnown ? null : 'has a migration that this program does not know. Start the version that wrote it.');
  if (fault === null) return;
  throw new InvalidRequest(
    `The database ${path} ${fault} Otherwise restore a copy that this program wrote, or name another data folder with AUTONOMOUS_DATA. Nothing was changed.`,
  );
}

/** Mark of the version that opened the database last. */
const PROGRAM = 'store.program';

function markIn(connection: Connection, name: string): string | undefined {
  return connection.prepare<[string], string>('SELECT value FROM marks WHERE name = ?').pluck().get(name);
}

/** Raises the epoch, and renews the feed's id where the file is new or a copy of one: clients of the old one then start afresh. */
function register(connection: Connection, inode: string): { feedId: string; epoch: number } {
  const write = connection.prepare(
    'INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  const epoch = Number(markIn(connection, 'store.epoch') ?? 0);
  const known = markIn(connection, 'store.inode') === inode ? markIn(connection, 'store.feed_id') : undefined;
  const feedId = known ?? randomUUID();
  try {
    return connection
      .transaction(() => {
        write.run('store.epoch', String(epoch + 1));
        write.run('store.inode', inode);
        write.run(PROGRAM, programVersion());
        write.run('store.feed_id', feedId);
        return { feedId, epoch: epoch + 1 };
      })
      .immediate();
  } catch (error) {
    // A full disk does not prevent reading, and the lock keeps other servers out. The epoch of the
    // last server is enough until there is room.
    if (epoch === 0 || sqliteCode(error) !== 'SQLITE_FULL') throw error;
    return { feedId, epoch };
  }
}
