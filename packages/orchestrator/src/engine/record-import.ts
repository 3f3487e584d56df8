/**
 * Brings runs of which git knows more than the database up to date, before anything of them goes on: the database is an older copy
 * and this same server has recorded what came since. The seal of the record proves that; the hash chain covers the rest.
 */
import type { Project } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { WorkflowRegistry } from '../core/registry.ts';
import { isFinal } from '../core/advance.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Repository } from '../repository/repository.ts';
import { importRun } from './import-run.ts';
import { knownRecords, listRecordedRuns, readRecordedTips } from './record-check.ts';
import { isOwnSeal } from './record-seal.ts';
import { listRecord, readRun, type RunFiles } from './recorded-projects.ts';
import type { RecordedRun } from './recorded-run.ts';

export interface RecordImportOptions {
  readonly store: EventStore;
  readonly repository: Repository;
  readonly workflows: Pick<WorkflowRegistry, 'find'>;
  readonly log: Logger;
}

/** Longest wait of the start for all remotes. One that is silent is compared later, and its newer runs are quarantined then. */
const REMOTE_MS = 5_000;
const PROJECTS_AT_ONCE = 4;

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
  const { repository, log } = options;
  const imported: string[] = [];
  try {
    // The comparison reports a remote that does not answer.
    await repository.fetchRecord(project, signal).catch(() => null);
    for (const commit of await knownRecords(repository, project))
      for (const runId of await newerRuns(options, project, commit))
        if (await importOne(options, project, commit, runId)) imported.push(runId);
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

/** Runs whose recorded end this server has written and the database does not have. */
async function newerRuns(
  { store, repository }: RecordImportOptions,
  project: Project,
  commit: string,
): Promise<readonly string[]> {
  const newer: string[] = [];
  const runIds = await listRecordedRuns(repository, project, commit);
  for (const [runId, recorded] of await readRecordedTips(repository, project, commit, runIds)) {
    const own = await store.tipOf(runId);
    if (recorded.sequence > (own?.sequence ?? 0) && (await isOwnSeal(store, runId, recorded))) newer.push(runId);
  }
  return newer;
}

async function importOne(
  options: RecordImportOptions,
  project: Project,
  commit: string,
  runId: string,
): Promise<boolean> {
  const { store, repository, workflows, log } = options;
  try {
    const files = await filesOf(repository, project, commit, runId);
    const read = files === null ? null : await readRun(repository, project, files);
    if (read?.ok !== true) {
      log.warn(
        { runId },
        `a run of which git knows more cannot be brought up to date: ${read?.message ?? 'it has no record'}`,
      );
      return false;
    }
    if (!(await isContinued(store, read.run))) return false;
    const { view } = await importRun({ store, workflows, mustReplay: true }, read.run);
    const { branch, headCommit } = view;
    const isThere = headCommit !== undefined && (await repository.missingCommits(project, [headCommit])).size === 0;
    if (branch !== '' && isThere && !isFinal(view.status)) await repository.forwardBranch(project, branch, headCommit);
    return true;
  } catch (error) {
    log.warn({ err: error, runId }, 'a run of which git knows more could not be brought up to date');
    return false;
  }
}

async function filesOf(
  repository: Repository,
  project: Project,
  commit: string,
  runId: string,
): Promise<RunFiles | null> {
  const { runs } = await listRecord(repository, project, commit, runId);
  return runs[0] ?? null;
}

/** Whether the database's history of the run is the beginning of the recorded one. */
async function isContinued(store: EventStore, { runId, steps, isChained }: RecordedRun): Promise<boolean> {
  const own = await store.tipOf(runId);
  if (own === null) return true;
  return isChained && steps.some(({ events, hash }) => events.at(-1)?.sequence === own.sequence && hash === own.hash);
}
