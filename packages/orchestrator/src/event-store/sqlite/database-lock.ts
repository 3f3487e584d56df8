/**
 * Holds a database file or a folder for one server. The lock is one of SQLite's own on a small file beside it, so that the
 * operating system releases it however the process ends, and opening twice within one process is noticed as well.
 */
import { Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { explainSqliteError, sqliteCode } from './sqlite-errors.ts';

export interface FileLock {
  release(): void;
}

/** The locked thing and the way out, as the refusal of a second server names them. */
interface LockWords {
  readonly what: string;
  readonly way: string;
}

/**
 * Takes `<file>.lock` until `release` or the end of this process.
 * @throws {Unavailable} when another server holds it, named by its process id, or the folder cannot be written
 */
export function lockDatabase(file: string): FileLock {
  return lockFile(`${file}.lock`, { what: file, way: 'name another file with DATABASE_URL' });
}

/**
 * Locks the file itself until `release` or the end of this process. Works on a full disk too.
 * @throws {Unavailable} as {@link lockDatabase} does
 */
export function lockFile(file: string, words: LockWords): FileLock {
  let lock: Database.Database | undefined;
  try {
    lock = new Database(file, { timeout: 0 });
    notePid(lock);
    // An open transaction keeps other writers out and lets them read who holds it. It never ends, nor writes.
    lock.exec('BEGIN IMMEDIATE');
  } catch (error) {
    const refusal =
      sqliteCode(error) === 'SQLITE_BUSY' && lock !== undefined ? inUse(words, lock) : explainSqliteError(error, file);
    lock?.close();
    throw refusal;
  }
  const held = lock;
  return { release: () => void held.close() };
}

/** Stores the process id for the refusal of other servers. On a full disk they are refused without it. */
function notePid(lock: Database.Database): void {
  try {
    lock.exec('BEGIN IMMEDIATE');
    lock.pragma(`user_version = ${process.pid}`);
    lock.exec('COMMIT');
  } catch (error) {
    if (!isFull(error)) throw error;
    if (lock.inTransaction) lock.exec('ROLLBACK');
  }
}

function isFull(error: unknown): boolean {
  return sqliteCode(error) === 'SQLITE_FULL';
}

function inUse({ what, way }: LockWords, lock: Database.Database): Unavailable {
  return new Unavailable(`Another server${describeHolder(lock)} is using ${what}. Stop it first, or ${way}.`);
}

function describeHolder(lock: Database.Database): string {
  try {
    const pid = Number(lock.pragma('user_version', { simple: true }));
    return pid === 0 ? '' : ` (pid ${pid})`;
  } catch {
    return ''; // The other one is writing its number just now.
  }
}
