/**
 * Compares the runs of the database with their record in git. A database that lost its newest
 * events, or has other ones, looks sound by itself.
 */
import type { Logger } from 'pino';
import { type RecordedTip, tipOfContext } from '../artifacts/run-context.ts';
import type { EventStore, IntegrityFault } from '../event-store/event-store.ts';
import type { RecordKeeper, RemoteProject, Repository } from '../repository/repository.ts';
import { rechainedMark } from './import-run.ts';
import { isOwnLog, isSealed } from './record-seal.ts';

export interface RecordCheck {
  readonly store: EventStore;
  readonly repository: Repository;
  readonly log: Logger;
}

/** Files of one commit that are read at once, so that the record of many runs never lies in memory whole. */
const FILES_AT_ONCE = 32;
/** Larger than any `context.json` that a recorder writes. */
const MAX_CONTEXT_BYTES = 4 * 1024 * 1024;

/**
 * Open runs whose record has more events than the database, or other ones. Reads the mirrors' own copies of the record,
 * each once, and asks no remote. Skips a record that cannot be read.
 */
export async function findDivergedRuns({ store, repository, log }: RecordCheck): Promise<readonly IntegrityFault[]> {
  const byProject = new Map<string, string[]>();
  for (const { id, projectId } of await store.listOpenRuns()) {
    const runs = byProject.get(projectId);
    if (runs) runs.push(id);
    else byProject.set(projectId, [id]);
  }
  const faults = [...byProject].map(async ([projectId, runIds]): Promise<readonly IntegrityFault[]> => {
    try {
      const project = await store.getProject(projectId);
      return project ? [...(await findFaults(store, repository, project, runIds)).values()] : [];
    } catch (error) {
      log.warn({ err: error, projectId }, 'the record in git could not be compared with the database');
      return [];
    }
  });
  return (await Promise.all(faults)).flat();
}

/**
 * Compares runs with everything that the mirror knows of their record: its own copy, and the remote's as last fetched.
 * @returns one fault for each run that contradicts its record; runs that continue their record, or have none, are left out
 */
