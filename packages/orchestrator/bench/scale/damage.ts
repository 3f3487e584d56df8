/** Changes what lies on the disk, as a disk that fails does. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';

/** In the plan of the run that is to be damaged: shows where its bytes lie in the file. */
export const MARKER = 'these words are found in the file and changed';

/**
 * Overwrites the first byte of a text wherever it lies in a database that nobody holds.
 * @returns how often that was
 */
export function damage(file: string, text: string): number {
  // What a killed process left in the log has check sums of its own: SQLite would drop it, with what was stored later.
  const database = new Database(file);
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
  const content = readFileSync(file);
  const descriptor = openSync(file, 'r+');
  let found = 0;
  for (let at = content.indexOf(text); at >= 0; at = content.indexOf(text, at + 1)) {
    writeSync(descriptor, '?', at);
    found += 1;
  }
  closeSync(descriptor);
  return found;
}
