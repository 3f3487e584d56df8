/** Read-only checkout for an agent: its files are never imported. */
import type { RemoteProject } from '../../repository/repository.ts';
import type { ActivityContext } from '../../core/activity.ts';
import type { ActivityTools } from '../tools.ts';
import { closeFolder, openFolder, type WorkFolder } from '../work-folders.ts';

interface Reader {
  readonly projectId: string;
  readonly runId: string;
  readonly head: string;
  readonly excludePaths: readonly string[];
  /** Name of the folder within the run: one for each reader that reads at the same time. Default: `reading`. */
  readonly name?: string;
}

/** Gives a fresh checkout of the reader's head to `read`, and removes it afterwards. */
export async function withReadOnlyCheckout<Result>(
  tools: ActivityTools,
  context: ActivityContext,
  { projectId, runId, head, excludePaths, name = 'reading' }: Reader,
  read: (project: RemoteProject, work: WorkFolder) => Promise<Result>,
): Promise<Result> {
  const project = await tools.project(projectId, context.runId);
  const { signal, progress } = context;
  const work = await openFolder(tools, {
    project,
    runId,
    name,
    treeish: head,
    excludePaths,
    setup: null,
    signal,
    progress,
  });
  try {
    return await read(project, work);
  } finally {
    await closeFolder(work.folder);
  }
}
