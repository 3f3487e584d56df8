/** Translates SQLite's errors into errors that name the file and the way out. */
import { StorageFull, Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { UnsafeMode } from './sqlite-connection.ts';

/** @returns SQLite's own code such as `SQLITE_BUSY`; `undefined` for any other error */
export function sqliteCode(error: unknown): string | undefined {
  if (error instanceof Database.SqliteError) return error.code;
  // drizzle wraps what a query throws.
  return error instanceof Error && error.cause !== undefined ? sqliteCode(error.cause) : undefined;
}

/**
 * Translates an error of SQLite on `file` into one that names the file and the way out.
 * @returns the same error when it is not about the file or the disk; such a one is a bug
 */
export function explainSqliteError(error: unknown, file: string): unknown {
  const code = sqliteCode(error);
  const because = { cause: error };
  switch (code?.split('_')[1]) {
    case 'FULL':
      return new StorageFull(
        `The disk with ${file} is full and this step was not stored. Free some space, then retry.`,
        because,
      );
    case 'BUSY':
    case 'LOCKED':
      return new Unavailable(`${file} is locked by another program. Close what else writes to it.`, because);
    case 'CANTOPEN':
    case 'READONLY':
    case 'PERM':
    case 'AUTH':
      return new Unavailable(
        `${file} cannot be written (${code}). Give this server's user a folder and file that it may write, or name another with DATABASE_URL.`,
        because,
      );
    case 'IOERR':
      return new Unavailable(
        `The disk failed under ${file} (${code}). Check the disk, then restart the server.`,
        because,
      );
    case 'CORRUPT':
    case 'NOTADB':
      return damaged(file, error);
    case 'ERROR':
      // Every statement fits the tables that the migrations made: what is missing now is damage to the file's own description.
      return error instanceof Error && /^no such (?:column|table)/.test(error.message) ? damaged(file, error) : error;
    default:
      if (error instanceof UnsafeMode) return new Unavailable(error.message, because);
      return error instanceof SyntaxError ? damaged(file, error) : error;
  }
}

function damaged(file: string, cause: unknown): Unavailable {
  const what = cause instanceof Error ? cause.message : String(cause);
  return new Unavailable(
    `${file} is damaged or no database of this program (${what}). Move it aside and restore a copy; every project's record is in its repository, on the branch autonomous/record.`,
    { cause },
  );
}
