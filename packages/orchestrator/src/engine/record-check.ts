/**
 * Compares what the database has of open runs with their record in git: a database that lost its newest events, or went
 * another way, looks sound by itself.
 */
import type { Logger } from 'pino';
import { type RecordedTip, tipOfContext } from '../artifacts/run-context.ts';
import type { EventStore, IntegrityFault } from '../event-store/event-store.ts';
import { RECORD_BRANCH, type RemoteProject, type Repository } from '../repository/repository.ts';

export interface RecordCheck {
  readonly store: EventStore;
  readonly repository: Repository;
  readonly log: Logger;
}

/**
 * Open runs of which the record knows more events than the database, or other ones. Reads the mirrors' own copies of the
 * record, each once, and asks no remote; a record that cannot be read is passed over.
 */
export async function findDivergedRuns({ store, repository, log }: RecordCheck): Promise<readonly IntegrityFault[]> {
  const byProject = new Map<string, string[]>();
  for (const { id, projectId } of await store.listOpenRuns()) {
    const runs = byProject.get(projectId);
    if (runs) runs.push(id);
    else byProject.set(projectId, [id]);
  }
  const faults = [...byProject].map(async ([projectId, runIds]): Promise<IntegrityFault[]> => {
    try {
      const project = await store.getProject(projectId);
      if (!project) return [];
      const tips = await readRecordedTips(repository, project, runIds);
      const found = await Promise.all([...tips].map(([runId, tip]) => divergence(store, runId, tip)));
      return found.filter((fault) => fault !== null);
    } catch (error) {
      log.warn({ err: error, projectId }, 'the record in git could not be compared with the database');
      return [];
    }
  });
  return (await Promise.all(faults)).flat();
}

/** Where a run leaves what its record in git says; `null` while it is the record's continuation. */
export async function divergence(
  store: EventStore,
  runId: string,
  recorded: RecordedTip,
): Promise<IntegrityFault | null> {
  const tip = await store.tipOf(runId);
  if (!tip) return null;
  if (recorded.sequence > tip.sequence) {
    const missing = tip.sequence + 1;
    const events =
      missing === recorded.sequence ? `event ${missing} is` : `events ${missing} to ${recorded.sequence} are`;
    return { runId, sequence: missing, message: `${events} in the record in git and not in the database` };
  }
  const other = {
    runId,
    sequence: recorded.sequence,
    message: `event ${recorded.sequence} is another one in the record in git`,
  };
  if (recorded.sequence === tip.sequence) return recorded.hash === tip.hash ? null : other;
  const [event] = await store.readRun(runId, recorded.sequence - 1, 1);
  return event?.timestamp === recorded.at ? null : other;
}

/** The last recorded event of each of these runs, by run; runs without a record are left out. */
export async function readRecordedTips(
  repository: Repository,
  project: RemoteProject,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, RecordedTip>> {
  const head = await repository.branchHead(project, RECORD_BRANCH);
  const commit = head ?? (await repository.remoteHead(project, RECORD_BRANCH));
  const tips = new Map<string, RecordedTip>();
  if (commit === null) return tips;
  const pathOf = (runId: string): string => `${recordFolder(runId)}/context.json`;
  const texts = await repository.readFiles(project, commit, runIds.map(pathOf));
  for (const runId of runIds) {
    const text = texts.get(pathOf(runId));
    const tip = text === undefined ? null : tipOfContext(text);
    if (tip) tips.set(runId, tip);
  }
  return tips;
}

/** Folder of a run's record. */
export function recordFolder(runId: string): string {
  return `.autonomous/runs/${runId}`;
}
