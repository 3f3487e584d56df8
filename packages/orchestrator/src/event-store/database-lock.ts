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

/** What a lock is for, as a refusal names it. */
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
 * Takes the lock that is this file, until `release` or the end of this process. A full disk is no reason against it.
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

/** For the refusal of others. Where the disk has no room for it, they are refused without a number. */
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
