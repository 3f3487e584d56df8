/**
 * Checks the promise to runs that wait: the commits that they name are on the remote, reachable from the record, before anybody
 * sees the wait. A quarantine stops a run at once: its commits follow.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { WAITING } from '../src/engine/run-steps.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import type { Place } from './place.ts';
import { readRepository } from './repository-state.ts';

/** Branch of the record in git: how many commits it takes is a matter of time, what it holds at the end is not. */
export const RECORD_BRANCH = 'autonomous/record';

/** Longest wait for the record of a quarantined run. */
const FOLLOWS_MS = 10_000;
const TICK_MS = 50;

type NamedIn = Pick<WorkflowEvent, 'payload'>;

/** Commits that these events name, that the server has, and that the record on the remote does not lead to. */
export async function unrecordedCommits(
  { remote, data }: Pick<Place, 'remote' | 'data'>,
  projectId: string,
  events: readonly NamedIn[],
): Promise<readonly string[]> {
  const [there, mirror] = await Promise.all([
    readRepository(remote),
    readRepository(path.join(data, 'mirrors', `${projectId}.git`)),
  ]);
  const reached = new Set(there.historyOf(RECORD_BRANCH).map(({ id }) => id));
  return [...commitsNamedIn(events)].filter((id) => mirror.commits.has(id) && !reached.has(id));
}

/** Whether a run waits in the way that is promised to find its commits on the remote. */
export function isPromised({ status, gate }: Pick<RunView, 'status' | 'gate'>): boolean {
  return WAITING.has(status) && gate?.reason !== 'poisoned';
}

/** Commits that are still missing when the server has had the time to write the record of a quarantined run. */
export async function missingInTheEnd(
  find: () => Promise<readonly string[]>,
  signal: AbortSignal,
  limitMs = FOLLOWS_MS,
): Promise<readonly string[]> {
  const startedAt = performance.now();
  while (true) {
    const missing = await find();
    if (missing.length === 0 || performance.now() - startedAt >= limitMs) return missing;
    await delay(TICK_MS, undefined, { signal });
  }
}

/** Waiting runs of a server that was killed, and what their wait does not find on the remote. */
export async function waitsWithout(place: Place): Promise<readonly string[]> {
  const copy = await mkdtemp(path.join(place.folder, 'killed-'));
  try {
    for (const end of ['', '-wal', '-shm'])
      await cp(path.join(place.data, `orchestrator.db${end}`), path.join(copy, `orchestrator.db${end}`)).catch(
        unlessMissing,
      );
    const store = openSqliteEventStore({ file: path.join(copy, 'orchestrator.db') });
    try {
      const { items } = await store.listRuns({ limit: 100 });
      const waits = items
        .filter((run) => isPromised(run) && run.projectId !== '')
        .map(async ({ id, projectId, status }) => {
          const missing = await unrecordedCommits(place, projectId, await store.readRun(id, 0));
          return missing.map((commit) => describeWait(id, status, commit));
        });
      return (await Promise.all(waits)).flat();
    } finally {
      await store.close();
    }
  } finally {
    await rm(copy, { recursive: true });
  }
}

export function describeWait(runId: string, status: string, commit: string): string {
  return `run ${runId} is ${status}, and the record on the remote does not lead to its commit ${commit}`;
}

export function commitsNamedIn(events: readonly NamedIn[]): ReadonlySet<string> {
  return new Set(JSON.stringify(events).match(/\b[0-9a-f]{40}\b/g));
}

function unlessMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
