/**
 * Compares the runs of the database with their record in git. A database that lost its newest
 * events, or has other ones, looks sound by itself.
 */
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type ReadContext, readContext, type RecordedTip } from '../documents/run-context.ts';
import { RECORD_FORMAT } from '../documents/record-schemas.ts';
import type { EventStore, IntegrityFault } from '../event-store/event-store.ts';
import { RECORD_BRANCH, type RecordKeeper, type RemoteProject, type Repository } from '../repository/repository.ts';
import { isOwnLog, isSealed } from './record-seal.ts';
import { faultOfProjectFile } from './recorded-projects.ts';

export interface RecordCheck {
  readonly store: EventStore;
  readonly repository: Repository;
  readonly log: Logger;
}

/** Files of one commit that are read at once, so that the record of many runs never lies in memory whole. */
const FILES_AT_ONCE = 32;
/** Larger than any `context.json` that a recorder writes. */
const MAX_CONTEXT_BYTES = 4 * 1024 * 1024;
/** Larger than any file of a project that a recorder writes. */
const MAX_PROJECT_BYTES = 64 * 1024;
/** File of each run that tells its state. */
export const CONTEXT = 'context.json';
/** Anyone with push access may have named a folder anything. */
const RUN_ID = /^[\w-]{1,100}$/;

/**
 * Open runs whose record has more events than the database, other ones, or another format. Reads the mirrors' own copies of the record,
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
    const { tips, refused } = await readKnownTips(repository, project, commit, runIds);
    for (const [runId, tip] of tips) {
      const fault = await divergence(store, runId, tip, project.id);
      if (fault && !faults.has(runId)) faults.set(runId, fault);
    }
    for (const [runId, message] of refused) {
      const fault = await faultOfOtherFormat(store, runId, message);
      if (fault && !faults.has(runId)) faults.set(runId, fault);
    }
  }
  return faults;
}

/**
 * Like `readRecordedTips`, of a commit of `knownRecords`. What has another format in a commit from which the record
 * goes on is left out: the later commit tells whether a person has put it right.
 */
export async function readKnownTips(
  repository: Repository,
  project: RemoteProject,
  commit: string,
  runIds: readonly string[],
): Promise<RecordedTips> {
  const { tips, refused } = await readRecordedTips(repository, project, commit, runIds);
  if (refused.size === 0 || !(await isContinued(repository, project, commit))) return { tips, refused };
  return { tips, refused: new Map() };
}

/** Whether the record itself goes on from a commit, here or on the remote. Branches of years do not hold all of what they begin with. */
async function isContinued(repository: Repository, project: RemoteProject, commit: string): Promise<boolean> {
  const heads = [
    await repository.branchHead(project, RECORD_BRANCH),
    await repository.remoteHead(project, RECORD_BRANCH),
  ];
  for (const head of heads)
    if (head !== null && head !== commit && (await repository.isAncestor(project, commit, head))) return true;
  return false;
}

/**
 * Fault of a run whose record has another format: nobody can tell whether the run continues it.
 * @param message of {@link RecordedTips.refused}
 * @returns `null` for a run that the database does not have
 */
export async function faultOfOtherFormat(
  store: EventStore,
  runId: string,
  message: string,
): Promise<IntegrityFault | null> {
  const tip = await store.tipOf(runId);
  if (!tip) return null;
  const why = `this program cannot read the run's record in git and does not write over it: ${message.replace(/\.$/, '')}; or, where somebody else put it there, take it off the branch ${RECORD_BRANCH} with a new commit, then retry`;
  return { runId, sequence: tip.sequence + 1, message: why, namesWay: true };
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
  return {
    runId,
    sequence: recorded.sequence,
    message: `event ${recorded.sequence} is another one in the record in git`,
  };
}

/**
 * Lets a record be written over only by its own continuation, and nothing whose format this program does not read. A run that
 * the database does not have keeps what is there of it, unless the mirror's own copy goes further.
 */
