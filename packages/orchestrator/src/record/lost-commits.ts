/**
 * Commits of open runs that the mirrors do not have: a database that was restored without its mirrors looks sound by itself,
 * and a person would decide on what nobody can see any more.
 */
import type { RunView } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { EventStore, IntegrityFault } from '../event-store/event-store.ts';
import type { Repository } from '../repository/repository.ts';

export interface LostCommitsOptions {
  readonly store: Pick<EventStore, 'listOpenRuns' | 'loadView' | 'getProject'>;
  readonly repository: Pick<Repository, 'missingCommits' | 'fetch' | 'createBranch'>;
  readonly log: Logger;
}

/** Longest wait of a person for a remote that may have the commits. */
const REMOTE_MS = 15_000;

/** Open runs whose base or newest commit is in no mirror. Asks no remote; a mirror that cannot be read is passed over. */
export async function findLostCommits(options: LostCommitsOptions): Promise<readonly IntegrityFault[]> {
  const { store, log } = options;
  const byProject = new Map<string, RunView[]>();
  for (const { id } of await store.listOpenRuns()) {
    const view = await store.loadView(id);
    if (view === null || view.projectId === '' || commitsOf(view).length === 0) continue;
    const runs = byProject.get(view.projectId);
    if (runs) runs.push(view);
    else byProject.set(view.projectId, [view]);
  }
  const faults = [...byProject].map(async ([projectId, views]) => {
    try {
      return await faultsOf(options, projectId, views);
    } catch (error) {
      log.warn({ err: error, projectId }, 'the mirror could not be checked for the commits of open runs');
      return [];
    }
  });
  return (await Promise.all(faults)).flat();
}

/**
 * Brings a run's commits back where its remote has them.
 * @returns what is lost; `null` when nothing is
 */
export async function bringBackCommits(options: LostCommitsOptions, view: RunView): Promise<IntegrityFault | null> {
  const { store, repository, log } = options;
  const project = view.projectId === '' ? null : await store.getProject(view.projectId);
  if (project === null || (await faultsOf(options, project.id, [view])).length === 0) return null;
  await repository
    .fetch(project, AbortSignal.timeout(REMOTE_MS))
    .catch((error: unknown) => log.warn({ err: error, projectId: project.id }, 'the project could not be fetched'));
  const [fault = null] = await faultsOf(options, project.id, [view]);
  if (fault === null && view.branch !== '' && view.headCommit !== undefined)
    await repository.createBranch(project, view.branch, view.headCommit);
  return fault;
}

async function faultsOf(
  { store, repository }: LostCommitsOptions,
  projectId: string,
  views: readonly RunView[],
): Promise<readonly IntegrityFault[]> {
  const project = await store.getProject(projectId);
  if (project === null) return [];
  const missing = await repository.missingCommits(project, [...new Set(views.flatMap(commitsOf))]);
  return views.flatMap((view) => {
    const lost = commitsOf(view).find((commit) => missing.has(commit));
    return lost === undefined ? [] : [faultOf(view, lost)];
  });
}

function commitsOf({ baseCommit, headCommit }: RunView): readonly string[] {
  return [headCommit, baseCommit].filter((commit) => commit !== undefined);
}

function faultOf({ id, projectId, lastSequence }: RunView, commit: string): IntegrityFault {
  return {
    runId: id,
    sequence: lastSequence,
    message: `its commit ${commit} is not in the project's mirror, mirrors/${projectId}.git of the data folder. Restore the mirrors of the same backup with the database; a retry also fetches from the remote`,
  };
}
