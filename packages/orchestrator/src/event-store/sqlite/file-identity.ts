/**
 * Checks whether the database's files are still the ones that were opened. Writes to a removed file are lost, and the
 * write-ahead log contains the newest of them.
 */
import { statSync } from 'node:fs';
import { Lost } from './writer/group-commit.ts';

/** Inodes of the database and of the write-ahead log beside it, as they were when it was opened and first written to. */
export interface FileIdentity {
  readonly database: number;
  /** Absent: there was none. It stays the same for as long as a connection is open. */
  readonly log?: number | undefined;
}

export function identityOf(path: string): FileIdentity {
  return { database: statSync(path).ino, log: statSync(logOf(path), { throwIfNoEntry: false })?.ino };
}

/** @throws {Lost} */
export function assertSameFile(path: string, identity: FileIdentity): void {
  const lost = lostFile(path, identity);
  if (lost !== null) throw lost;
}

/** @returns `null` while the files of this path are those */
export function lostFile(path: string, { database, log }: FileIdentity): Lost | null {
  const lost = lossOf(path, database) ?? (log === undefined ? null : lossOf(logOf(path), log));
  return lost === null
    ? null
    : new Lost(
        `The database ${lost} while the server was using it. Nothing is stored any more: put it back, or restore a copy, and restart the server.`,
      );
}

function lossOf(path: string, inode: number): string | null {
  const now = statSync(path, { throwIfNoEntry: false });
  if (now?.ino === inode) return null;
  return `${path} ${now === undefined ? 'was removed' : 'was replaced by another file'}`;
}

function logOf(path: string): string {
  return `${path}-wal`;
}