export function recordKeeper(store: EventStore, repository: Repository, project: RemoteProject): RecordKeeper {
  return async (base, local, paths) => {
    const runIds = [...new Set(paths.flatMap((path) => runIdOf(path) ?? []))];
    const there = await readContexts(repository, project, base, runIds);
    const here = local === null || local === base ? null : await readContexts(repository, project, local, runIds);
    const kept = new Set<string>();
    for (const [runId, context] of there) {
      if (!context.ok) {
        if (context.isOfOtherFormat) kept.add(runId);
        continue;
      }
      const { tip } = context;
      const own = here?.get(runId);
      const isFurther = own?.ok === true && own.tip.sequence > tip.sequence;
      const isKnown = (await store.tipOf(runId)) !== null;
      if (isKnown ? (await divergence(store, runId, tip, project.id)) !== null : !isFurther) kept.add(runId);
    }
    const projects = await readRecorded(repository, project, base, paths.filter(isProjectPath), MAX_PROJECT_BYTES);
    const isKept = (path: string): boolean =>
      kept.has(runIdOf(path) ?? '') || faultOfProjectFile(projects.get(path) ?? '') !== null;
    return new Set(paths.filter(isKept));
  };
}

async function readContexts(
  repository: RecordReader,
  project: RemoteProject,
  commit: string,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, ReadContext>> {
  const contexts = new Map<string, ReadContext>();
  for (let from = 0; from < runIds.length; from += FILES_AT_ONCE) {
    const byPath = new Map(
      runIds.slice(from, from + FILES_AT_ONCE).map((id) => [`${recordFolder(id)}/${CONTEXT}`, id]),
    );
    const texts = await readRecorded(repository, project, commit, [...byPath.keys()], MAX_CONTEXT_BYTES);
    for (const [path, text] of texts) contexts.set(byPath.get(path) ?? '', readContext(text));
  }
  return contexts;
}

/** Fault of the format of a project's file in a commit of `knownRecords`, to be read after the file's name; past ones as in `readKnownTips`. */
export async function faultOfRecordedProject(
  repository: Repository,
  project: RemoteProject,
  commit: string,
): Promise<string | null> {
  const path = projectPath(project.id);
  const files = await readRecorded(repository, project, commit, [path], MAX_PROJECT_BYTES);
  const fault = faultOfProjectFile(files.get(path) ?? '');
  return fault === null || (await isContinued(repository, project, commit)) ? null : fault;
}

/** Those of these paths that are of a run, or of a project's file, that has another format in a commit of the record. */
export async function foreignPaths(
  repository: Repository,
  project: RemoteProject,
  commit: string,
  paths: readonly string[],
): Promise<ReadonlySet<string>> {
  const runIds = [...new Set(paths.flatMap((path) => runIdOf(path) ?? []))];
  const contexts = await readContexts(repository, project, commit, runIds);
  const files = await readRecorded(repository, project, commit, paths.filter(isProjectPath), MAX_PROJECT_BYTES);
  return new Set(
    paths.filter((path) => {
      const context = contexts.get(runIdOf(path) ?? '');
      return (context?.ok === false && context.isOfOtherFormat) || faultOfProjectFile(files.get(path) ?? '') !== null;
    }),
  );
}

type RecordReader = Pick<Repository, 'readBlobs' | 'recordedAt'>;

/** Texts of those of these paths that are there. Nothing is listed: a record may have any number of runs. */
async function readRecorded(
  repository: RecordReader,
  project: RemoteProject,
  commit: string,
  paths: readonly string[],
  maxBytes: number,
): Promise<ReadonlyMap<string, string>> {
  if (paths.length === 0) return new Map();
  const files = await repository.recordedAt(project, commit, paths);
  const contents = await repository.readBlobs(
    project,
    [...new Set([...files.values()].map(({ oid }) => oid))],
    maxBytes,
  );
  const texts = new Map<string, string>();
  for (const [path, { oid }] of files) {
    const content = contents.get(oid);
    if (content !== undefined) texts.set(path, content.toString('utf8'));
  }
  return texts;
}

/** Commits of the record in the mirror: its own, the remote's as last fetched where that is another one, and those of years. */
export async function knownRecords(repository: Repository, project: RemoteProject): Promise<readonly string[]> {
  return repository.recordHeads(project);
}

/** Commits of a project's record of which the database is known to have everything, as far as this format can be read. */
const comparedMark = (projectId: string): string => `record.compared.${RECORD_FORMAT}.${projectId}`;
/** Of the mirror, of the remote and of some years, and those before them. */
const COMPARED_KEPT = 16;
/** Set when this server wrote the records of all open runs of a project. */
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
 * Open runs of a project whose record a server with this database did not write, such as after a rebuild. Not asked again once
 * there are none.
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
  if (commit !== undefined) {
    const runIds = open.map(({ id }) => id);
    for (const [runId, tip] of (await readRecordedTips(repository, project, commit, runIds)).tips)
      if (!(await isOwnLog(store, project.id, runId, tip))) outdated.push(runId);
  }
  if (outdated.length === 0) await store.setMark(renewedMark(project.id), '1');
  return outdated;
}