export async function findFaults(
  store: EventStore,
  repository: Repository,
  project: RemoteProject,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, IntegrityFault>> {
  const faults = new Map<string, IntegrityFault>();
  for (const commit of await unknownRecords(store, repository, project)) {
    for (const [runId, tip] of await readRecordedTips(repository, project, commit, runIds)) {
      const fault = await divergence(store, runId, tip, project.id);
      if (fault && !faults.has(runId)) faults.set(runId, fault);
    }
  }
  return faults;
}

/**
 * Compares a run with the last recorded event of its record in git.
 * @param projectId absent where nobody else can write the record
 * @returns `null` when the run continues the record, or when others changed the record
 */
export async function divergence(
  store: EventStore,
  runId: string,
  recorded: RecordedTip,
  projectId?: string,
): Promise<IntegrityFault | null> {
  const difference = await compareTip(store, runId, recorded, projectId);
  return difference === 'changed by others' ? null : difference;
}

/**
 * Like `divergence`, but also tells when the tip that the run does not have was written by a server without this database.
 */
export async function compareTip(
  store: EventStore,
  runId: string,
  recorded: RecordedTip,
  projectId?: string,
): Promise<IntegrityFault | 'changed by others' | null> {
  const fault = await differenceOf(store, runId, recorded);
  if (fault === null || projectId === undefined) return fault;
  return (await isSealed(store, projectId, runId, recorded)) ? fault : 'changed by others';
}

async function differenceOf(store: EventStore, runId: string, recorded: RecordedTip): Promise<IntegrityFault | null> {
  const tip = await store.tipOf(runId);
  if (!tip) return null;
  if (recorded.sequence > tip.sequence) {
    const missing = tip.sequence + 1;
    const events =
      missing === recorded.sequence ? `event ${missing} is` : `events ${missing} to ${recorded.sequence} are`;
    return { runId, sequence: missing, message: `${events} in the record in git and not in the database` };
  }
  const own = recorded.sequence === tip.sequence ? tip : await store.tipOf(runId, recorded.sequence);
  if (own?.hash === recorded.hash) return null;
  if ((await store.getMark(rechainedMark(runId))) === `${recorded.sequence} ${recorded.hash}`) return null;
  return {
    runId,
    sequence: recorded.sequence,
    message: `event ${recorded.sequence} is another one in the record in git`,
  };
}

/**
 * Lets a record be written over only by its own continuation. A run that the database does not have keeps what the remote
 * has of it, unless the mirror's own copy goes further.
 */
export function recordKeeper(store: EventStore, repository: Repository, project: RemoteProject): RecordKeeper {
  return async (remote, local, paths) => {
    const runIds = [...new Set(paths.flatMap((path) => runIdOf(path) ?? []))];
    const there = await readRecordedTips(repository, project, remote, runIds);
    const here =
      local === null
        ? new Map<string, RecordedTip>()
        : await readRecordedTips(repository, project, local, [...there.keys()]);
    const kept = new Set<string>();
    for (const [runId, tip] of there) {
      const isKnown = (await store.tipOf(runId)) !== null;
      const isFurther = (here.get(runId)?.sequence ?? 0) > tip.sequence;
      if (isKnown ? (await divergence(store, runId, tip, project.id)) !== null : !isFurther) kept.add(runId);
    }
    return new Set(paths.filter((path) => kept.has(runIdOf(path) ?? '')));
  };
}

/** Commits of the record in the mirror: its own, the remote's as last fetched where that is another one, and those of years. */
export async function knownRecords(repository: Repository, project: RemoteProject): Promise<readonly string[]> {
  return repository.recordHeads(project);
}

/** Commits of a project's record of which the database is known to have everything. */
const comparedMark = (projectId: string): string => `record.compared.${projectId}`;
/** Of the mirror, of the remote and of some years, and those before them. */
const COMPARED_KEPT = 16;
/** Set when all open runs of a project have records in the present form. */
const renewedMark = (projectId: string): string => `record.renewed.${projectId}`;

/** Those of {@link knownRecords} that were not compared yet: an unchanged record is not read again. */
export async function unknownRecords(
  store: EventStore,
  repository: Repository,
  project: RemoteProject,
): Promise<readonly string[]> {
  const compared = new Set((await store.getMark(comparedMark(project.id)))?.split(' '));
  return (await knownRecords(repository, project)).filter((commit) => !compared.has(commit));
}

/** To be called when the database has everything that these commits of a project's record have. */
export async function noteCompared(store: EventStore, projectId: string, commits: readonly string[]): Promise<void> {
  const before = (await store.getMark(comparedMark(projectId)))?.split(' ') ?? [];
  const compared = [...new Set([...commits, ...before])].slice(0, COMPARED_KEPT);
  await store.setMark(comparedMark(projectId), compared.join(' '));
}

/**
 * Open runs of a project whose record this server did not write in its present form: an older version did, or it comes from a rebuild.
 * Not asked again once there are none.
 */
export async function findOutdatedRuns(
  store: EventStore,
  repository: Repository,
  project: RemoteProject,
): Promise<readonly string[]> {
  if ((await store.getMark(renewedMark(project.id))) !== null) return [];
  const open = (await store.listOpenRuns()).filter(({ projectId }) => projectId === project.id);
  const [commit] = await knownRecords(repository, project);
  const outdated: string[] = [];
  if (commit !== undefined)
    for (const [runId, tip] of await readRecordedTips(
      repository,
      project,
      commit,
      open.map(({ id }) => id),
    ))
      if (!(await isOwnLog(store, project.id, runId, tip))) outdated.push(runId);
  if (outdated.length === 0) await store.setMark(renewedMark(project.id), '1');
  return outdated;
}

/** All runs that a commit of the record holds. */
export async function listRecordedRuns(
  repository: Pick<Repository, 'listFiles'>,
  project: RemoteProject,
  commit: string,
): Promise<readonly string[]> {
  const files = await repository.listFiles(project, commit);
  return files.filter((path) => path.endsWith('/context.json')).flatMap((path) => runIdOf(path) ?? []);
}

/** The last recorded event of each of these runs, by run; runs without a record are left out. */
export async function readRecordedTips(
  repository: Pick<Repository, 'readFiles'>,
  project: RemoteProject,
  commit: string,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, RecordedTip>> {
  const tips = new Map<string, RecordedTip>();
  const pathOf = (runId: string): string => `${recordFolder(runId)}/context.json`;
  for (let from = 0; from < runIds.length; from += FILES_AT_ONCE) {
    const some = runIds.slice(from, from + FILES_AT_ONCE);
    const texts = await repository.readFiles(project, commit, some.map(pathOf), MAX_CONTEXT_BYTES);
    for (const runId of some) {
      const text = texts.get(pathOf(runId));
      const tip = text === undefined ? null : tipOfContext(text);
      if (tip) tips.set(runId, tip);
    }
  }
  return tips;
}

/** Folder of a run's record. */
export function recordFolder(runId: string): string {
  return `.autonomous/runs/${runId}`;
}

/** File of a project in its record. */
export function projectPath(projectId: string): string {
  return `.autonomous/projects/${projectId}.json`;
}

function runIdOf(path: string): string | undefined {
  // Anyone with push access may have named a folder anything.
  return /^\.autonomous\/runs\/([\w-]{1,100})\//.exec(path)?.[1];
}
