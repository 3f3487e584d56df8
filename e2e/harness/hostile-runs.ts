/** Runs whose titles are hostile, and runs that stop at the words of others. */
import type { RunView } from '../../packages/shared/src/run.ts';
import { TITLE } from './hostile-words.ts';
import type { Server } from './server.ts';

/** The title of the run that is looked at there. */
export const IN_EDITOR = `Editor ${TITLE}`;
/** Of the question that every run asks. */
export const OPTION = '<img src=x onerror="top.PWN=2">';

/** Runs that stopped at somebody else's words. */
export interface Stopped {
  /** The model's provider refused. */
  readonly byModel: RunView;
  /** The remote refused the push, and named commits: no screen shows a subject or an author but in words of others. */
  readonly byRemote: RunView;
}

/** A run that waits for its plan to be approved. @returns its id */
export async function launchHostile(server: Server, title: string): Promise<string> {
  const { id } = await server.launch(title, NO_MERGE);
  await server.heard(id, 'APPROVAL_REQUESTED');
  return id;
}

/** A run that stops as soon as it is launched. */
export function launchStoppedByModel(server: Server): Promise<RunView> {
  return server.launch(`Model ${TITLE}`, { ...NO_MERGE, modelRouting: { planner: 'openai-compatible:any' } });
}

/** A run that stops at its first push. */
export function launchStoppedByRemote(server: Server): Promise<RunView> {
  return server.launch(`Refused ${TITLE}`, { ...NO_MERGE, trustMode: { planning: 'auto' } });
}

const NO_MERGE = { git: { autoMerge: false } };
