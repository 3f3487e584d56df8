/** The Node that sandboxes get. */
import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';

/**
 * Absolute path of the Node that runs this server, without links. A server that runs in an editor's own program takes the first
 * Node of its PATH instead, since that program does not run alone; without one it gives the editor's program.
 */
export function nodeExecutable(
  isEditor: boolean = process.versions['electron'] !== undefined,
  search: string = process.env['PATH'] ?? '',
): string {
  const candidates = isEditor
    ? search.split(path.delimiter).map((folder) => path.join(folder, 'node'))
    : [process.execPath];
  const found = candidates.find((file) => path.isAbsolute(file) && existsSync(file));
  return realpathSync(found ?? process.execPath);
}
