/**
 * Holds a database file for one server. The lock is one of SQLite's own on a small file beside it, so that the
 * operating system releases it however the process ends, and opening twice within one process is noticed as well.
 */
import { Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { explainSqliteError, sqliteCode } from './sqlite-errors.ts';

export interface DatabaseLock {
  release(): void;
}

/**
 * Takes `<file>.lock` until `release` or the end of this process.
 * @throws {Unavailable} when another server holds it, named by its process id, or the folder cannot be written
 */
export function lockDatabase(file: string): DatabaseLock {
  const lockFile = `${file}.lock`;
  let lock: Database.Database | undefined;
  try {
    lock = new Database(lockFile, { timeout: 0 });
    lock.exec('BEGIN IMMEDIATE');
    lock.pragma(`user_version = ${process.pid}`);
    lock.exec('COMMIT');
    // An open transaction keeps other writers out and lets them read who holds it. It never ends, nor writes.
    lock.exec('BEGIN IMMEDIATE');
  } catch (error) {
    const refusal =
      sqliteCode(error) === 'SQLITE_BUSY' && lock !== undefined
        ? inUse(file, lock)
        : explainSqliteError(error, lockFile);
    lock?.close();
    throw refusal;
  }
  const held = lock;
  return { release: () => void held.close() };
}

function inUse(file: string, lock: Database.Database): Unavailable {
  return new Unavailable(
    `Another server${describeHolder(lock)} is using ${file}. Stop it first, or name another file with DATABASE_URL.`,
  );
}

function describeHolder(lock: Database.Database): string {
  try {
    const pid = Number(lock.pragma('user_version', { simple: true }));
    return pid === 0 ? '' : ` (pid ${pid})`;
  } catch {
    return ''; // The other one is writing its number just now.
  }
}
