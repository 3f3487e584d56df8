/** Folders of the shipped workflows, each of its workflow's name. */
import { globSync } from 'node:fs';
import path from 'node:path';

const WORKFLOWS = path.join(import.meta.dirname, '../src/workflows');

const folders = new Map<string, string>();

/**
 * Folder of a workflow, absolute. That of a child workflow lies in the folder of the workflow whose runs start it.
 * @throws {Error} where none is there, or several
 */
export function folderOf(workflow: string): string {
  const known = folders.get(workflow);
  if (known !== undefined) return known;
  const files = globSync(`{*/,}${workflow}/index.ts`, { cwd: WORKFLOWS });
  const [file] = files;
  if (file === undefined || files.length > 1)
    throw new Error(`src/workflows has ${files.length} folders ${workflow} with an index.ts: a workflow has one`);
  const folder = path.join(WORKFLOWS, path.dirname(file));
  folders.set(workflow, folder);
  return folder;
}
