/** Parts of a run that its record brings along beside the log: commits and trees, and files that people gave with answers. */
import { readFile } from 'node:fs/promises';
import type { RunView } from '@autonomous/shared';
import type { RemoteProject } from '../../repository/repository.ts';
import { holdsSecrets, scanTexts } from './outgoing.ts';
import type { ActivityTools } from '../tools.ts';

/** How git writes the id of an object. */
const OBJECT_ID = /\b[0-9a-f]{40}\b/g;

/**
 * The commit that leads to all commits and trees that a run's log names, and to the head of its branch.
 * @param log the run's events as text
 * @returns `null` when the mirror has none of them, or something in them looks like a secret and was accepted by no person
 */
export async function recordableObjects(
  tools: Pick<ActivityTools, 'repository' | 'view'>,
  project: RemoteProject,
  view: RunView,
  log: string,
  signal: AbortSignal,
): Promise<string | null> {
  const { repository } = tools;
  const ids = new Set<string>();
  for (const [id] of log.matchAll(OBJECT_ID)) ids.add(id);
  const head = view.branch === '' ? null : await repository.branchHead(project, view.branch);
  if (head !== null) ids.add(head);
  const gathered = await repository.gather(project, [...ids]);
  return gathered === null || (await holdsSecrets(tools, project, view, gathered, signal)) ? null : gathered;
}

/**
 * The content of a file that a person gave with an answer.
 * @returns `null` when it is gone, or something in it looks like a secret
 */
export async function recordableUpload(
  tools: Pick<ActivityTools, 'uploadPath' | 'scrub'>,
  { id, name }: { readonly id: string; readonly name: string },
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const path = await tools.uploadPath(id);
  if (path === null) return null;
  const content = await readFile(path);
  const text = content.toString('latin1');
  if (tools.scrub(text) !== text) return null;
  return (await scanTexts({ signal }, [{ name, content }])).length > 0 ? null : content;
}
