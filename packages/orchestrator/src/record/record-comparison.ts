/**
 * Compares the database with the record that each project's remote has: at the start and before the first record of a
 * project is written. Works in the background, one project does not wait for another's remote, and what git has beyond
 * the database is reported and never overwritten.
 */
import { NeedsHuman, type Project } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { RecordedTip } from '../documents/run-context.ts';
import type { EventStore, IntegrityFault } from '../event-store/event-store.ts';
import { RECORD_BRANCH, type RemoteProject, type Repository } from '../repository/repository.ts';
import type { Clock } from '../engine/clock.ts';
import {
  compareTip,
  CONTEXT,
  faultOfOtherFormat,
  faultOfRecordedProject,
  findFaults,
  findOutdatedRuns,
  foreignPaths,
  knownRecords,
  listRecordedRuns,
  noteCompared,
  projectPath,
  readKnownTips,
  readRecordedTips,
  recordFolder,
  unknownRecords,
} from './record-check.ts';
import { isOwnTip, requireSeals } from './record-seal.ts';

export interface RecordComparisonOptions {
  readonly store: EventStore;
  readonly repository: Repository;
  readonly clock: Clock;
  readonly log: Logger;
  /** Id of the data folder: tells its own runs from those of other servers on the same remote. */
  readonly serverId: string;
  /** Quarantines an open run; one that has ended meanwhile stays as it is. */
  readonly quarantine: (runId: string, message: string) => Promise<void>;
  /** Called when a project's record may be written, with the runs that have to be written again. */
  readonly onKnown: (projectId: string, again: RunsToRecord) => void;
}

/** Runs whose record has to be written again, although nothing of them is new. */
export interface RunsToRecord {
  /** The remote has less of them than its mirror and the database. */
  readonly behind: readonly string[];
  /** Open runs whose record a server with this database did not write, such as after a rebuild. */
  readonly outdated: readonly string[];
}

/** Runs and events that a project's record in git has and the database does not. */
export interface RecordFinding {
  readonly projectId: string;
  readonly projectName: string;
  /** Runs that the record has and the database does not; those of other servers are left out. */
  readonly missingRuns: readonly string[];
  /** Runs whose record has more events than the database, or other ones. */
  readonly faults: readonly IntegrityFault[];
}

/** Longest wait of one comparison for a remote. After it, the project counts as not compared, and is tried again. */
const REMOTE_MS = 60_000;
/** Longest wait of a caller that wants to write. */
const PATIENCE_MS = 5_000;
const AGAIN_MS = 60_000;
/** Remotes that are asked at the same time. */
const AT_ONCE = 4;
/** Runs that a message names. */
const RUNS_NAMED = 5;

interface Watched {
  readonly name: string;
  /** Resolves with whether the record is known now. */
  attempt: Promise<boolean>;
  isKnown: boolean;
  finding: RecordFinding | null;
  /** Runs whose record has a tip that no server with this database wrote. */
  changedByOthers: readonly string[];
  /** Runs whose record has another format, by run. */
  refused: ReadonlyMap<string, string>;
  /** Those of them that the database has. */
  unreadFaults: readonly IntegrityFault[];
  /** Fault of the format of the project's own file in its record. */
  projectFault: string | null;
  /** Why the remote could not be reached; `null` when it could. */
  unreachable: string | null;
  /** Ends the wait for the next attempt; `null` while one is under way, and when the record is known. */
  tryNow: (() => void) | null;
}

type Found = Pick<Watched, 'finding' | 'changedByOthers' | 'refused' | 'unreadFaults' | 'projectFault'>;

export class RecordComparison {
  readonly #options: RecordComparisonOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #waiting: (() => void)[] = [];
  readonly #timers = new Set<() => void>();
  #running = 0;
  #stopped = false;

  constructor(options: RecordComparisonOptions) {
    this.#options = options;
  }

