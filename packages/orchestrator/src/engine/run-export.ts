/** Keeps what can be read of a damaged run beside the database, for a person. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { EventStore } from '../event-store/event-store.ts';

/**
 * Writes everything that can still be read of a run to `<folder>/<run>-<sequence>.json`; the sequence is that of its last
 * event. A file that is there already is replaced.
 * @returns the file
 */
export async function writeExport(folder: string, store: EventStore, runId: string): Promise<string> {
  const [tip, rows] = await Promise.all([store.tipOf(runId), store.exportRun(runId)]);
  const file = path.join(folder, `${runId.replaceAll(/[^\w.-]/g, '_')}-${tip?.sequence ?? 0}.json`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(file, `${JSON.stringify(rows, null, 2)}\n`, { mode: 0o600 });
  return file;
}
