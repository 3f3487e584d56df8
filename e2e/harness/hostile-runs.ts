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

/** As soon as they are launched. */
export async function launchThoseThatStop(server: Server): Promise<Stopped> {
  const launch = (title: string, config: Parameters<Server['launch']>[1]): Promise<RunView> =>
    server.launch(`${title} ${TITLE}`, { ...NO_MERGE, ...config });
  const [byModel, byRemote] = await Promise.all([
    launch('Model', { modelRouting: { planner: 'openai-compatible:any' } }),
    launch('Refused', { trustMode: { planning: 'auto' } }),
  ]);
  return { byModel, byRemote };
}

const NO_MERGE = { git: { autoMerge: false } };
