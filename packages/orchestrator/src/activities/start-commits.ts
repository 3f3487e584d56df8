/** Finds the commit that a run started from, and that of the run at the top of its family. */
import { NotFound, type RunView } from '@autonomous/shared';
import type { ActivityTools } from './tools.ts';

/** Commit that a run started from, before it took in what others pushed; `null` for a run that has not been prepared. */
export async function startCommitOf(tools: Pick<ActivityTools, 'events'>, runId: string): Promise<string | null> {
  const configured = (await tools.events(runId)).find(({ type }) => type === 'RUN_CONFIGURED');
  const { baseCommit } = (configured?.payload ?? {}) as { readonly baseCommit?: string };
  return baseCommit ?? null;
}

function unlessNotFound(error: unknown): null {
  if (error instanceof NotFound) return null;
  throw error;
}

/**
 * Commit with the guidance for the agents of a run. For a child run it is where the topmost run above it in the same project
 * started: the base of a child holds what agents of earlier child runs wrote.
 * @param baseCommit where the run itself started
 */
export async function guidanceCommitOf(
  tools: Pick<ActivityTools, 'view' | 'events'>,
  runId: string,
  baseCommit: string,
): Promise<string> {
  let commit = baseCommit;
  let run: RunView = await tools.view(runId);
  const { projectId } = run;
  while (run.parent !== undefined) {
    const above: RunView | null = await tools.view(run.parent.runId).catch(unlessNotFound);
    // A rebuild may have brought back a child run alone.
    if (above === null) break;
    run = above;
    if (run.projectId === projectId) commit = (await startCommitOf(tools, run.id)) ?? commit;
  }
  return commit;
}