  /** Begins to compare all projects; resolves before the first remote has answered. */
  async start(): Promise<void> {
    let cursor: string | undefined;
    do {
      const page = await this.#options.store.listProjects(cursor, 200);
      for (const project of page.items) this.#watch(project);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
  }

  /**
   * Whether a project's record was compared. Waits up to 5 seconds for the attempt that is under way, and no longer than the
   * caller; a project that is new is compared now.
   */
  async isKnown(project: RemoteProject, signal?: AbortSignal): Promise<boolean> {
    const watched = this.#watch(project);
    if (watched.isKnown || this.#stopped || signal?.aborted === true) return watched.isKnown;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const giveUp = (): void => resolve(false);
    const cancel = this.#options.clock.after(PATIENCE_MS, giveUp);
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      return await Promise.race([watched.attempt, promise]);
    } finally {
      cancel();
      signal?.removeEventListener('abort', giveUp);
    }
  }

  /**
   * To be called before a run does anything that others see. When the last comparison failed, compares again at once: the
   * caller has just reached the project's remote, or is about to.
   * @throws {NeedsHuman} `remote_unavailable` when the record could not be compared, `record_differs` when it
   *   has more of the run than the database, or another format
   */
  async assertKnown(project: RemoteProject, runId: string, signal: AbortSignal): Promise<void> {
    const watched = this.#watch(project);
    if (!watched.isKnown) {
      watched.tryNow?.();
      const { promise, resolve } = Promise.withResolvers<false>();
      const giveUp = (): void => resolve(false);
      signal.addEventListener('abort', giveUp, { once: true });
      const isKnown = await Promise.race([watched.attempt, promise]);
      signal.removeEventListener('abort', giveUp);
      signal.throwIfAborted();
      if (!isKnown)
        throw new NeedsHuman('remote_unavailable', watched.unreachable ?? 'The record in git was not compared yet.');
    }
    if (this.#foundFault(runId, project) === null) return;
    await this.#compareNow(project, signal);
    signal.throwIfAborted();
    const fault = this.#foundFault(runId, project);
    if (fault) throw new NeedsHuman('record_differs', fault.message);
  }

  /** To be called after each commit of this server to a project's record. */
  async wrote(projectId: string, commit: string): Promise<void> {
    const watched = this.#watched.get(projectId);
    if (watched?.isKnown === true && isWhole(watched)) await this.#keepMark(projectId, [commit]);
  }

  /** To be called when a record of this server left out what others had written of its runs meanwhile. */
  compareAgain(project: RemoteProject): void {
    const watched = this.#watch(project);
    if (!watched.isKnown) return;
    watched.isKnown = false;
    this.#attempt(project, watched);
  }

  /** For each compared project: runs and events that its record in git has and the database does not. */
  get findings(): readonly RecordFinding[] {
    return [...this.#watched.values()].flatMap(({ finding }) => finding ?? []);
  }

  /** One sentence for each project with a finding, and for each whose remote could not be asked. */
  get notices(): readonly string[] {
    return [...this.#watched.values()].flatMap((watched) => this.#troublesOf(watched));
  }

  /** The same for one project, and a notice when others changed its record, which is no fault of the database. */
  noticesOf(projectId: string): readonly string[] {
    const watched = this.#watched.get(projectId);
    if (watched === undefined) return [];
    const { name, changedByOthers, refused, projectFault } = watched;
    const changed = changedByOthers.length === 0 ? [] : [describeChange(name, changedByOthers)];
    const unread =
      projectFault === null
        ? []
        : [`The file of project '${name}' in its record in git stays as it is: it ${projectFault}`];
    return [...this.#troublesOf(watched), ...changed, ...describeRefused(name, refused), ...unread];
  }

  #troublesOf({ finding, unreachable }: Watched): readonly string[] {
    return [...(finding === null ? [] : [describeFinding(finding)]), ...(unreachable === null ? [] : [unreachable])];
  }

  /**
   * Compares a run with its record in the mirror, and where that contradicts it, with the remote's as it is now: a person may have
   * put it right there.
   * @returns `null` when it continues the record, or has none
   */
  async faultOf(runId: string, projectId: string): Promise<IntegrityFault | null> {
    const project = projectId === '' ? null : await this.#options.store.getProject(projectId);
    if (project === null || (await this.#faultNow(runId, project)) === null) return null;
    await this.#compareNow(project);
    return this.#faultNow(runId, project);
  }

  async #faultNow(runId: string, project: RemoteProject): Promise<IntegrityFault | null> {
    const { store, repository } = this.#options;
    const found = this.#foundFault(runId, project);
    return found ?? (await findFaults(store, repository, project, [runId])).get(runId) ?? null;
  }

  /** Of the last comparison. */
  #foundFault(runId: string, project: RemoteProject): IntegrityFault | null {
    const { finding, unreadFaults } = this.#watch(project);
    return [...(finding?.faults ?? []), ...unreadFaults].find((fault) => fault.runId === runId) ?? null;
  }

  /** Waits no longer than `isKnown`. */
  async #compareNow(project: RemoteProject, signal?: AbortSignal): Promise<void> {
    this.compareAgain(project);
    this.#watch(project).tryNow?.();
    await this.isKnown(project, signal);
  }

  #watch(project: RemoteProject): Watched {
    const known = this.#watched.get(project.id);
    if (known) return known;
    const watched: Watched = {
      name: nameOf(project),
      attempt: Promise.resolve(false),
      isKnown: false,
      finding: null,
      changedByOthers: [],
      refused: new Map(),
      unreadFaults: [],
      projectFault: null,
      unreachable: null,
      tryNow: null,
    };
    this.#watched.set(project.id, watched);
    this.#attempt(project, watched);
    return watched;
  }

  #attempt(project: RemoteProject, watched: Watched): void {
    watched.attempt = this.#inTurn(() => this.#compare(project, watched));
    void watched.attempt.then((isKnown) => {
      if (isKnown || this.#stopped) return;
      const again = (): void => {
        this.#timers.delete(cancel);
        watched.tryNow = null;
        this.#attempt(project, watched);
      };
      const cancel = this.#options.clock.after(AGAIN_MS, again);
      this.#timers.add(cancel);
      watched.tryNow = () => {
        cancel();
        again();
      };
    });
  }

  async #inTurn(work: () => Promise<boolean>): Promise<boolean> {
    if (this.#running >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      return this.#stopped ? false : await work();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #compare(project: RemoteProject, watched: Watched): Promise<boolean> {
    const { log } = this.#options;
    try {
      const remote = await this.#withinTime((signal) => this.#options.repository.fetchRecord(project, signal));
      let commits = await knownRecords(this.#options.repository, project);
      Object.assign(watched, await this.#find(project));
      if (await this.#takeBack(project, remote, watched)) {
        commits = await knownRecords(this.#options.repository, project);
        Object.assign(watched, await this.#find(project));
      }
      const { changedByOthers } = watched;
      if (changedByOthers.length > 0)
        log.warn({ projectId: project.id }, describeChange(nameOf(project), changedByOthers));
      watched.isKnown = true;
      watched.unreachable = null;
      await this.#tell(project.id, watched, commits);
      this.#options.onKnown(project.id, {
        behind: await this.#behind(project, remote),
        outdated: await findOutdatedRuns(this.#options.store, this.#options.repository, project),
      });
      return true;
    } catch (error) {
      if (this.#stopped) return false;
      const why = error instanceof Error ? error.message : String(error);
      const isNew = watched.unreachable === null;
      watched.unreachable = `The record of project '${nameOf(project)}' in git could not be compared with the database: ${why}. Until it is, this project's record is not written; it is tried again every minute.`;
      if (isNew) log.warn({ projectId: project.id }, watched.unreachable);
      return false;
    }
  }

  async #find(project: RemoteProject): Promise<Found> {
    const { store, repository } = this.#options;
    const missing = new Set<string>();
    const faults = new Map<string, IntegrityFault>();
    const changed = new Set<string>();
    const unread = new Map<string, string>();
    const unreadFaults = new Map<string, IntegrityFault>();
    let projectFault: string | null = null;
    for (const commit of await unknownRecords(store, repository, project)) {
      const runIds = await listRecordedRuns(repository, project, commit);
      const { tips, refused } = await readKnownTips(repository, project, commit, runIds);
      projectFault ??= await faultOfRecordedProject(repository, project, commit);
      for (const [runId, message] of refused) {
        unread.set(runId, message);
        const fault = await faultOfOtherFormat(store, runId, message);
        if (fault) unreadFaults.set(runId, fault);
      }
      for (const [runId, tip] of tips) {
        const isUnknown = (await store.tipOf(runId)) === null;
        if (isUnknown && (await this.#isOwn(runId, tip))) missing.add(runId);
        const fault = isUnknown ? null : await compareTip(store, runId, tip, project.id);
        if (fault === 'changed by others') changed.add(runId);
        else if (fault && !faults.has(runId)) faults.set(runId, fault);
      }
    }
    const finding = {
      projectId: project.id,
      projectName: nameOf(project),
      missingRuns: [...missing].sort(),
      faults: [...faults.values()],
    };
    const hasFound = missing.size > 0 || faults.size > 0;
    return {
      finding: hasFound ? finding : null,
      changedByOthers: [...changed].sort(),
      refused: unread,
      unreadFaults: [...unreadFaults.values()],
      projectFault,
    };
  }

  /**
   * Takes out of the mirror's own record what has another format there and not on the remote, whose branch was set back.
   * @returns whether something was
   */
  async #takeBack(project: RemoteProject, remote: string | null, { refused, projectFault }: Found): Promise<boolean> {
    const { repository } = this.#options;
    if (refused.size === 0 && projectFault === null) return false;
    const own = await repository.branchHead(project, RECORD_BRANCH);
    if (own === null || own === remote) return false;
    const paths = [...[...refused.keys()].map((runId) => `${recordFolder(runId)}/${CONTEXT}`), projectPath(project.id)];
    const here = await foreignPaths(repository, project, own, paths);
    const there = remote === null ? new Set<string>() : await foreignPaths(repository, project, remote, paths);
    const undone = [...here].filter((path) => !there.has(path)).map((path) => path.replace(`/${CONTEXT}`, ''));
    if (undone.length > 0) await repository.restoreRecord(project, undone, remote);
    return undone.length > 0;
  }

  /** Whether this server wrote a run's record: by its seal, or as far as the record says so. Others on the same remote have runs of their own. */
  async #isOwn(runId: string, tip: RecordedTip): Promise<boolean> {
    const { store, serverId } = this.#options;
    return tip.server === serverId || isOwnTip(store, runId, tip);
  }

  /** Runs of the mirror's record of which the remote has less, because its branch was rewritten or removed. */
  async #behind(project: RemoteProject, remote: string | null): Promise<readonly string[]> {
    const { store, repository } = this.#options;
    const own = await repository.branchHead(project, RECORD_BRANCH);
    if (own === null || own === remote || (remote !== null && (await repository.isAncestor(project, own, remote))))
      return [];
    const runIds = await listRecordedRuns(repository, project, own);
    const there =
      remote === null ? new Map<string, never>() : (await readRecordedTips(repository, project, remote, runIds)).tips;
    const behind: string[] = [];
    for (const runId of runIds) {
      const tip = await store.tipOf(runId);
      if (tip !== null && (there.get(runId)?.sequence ?? 0) < tip.sequence) behind.push(runId);
    }
    return behind;
  }

  /** @param commits all of the record that were compared */
  async #tell(projectId: string, found: Found, commits: readonly string[]): Promise<void> {
    const { store, log, quarantine } = this.#options;
    const { finding, unreadFaults } = found;
    if (finding === null) await requireSeals(store, projectId);
    else log.warn({ projectId, missingRuns: finding.missingRuns.length }, describeFinding(finding));
    if (isWhole(found)) await this.#keepMark(projectId, commits);
    for (const { runId, message } of [...(finding?.faults ?? []), ...unreadFaults]) {
      const head = await store.loadHead(runId);
      if (head === null) continue;
      await quarantine(runId, message).catch((error: unknown) =>
        log.error({ err: error, runId }, 'a run whose record in git is newer could not be quarantined'),
      );
    }
  }

  /** Only saves work at the next start, which compares everything where the mark is missing. */
  async #keepMark(projectId: string, commits: readonly string[]): Promise<void> {
    const { store, log } = this.#options;
    await noteCompared(store, projectId, commits).catch((error: unknown) =>
      log.warn({ err: error, projectId }, 'the position up to which a record was compared could not be stored'),
    );
  }

  /** Ends a request to a remote after REMOTE_MS, so that a silent remote does not hold up the requests behind it. */
  async #withinTime<Result>(ask: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const ending = new AbortController();
    const end = (why: string): void => ending.abort(new Error(why));
    const cancel = this.#options.clock.after(REMOTE_MS, () =>
      end(`its remote did not answer within ${REMOTE_MS / 1_000} seconds`),
    );
    const stop = (): void => {
      cancel();
      end('the server stops');
    };
    this.#timers.add(stop);
    try {
      return await ask(ending.signal);
    } finally {
      cancel();
      this.#timers.delete(stop);
    }
  }
}

