/**
 * Brings runs of which git knows more than the database up to date, before anything of them goes on: the database is an older copy
 * and this same server has recorded what came since. The seal of the whole log proves that.
 */
import type { Project } from '@autonomous/shared';
import type { Logger } from 'pino';
import { isFinal } from '../core/advance.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { ChainedStep } from '../documents/event-log.ts';
import type { Repository } from '../repository/repository.ts';
import type { Clock } from '../engine/clock.ts';
import { importRun } from './import-run.ts';
import { listRecordedRuns, readRecordedTips, type TipLimits, unknownRecords } from './record-check.ts';
import { describeRefused } from './record-comparison.ts';
import { isOwnLog } from './record-seal.ts';
import { pauseOfRecord, type RecordReads } from './rebuilt-pause.ts';
import { listRecordFolders, readRun, type RunFiles } from './recorded-projects.ts';
import type { RecordedRun, RecordedStep } from './recorded-run.ts';

export interface RecordImportOptions {
  readonly store: EventStore;
  readonly repository: Repository;
  readonly workflows: RecordReads['workflows'];
  readonly uploads: RecordReads['uploads'];
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

/** Longest wait of the start for all remotes. One that is silent is compared later, and its newer runs are quarantined then. */
const REMOTE_MS = 5_000;
const PROJECTS_AT_ONCE = 4;
/** Longest reading of a project's record for runs to import, and what is read: the comparison, which nobody waits for, reads the rest. */
const READ_MS = 5_000;
const MAX_CONTEXT_BYTES = 1024 * 1024;
const MAX_CONTEXTS_BYTES = 64 * 1024 * 1024;

/**
 * Imports what git has beyond the database, of all projects. Must be called before the engine starts. What cannot be imported stays
 * for the comparison to report.
 * @returns the runs that were imported or continued
 */
export async function importNewerRuns(options: RecordImportOptions): Promise<readonly string[]> {
  const projects = await projectsOf(options.store);
  const signal = AbortSignal.timeout(REMOTE_MS);
  const imported: string[] = [];
  for (let from = 0; from < projects.length; from += PROJECTS_AT_ONCE) {
    const some = projects.slice(from, from + PROJECTS_AT_ONCE);
    imported.push(...(await Promise.all(some.map((project) => importOf(options, project, signal)))).flat());
  }
  return imported;
}

async function projectsOf(store: EventStore): Promise<readonly Project[]> {
  const projects: Project[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.listProjects(cursor, 200);
    projects.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return projects;
}

async function importOf(
  options: RecordImportOptions,
  project: Project,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { store, repository, log } = options;
  const imported: string[] = [];
  try {
    // The comparison reports a remote that does not answer.
    await repository.fetchRecord(project, signal).catch(() => null);
    const limits = {
      maxBytes: MAX_CONTEXT_BYTES,
      maxTotalBytes: MAX_CONTEXTS_BYTES,
      signal: AbortSignal.timeout(READ_MS),
    };
    for (const commit of await unknownRecords(store, repository, project))
      for (const files of await newerRuns(options, project, commit, limits))
        if (await importOne(options, project, files)) imported.push(files.runId);
  } catch (error) {
    log.warn(
      { err: error, projectId: project.id },
      'the record in git could not be read for runs that the database lacks',
    );
  }
  if (imported.length > 0)
    log.warn(
      { projectId: project.id, runs: imported },
      `The database was older than the record of project '${project.name}' in git: ${imported.length} ${imported.length === 1 ? 'run was' : 'runs were'} brought up to date from there (${imported.slice(0, 5).join(', ')}).`,
    );
  return imported;
}

/** Runs whose recorded log this server has sealed for this project, and of which the database has less. */
async function newerRuns(
  { store, repository, log }: RecordImportOptions,
  project: Project,
  commit: string,
  limits: TipLimits,
): Promise<readonly RunFiles[]> {
  const newer: string[] = [];
  const runIds = await listRecordedRuns(repository, project, commit);
  const { tips, refused } = await readRecordedTips(repository, project, commit, runIds, limits);
  for (const notice of describeRefused(project.name, refused))
    log.warn({ projectId: project.id, runs: [...refused.keys()] }, notice);
  for (const [runId, recorded] of tips) {
    const own = await store.tipOf(runId);
    const isNewer = recorded.sequence > (own?.sequence ?? 0);
    if (isNewer && (await isOwnLog(store, project.id, runId, recorded))) newer.push(runId);
  }
  if (newer.length === 0) return [];
  const { runs } = await listRecordFolders(repository, project, commit);
  return newer.flatMap((runId) => runs.get(runId) ?? []);
}

async function importOne(options: RecordImportOptions, project: Project, files: RunFiles): Promise<boolean> {
  const { store, repository, workflows, clock, log } = options;
  const { runId } = files;
  try {
    const read = await readRun(repository, project, files);
    if (!read.ok) {
      log.warn({ runId }, `a run of which git knows more cannot be brought up to date: ${read.message}`);
      return false;
    }
    const run = read.start.projectId === project.id ? await continued(store, read.run) : null;
    if (run === null) return false;
    const { view } = await importRun(
      {
        store,
        workflows,
        mustReplay: true,
        pauseOf: ({ view: imported }, state) => (run.isWholeBeyond ? null : pauseOfRecord(options)(imported, state)),
        now: () => clock.now(),
      },
      run.run,
    );
    const { branch, headCommit } = view;
    const isThere = headCommit !== undefined && (await repository.missingCommits(project, [headCommit])).size === 0;
    if (branch !== '' && isThere && !isFinal(view.status)) await repository.forwardBranch(project, branch, headCommit);
    return true;
  } catch (error) {
    log.warn({ err: error, runId }, 'a run of which git knows more could not be brought up to date');
    return false;
  }
}

interface ContinuedRun {
  /** Steps that the database has are as the database has them: git's copy of their payloads is not used. */
  readonly run: RecordedRun;
  /** No payload of the steps that the database lacks is withheld. */
  readonly isWholeBeyond: boolean;
}

/** A recorded run whose beginning is the database's history of it; `null` where it is another one. */
async function continued(store: EventStore, recorded: RecordedRun): Promise<ContinuedRun | null> {
  const own = await store.readSteps(recorded.runId);
  const last = own.at(-1);
  const at = recorded.steps.findIndex(
    ({ events, hash }) => events.at(-1)?.sequence === last?.last && hash === last?.hash,
  );
  if (last !== undefined && at === -1) return null;
  const beyond = last === undefined ? recorded.steps : recorded.steps.slice(at + 1);
  const isWholeBeyond = beyond.every(({ events }) => events.every(({ withheld }) => withheld === undefined));
  return { run: { ...recorded, steps: [...(await ownSteps(store, recorded.runId, own)), ...beyond] }, isWholeBeyond };
}

async function ownSteps(
  store: EventStore,
  runId: string,
  steps: readonly ChainedStep[],
): Promise<readonly RecordedStep[]> {
  const all = await store.readRun(runId, 0, steps.at(-1)?.last ?? 0);
  return steps.map(({ first, last, hash, payloadHashes, withheld, context }) => ({
    hash,
    context,
    events: all.slice(first - 1, last).map(({ sequence, type, origin, payload, timestamp }) => {
      const why = withheld?.get(sequence);
      const isErased = why === 'erased';
      return {
        sequence,
        type: isErased ? String(payload['type']) : type,
        origin,
        payload: isErased ? {} : payload,
        json: isErased ? 'null' : JSON.stringify(payload),
        timestamp,
        ...(why === undefined ? {} : { withheld: { why, payloadHash: payloadHashes[sequence - first] ?? '' } }),
      };
    }),
  }));
}