/** All runs that a commit of the record holds. */
export async function listRecordedRuns(
  repository: Pick<Repository, 'recordedRuns'>,
  project: RemoteProject,
  commit: string,
): Promise<readonly string[]> {
  const runs = await repository.recordedRuns(project, commit, CONTEXT);
  return [...runs.keys()].filter((name) => RUN_ID.test(name));
}

/** How much is read of records that others may have written. */
export interface TipLimits {
  /** A context that is larger is passed over. */
  readonly maxBytes: number;
  /** Of all contexts; those beyond are not read, the largest first. */
  readonly maxTotalBytes: number;
  /** Nothing more is read once it is aborted. */
  readonly signal: AbortSignal;
}

export interface RecordedTips {
  /** The last recorded event of each run, by run. */
  readonly tips: ReadonlyMap<string, RecordedTip>;
  /** Runs whose record has another format, by run: a message to be read after the run's name. */
  readonly refused: ReadonlyMap<string, string>;
}

/**
 * The last recorded event of each of these runs; runs without a record are left out.
 * @param limits what is beyond them is left out
 */
export async function readRecordedTips(
  repository: Pick<Repository, 'readBlobs' | 'recordedRuns'>,
  project: RemoteProject,
  commit: string,
  runIds: readonly string[],
  limits?: TipLimits,
): Promise<RecordedTips> {
  const tips = new Map<string, RecordedTip>();
  const refused = new Map<string, string>();
  if (runIds.length === 0) return { tips, refused };
  const contexts = await repository.recordedRuns(project, commit, CONTEXT);
  // Any number of runs may name one and the same content.
  const runsOf = new Map<string, string[]>();
  const bytesOf = new Map<string, number>();
  for (const runId of new Set(runIds)) {
    const file = contexts.get(runId);
    if (file === undefined || file.bytes > (limits?.maxBytes ?? MAX_CONTEXT_BYTES)) continue;
    const same = runsOf.get(file.oid);
    if (same) same.push(runId);
    else runsOf.set(file.oid, [runId]);
    bytesOf.set(file.oid, file.bytes);
  }
  const isOver = (): boolean => limits?.signal.aborted === true;
  const oids = limits === undefined ? [...bytesOf.keys()] : smallest(bytesOf, limits.maxTotalBytes);
  for (let from = 0; from < oids.length && !isOver(); from += FILES_AT_ONCE) {
    const some = oids.slice(from, from + FILES_AT_ONCE);
    const texts = await repository.readBlobs(project, some, MAX_CONTEXT_BYTES);
    for (const oid of some) {
      if (isOver()) break;
      const text = texts.get(oid)?.toString('utf8');
      const context = text === undefined ? null : readContext(text);
      for (const runId of runsOf.get(oid) ?? [])
        if (context?.ok === true) tips.set(runId, context.tip);
        else if (context?.isOfOtherFormat === true) refused.set(runId, context.message);
      // Others wait for their turn while contents of megabytes are read.
      await setImmediate();
    }
  }
  return { tips, refused };
}

/** The smallest contents that have no more than so many bytes together. */
function smallest(bytesOf: ReadonlyMap<string, number>, maxTotalBytes: number): readonly string[] {
  let total = 0;
  return [...bytesOf]
    .sort(([, a], [, b]) => a - b)
    .filter(([, bytes]) => (total += bytes) <= maxTotalBytes)
    .map(([oid]) => oid);
}

/** Folder of a run's record. */
export function recordFolder(runId: string): string {
  return `.autonomous/runs/${runId}`;
}

/** File of a project in its record. */
export function projectPath(projectId: string): string {
  return `.autonomous/projects/${projectId}.json`;
}

function isProjectPath(path: string): boolean {
  return /^\.autonomous\/projects\/[\w-]{1,100}\.json$/.test(path);
}

function runIdOf(path: string): string | undefined {
  // Anyone with push access may have named a folder anything.
  return /^\.autonomous\/runs\/([\w-]{1,100})\//.exec(path)?.[1];
}
