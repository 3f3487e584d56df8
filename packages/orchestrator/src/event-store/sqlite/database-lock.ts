/**
 * Holds a database file or a folder for one server. The lock is one of SQLite's own on a small file beside it, so that the
 * operating system releases it however the process ends, and opening twice within one process is noticed as well.
 */
import { Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { explainSqliteError, sqliteCode } from './sqlite-errors.ts';

/** Longest wait for somebody who only looks who holds the lock, and has it for less than a millisecond. */
const LOOKERS_MS = 500;
/** The same for one who looks: a server that holds the lock costs each of them this much. */
const OTHER_LOOKERS_MS = 20;

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
    lock = new Database(file, { timeout: LOOKERS_MS });
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

/**
 * The process that holds the lock of {@link lockFile}, however old a note of it is. Writes nothing.
 * @returns its id, 0 where it could not note that; `null` where no process holds the lock, or this user may not look
 */
export function findLockHolder(file: string): number | null {
  let lock: Database.Database | undefined;
  try {
    lock = new Database(file, { timeout: OTHER_LOOKERS_MS, fileMustExist: true });
    // Taken and given back at once: closing ends the transaction.
    lock.exec('BEGIN IMMEDIATE');
    return null;
  } catch (error) {
    return lock !== undefined && sqliteCode(error) === 'SQLITE_BUSY' ? notedPid(lock) : null;
  } finally {
    lock?.close();
  }
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
  const pid = notedPid(lock);
  return pid === 0 ? '' : ` (pid ${pid})`;
}

/** 0 where none is noted, or the other one is noting it just now. */
function notedPid(lock: Database.Database): number {
  try {
    return Number(lock.pragma('user_version', { simple: true }));
  } catch {
    return 0;
  }
}
