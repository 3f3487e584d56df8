/** Folders of the shipped workflows: each holds its versions, `<workflow>-<version>.ts`, and its golden histories. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const WORKFLOWS = fileURLToPath(new URL('../src/workflows', import.meta.url));

const folders = new Map<string, string>();

/**
 * Folder of a workflow, absolute. That of a child workflow lies in the folder of the workflow whose runs start it.
 * @throws {Error} where no file `<workflow>-1.ts` is there, or several
 */
export function folderOf(workflow: string): string {
  const known = folders.get(workflow);
  if (known !== undefined) return known;
  const files = globSync(`**/${workflow}-1.ts`, { cwd: WORKFLOWS });
  const [file] = files;
  if (file === undefined || files.length > 1)
    throw new Error(`src/workflows has ${files.length} files ${workflow}-1.ts: each version of a workflow has one`);
  const folder = path.join(WORKFLOWS, path.dirname(file));
  folders.set(workflow, folder);
  return folder;
}
