/** Whether the database's file is still the one that was opened: a file that was removed takes writes that nobody will find. */
import { statSync } from 'node:fs';
import { Lost } from './group-commit.ts';

/** @throws {Lost} */
export function assertSameFile(path: string, inode: number): void {
  const lost = lostFile(path, inode);
  if (lost !== null) throw lost;
}

/** @returns `null` while the file of this path has this inode */
export function lostFile(path: string, inode: number): Lost | null {
  const now = statSync(path, { throwIfNoEntry: false });
  if (now?.ino === inode) return null;
  const what = now === undefined ? 'was removed' : 'was replaced by another file';
  return new Lost(
    `The database ${path} ${what} while the server was using it. Nothing is stored any more: put it back, or restore a copy, and restart the server.`,
  );
}
