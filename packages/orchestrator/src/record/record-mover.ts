/**
 * Moves the records of runs that ended long ago to the branch of the year in which they ended. Each record of a run writes
 * the list of all runs in the record's tree anew, so the record keeps few.
 */
import type { Project } from '@autonomous/shared';
import { isFinal } from '../core/advance.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { RECORD_BRANCH, type RecordMove, type Repository } from '../repository/repository.ts';
import type { Clock } from '../engine/clock.ts';
import { listRecordedRuns, projectPath, readRecordedTips, recordFolder } from './record-check.ts';
import { topOf } from '../engine/families/top-run.ts';

export interface RecordMoverOptions {
  readonly store: Pick<EventStore, 'loadView' | 'tipOf'>;
  readonly repository: Pick<Repository, 'fetch' | 'moveRecord' | 'readBlobs' | 'recordedRuns' | 'remoteHead'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Records of runs that ended earlier than this many days ago are moved; 0 keeps all where they are. */
  readonly afterDays: number;
}

const DAY_MS = 24 * 60 * 60_000;

export class RecordMover {
  readonly #options: RecordMoverOptions;

  constructor(options: RecordMoverOptions) {
    this.#options = options;
  }

  /**
   * Moves the old records of a project.
   * @returns how many runs were moved
   * @throws {NeedsHuman} `remote_unavailable`, `auth_expired` or `push_rejected`
   */
  async move(project: Project, signal?: AbortSignal): Promise<number> {
    const { repository, afterDays } = this.#options;
    if (afterDays === 0) return 0;
    await repository.fetch(project, signal);
    const record = await repository.remoteHead(project, RECORD_BRANCH);
    if (record === null) return 0;
    const byYear = new Map<string, string[]>();
    let count = 0;
    for (const [runId, year] of await this.#oldRuns(project, record)) {
      byYear.set(year, [...(byYear.get(year) ?? []), recordFolder(runId)]);
      count += 1;
    }
    const moves = [...byYear].map(([year, folders]): RecordMove => ({ year, folders }));
    if (moves.length === 0) return 0;
    return (await repository.moveRecord(project, moves, [projectPath(project.id)], signal)) ? count : 0;
  }

  /** Runs of this server whose record is whole, with the year in which they ended. */
  async #oldRuns(project: Project, record: string): Promise<readonly (readonly [runId: string, year: string])[]> {
    const { store, repository, clock, afterDays } = this.#options;
    const before = new Date(clock.now().getTime() - afterDays * DAY_MS).toISOString();
    const { tips } = await readRecordedTips(
      repository,
      project,
      record,
      await listRecordedRuns(repository, project, record),
    );
    const old: [runId: string, year: string][] = [];
    for (const [runId, tip] of tips) {
      const view = await store.loadView(runId);
      if (view === null || view.projectId !== project.id || !isFinal(view.status)) continue;
      const top = await topOf(store, view);
      const endedAt = top.completedAt ?? top.updatedAt;
      if (!isFinal(top.status) || endedAt >= before) continue;
      if ((await store.tipOf(runId))?.hash === tip.hash) old.push([runId, (view.completedAt ?? endedAt).slice(0, 4)]);
    }
    return old;
  }
}