/** Describes a finding in two sentences: the surplus of git, and the way out. */
export function describeFinding({ projectName, missingRuns, faults }: RecordFinding): string {
  const parts = [
    ...(missingRuns.length === 0
      ? []
      : [`${count(missingRuns.length, 'run')} that this database does not have (${named(missingRuns)})`]),
    ...(faults.length === 0
      ? []
      : [
          `other or newer events of ${count(faults.length, 'run')} (${named(faults.map((fault) => fault.runId))}), which ${faults.length === 1 ? 'is' : 'are'} quarantined if open`,
        ]),
  ];
  return `The record of project '${projectName}' in git has ${parts.join(', and ')}: this database is an older copy, or was recreated. Stop the server and restore the newest copy of its data folder, or continue without them: they stay on the branch autonomous/record.`;
}

function describeChange(project: string, runIds: readonly string[]): string {
  return `The record of ${count(runIds.length, 'run')} of project '${project}' in git was changed by others (${named(runIds)}): this server did not write its content. The runs continue, and their next record replaces it on the branch autonomous/record.`;
}

/**
 * One sentence for each other format in which runs are recorded.
 * @param refused of `readRecordedTips`
 */
export function describeRefused(project: string, refused: ReadonlyMap<string, string>): readonly string[] {
  const byMessage = Map.groupBy(refused.keys(), (runId) => refused.get(runId) ?? '');
  return [...byMessage].map(
    ([message, runIds]) =>
      `The record of project '${project}' in git has ${count(runIds.length, 'run')} of another format (${named(runIds)}), not read here and not written over; open ones are quarantined. Of each, ${message}`,
  );
}

/** Nothing is left to be told again at the next start. */
function isWhole({ finding, refused, projectFault }: Found): boolean {
  return finding === null && refused.size === 0 && projectFault === null;
}

function count(figure: number, what: string): string {
  return `${figure} ${what}${figure === 1 ? '' : 's'}`;
}

function named(runIds: readonly string[]): string {
  const rest = runIds.length - RUNS_NAMED;
  return `${runIds.slice(0, RUNS_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function nameOf(project: RemoteProject & Partial<Pick<Project, 'name'>>): string {
  return project.name ?? project.id;
}
