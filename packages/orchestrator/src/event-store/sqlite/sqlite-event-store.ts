/** The event store on SQLite: one file, one writer, many runs to a commit. Reads see what is on disk and nothing else. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Clarification,
  FINAL_STATUSES,
  foldRun,
  type Gate,
  type JsonObject,
  type JsonValue,
  type Page,
  type Project,
  type RunFilter,
  type RunStatus,
  type RunView,
  Unavailable,
  Unprocessable,
  type WorkflowEvent,
} from '@autonomous/shared';
import type {
  AttemptBooking,
  EventStore,
  IntegrityFault,
  NewEvent,
  RequestedStep,
  RunCommit,
  RunHead,
  RunTip,
  StoredActivity,
  StoredRun,
  StoredSession,
  StoredTimer,
  SummarizedRun,
  SummaryFilter,
} from '../event-store.ts';
import type { ChainedStep } from '../../documents/event-log.ts';
import { exportRun } from './integrity/export-run.ts';
import { lostFile } from './file-identity.ts';
import { CHAIN_START } from '../hash-chain.ts';
import type { StepRow } from './packed-steps.ts';
import { type RunSummary, SUMMARY_VERSION } from '../run-summary.ts';
import { readGate } from './views/partial-view.ts';
import { type SqliteDatabase, type SqliteFile, openDatabase } from './sqlite-database.ts';
import { explainSqliteError, sqliteCode } from './sqlite-errors.ts';
import type { SqliteLists } from './views/sqlite-lists.ts';
import type { RunRow } from './views/run-row.ts';
import { DamagedRun, type FoldedView, StoredRuns, readWhatCanBeRead } from './views/stored-runs.ts';
import { type FoldedSummary, StoredSummaries, type SummaryRow } from './views/stored-summaries.ts';
import { toIso, toMilliseconds } from './times.ts';
import { type StoreStatistics, WriteQueue } from './writer/write-queue.ts';
import type { ClarificationRow, StepWrite, WriterFaults } from './writer/writes.ts';

const DEFAULT_EVENTS = 500;
const KEEP_ANSWERS_MS = 7 * 24 * 60 * 60 * 1_000;
/** Events that had to be folded before the view is worth being stored whole. */
const WORTH_STORING = 16;
/** Views that wait for a commit to go with. */
const MAX_VIEWS_TO_STORE = 64;
/** Work between two turns of the event loop. */
const TIPS_PER_TURN = 100;
const STEPS_PER_TURN = 500;
const SUMMARIES_PER_TURN = 250;
const EVENTS_PER_TURN = 2_000;

export interface SqliteEventStoreOptions extends SqliteFile {
  /**
   * Where writing happens: in a thread of its own; in this one, which `:memory:` needs; or (default) in the thread but for
   * what is small, comes alone and finds a quick disk.
   */
  readonly writer?: 'nearest' | 'thread' | 'inline' | undefined;
  /** For tests and benches. */
  readonly faults?: WriterFaults | undefined;
  /** Told once why nothing can be stored any more (the disk failed, another server took over): only a restart helps then. */
  readonly onStopped?: ((reason: Error) => void) | undefined;
}

/**
 * Opens or makes the database in `file` and holds it alone until `close`.
 * @throws {Unavailable} another server uses it, it cannot be written, or it is no database or damaged
 * @throws {InvalidRequest} it is a database of another program or of a newer version; it is left as it was
 * @throws {StorageFull}
 */
export function openSqliteEventStore(options: SqliteEventStoreOptions): SqliteEventStore {
  const { maxBytes, writer = 'nearest', faults, onStopped } = options;
  const database = openDatabase(options);
  const { connection, path, epoch, identity } = database;
  if (writer !== 'inline' && connection.memory) {
    database.close();
    throw new TypeError("a database in memory needs writer: 'inline'");
  }
  return new SqliteEventStore(database, openQueue());

  function openQueue(): WriteQueue {
    const data = {
      file: path,
      maxBytes,
      epoch,
      identity,
      faults,
      triedCommits: new Int32Array(new SharedArrayBuffer(4)),
    };
    switch (writer) {
      case 'nearest':
        return WriteQueue.nearest(connection, data, onStopped);
      case 'thread':
        return WriteQueue.inThread(data, onStopped);
      case 'inline':
        return WriteQueue.inline(connection, data, onStopped);
      default:
        return writer satisfies never;
    }
  }
}

export class SqliteEventStore implements EventStore {
  readonly feedId: string;
  readonly epoch: number;
  readonly #database: SqliteDatabase;
  readonly #queue: WriteQueue;
  readonly #runs: StoredRuns;
  readonly #summaries: StoredSummaries;
  readonly #statements: ReturnType<typeof prepareStatements>;
  #lists: Promise<SqliteLists> | undefined;
  /** Views that readers folded, by number of the run, until the next commit. */
  readonly #views = new Map<number, FoldedView>();
  #closed: Promise<void> | undefined;

  constructor(database: SqliteDatabase, queue: WriteQueue) {
    this.feedId = database.feedId;
    this.epoch = database.epoch;
    this.#database = database;
    this.#queue = queue;
    this.#runs = new StoredRuns(database.connection);
    this.#summaries = new StoredSummaries(database.connection, this.#runs);
    this.#statements = prepareStatements(database.connection);
  }

  async whyNothingIsStored(): Promise<Error | null> {
    const { path, identity } = this.#database;
    const lost = identity === undefined ? null : lostFile(path, identity);
    if (lost !== null) this.refuse(new Unavailable(lost.message));
    if (this.#queue.stopped !== undefined) return this.#queue.stopped;
    if (!this.#queue.isFull) return null;
    // There may be room again: only a write finds out.
    return this.setMark('store.tried', new Date().toISOString()).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
  }

  /** From here on nothing is stored. The first reason counts. */
  refuse(reason: Error): void {
    this.#queue.refuse(reason);
  }

  // Not async: the hottest call there is needs no second promise.
  append(commit: RunCommit): Promise<readonly WorkflowEvent[]> {
    let write: StepWrite;
    try {
      write = toStepWrite(commit);
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#views.size > 0) this.#storeViews();
    return this.#queue.write(write, (position) => toStoredEvents(commit, position));
  }

  async appendAll(commits: readonly RunCommit[]): Promise<void> {
    if (commits.length === 0) return;
    assertFollowing(commits);
    return this.#queue.write({ kind: 'steps', steps: commits.map(toStepWrite) }, () => undefined);
  }

  async readRun(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]> {
    return this.#readAtOnce(() => {
      const run = this.#runs.find(runId);
      return run === undefined ? [] : this.#runs.events(run, after, limit);
    });
  }

  async readHistory(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]> {
    return this.#readAtOnce(() => {
      const run = this.#runs.find(runId);
      return run === undefined ? [] : this.#runs.events(run, after, limit, readWhatCanBeRead);
    });
  }

  async readSteps(runId: string): Promise<readonly ChainedStep[]> {
    return this.#readAtOnce(() => {
      const run = this.#runs.find(runId);
      return run === undefined ? [] : this.#runs.chain(run);
    });
  }

  async readAll(after: number, limit = DEFAULT_EVENTS): Promise<readonly WorkflowEvent[]> {
    return this.#read(() => {
      const events: WorkflowEvent[] = [];
      let last = after;
      for (const { runId, ...step } of this.#stepsOfAll(after, limit)) {
        for (const event of readWhatCanBeRead(runId, step)) {
          // A damaged step may seem to have more events than it had.
          if (event.position <= last) continue;
          if (events.length >= limit) return events;
          events.push(event);
          last = event.position;
        }
      }
      return events;
    });
  }

  async lastPosition(): Promise<number> {
    return this.#read(() => this.#statements.lastPosition.get() ?? 0);
  }

  async archivedPosition(): Promise<number> {
    return Number((await this.getMark('store.archived_position')) ?? 0);
  }

  async loadRun(runId: string): Promise<StoredRun | null> {
    return this.#readAtOnce(() => {
      const run = this.#runs.find(runId);
      if (run === undefined) return null;
      return { ...this.#runs.load(run), activities: this.#activitiesOf(run), timers: this.#timersOf(run) };
    });
  }

  async loadView(runId: string): Promise<RunView | null> {
    return this.#readAtOnce(() => {
      const run = this.#runs.find(runId);
      return run === undefined ? null : this.#viewOf(run);
    });
  }

  async listRuns(filter: RunFilter): Promise<Page<RunView>> {
    const lists = await this.#loadLists();
    return this.#readAtOnce(() => {
      const { items, nextCursor } = lists.runIds(filter);
      const runs = items.flatMap((id) => this.#runs.find(id) ?? []);
      return { items: runs.map((run) => this.#viewOf(run)), nextCursor };
    });
  }

  async summarizeRuns({
    projectId,
    workflow,
    endedSince,
    madeBefore,
  }: SummaryFilter): Promise<readonly SummarizedRun[]> {
    const range = {
      projectId: projectId ?? null,
      workflow: workflow ?? null,
      endedSince: toMilliseconds(endedSince),
      madeBefore: toMilliseconds(madeBefore),
    };
    const summarized: SummarizedRun[] = [];
    for (let after = 0; ;) {
      const rows = this.#read(() => this.#summaries.page(range, after, SUMMARIES_PER_TURN));
      for (const row of rows) summarized.push(toSummarized(row, await this.#summaryOf(row)));
      if (rows.length < SUMMARIES_PER_TURN) return summarized;
      after = rows.at(-1)?.number ?? after;
      await nextTurn();
    }
  }

  async loadHead(runId: string): Promise<RunHead | null> {
    const run = this.#read(() => this.#statements.head.get(runId));
    return run === undefined ? null : { ...run, updatedAt: toIso(run.updatedAt) };
  }

  async listOpenRuns(status?: RunStatus): Promise<readonly RunHead[]> {
    const runs = this.#read(() => this.#statements.openRuns.all({ status: status ?? null }));
    return runs.map((run) => ({ ...run, updatedAt: toIso(run.updatedAt) }));
  }

  async listChildren(parentId?: string): Promise<readonly RunHead[]> {
    const { childrenOf, openChildren } = this.#statements;
    const runs = this.#read(() => (parentId === undefined ? openChildren.all() : childrenOf.all(parentId)));
    return runs.map((run) => ({ ...run, updatedAt: toIso(run.updatedAt) }));
  }

  async listGates(): Promise<readonly Gate[]> {
    return this.#read(() => this.#statements.gates.all().flatMap((gate) => readGate(gate) ?? []));
  }

  async listClarifications(status?: Clarification['status']): Promise<readonly Clarification[]> {
    const lists = await this.#loadLists();
    return this.#read(() => lists.clarifications(status));
  }

  async runsWithActivities(): Promise<readonly string[]> {
    return this.#read(() => this.#statements.runsWithActivities.all());
  }

  async openKeys(runId: string): ReturnType<EventStore['openKeys']> {
    return this.#readAtOnce(() => {
      const { number = -1 } = this.#runs.find(runId) ?? {};
      const range = [`${runId}/`, `${runId}0`, number] as const;
      const keysOf = (rows: readonly { readonly key: string }[]) => rows.map(({ key }) => key);
      const { activitiesOfRun, timersOfRun } = this.#statements;
      return { activities: keysOf(activitiesOfRun.all(...range)), timers: keysOf(timersOfRun.all(...range)) };
    });
  }

  async openActivities(runId?: string): Promise<readonly StoredActivity[]> {
    return this.#readAtOnce(() => {
      if (runId === undefined) return this.#statements.activities.all().map(toActivity);
      const run = this.#runs.find(runId);
      return run === undefined ? [] : this.#activitiesOf(run);
    });
  }

  async openTimers(runId?: string): Promise<readonly StoredTimer[]> {
    return this.#readAtOnce(() => {
      if (runId === undefined) return this.#statements.timers.all().map(toTimer);
      const run = this.#runs.find(runId);
      return run === undefined ? [] : this.#timersOf(run);
    });
  }

  async dueTimers(now: string): Promise<readonly StoredTimer[]> {
    return this.#read(() => this.#statements.dueTimers.all(toMilliseconds(now)).map(toTimer));
  }

  async nextTimer(after?: string): Promise<string | null> {
    const from = after === undefined ? Number.MIN_SAFE_INTEGER : toMilliseconds(after);
    const dueAt = this.#read(() => this.#statements.nextTimer.get(from));
    return dueAt === undefined || dueAt === null ? null : toIso(dueAt);
  }

  async updateAttempt(key: string, { attempt, failures, notBefore }: AttemptBooking): Promise<void> {
    const until = notBefore === null ? null : toMilliseconds(notBefore);
    return this.#queue.write({ kind: 'attempt', key, attempt, failures, notBefore: until }, () => undefined);
  }

  async heartbeat(key: string, attempt: number, details: JsonValue): Promise<void> {
    return this.#queue.write({ kind: 'heartbeat', key, attempt, details: JSON.stringify(details) }, () => undefined);
  }

  async saveProject(project: Project): Promise<void> {
    const { id, name, repository, baseBranch } = project;
    const createdAt = toMilliseconds(project.createdAt);
    return this.#queue.write({ kind: 'project', id, name, repository, baseBranch, createdAt }, () => undefined);
  }

  async removeProject(id: string): Promise<void> {
    return this.#queue.write({ kind: 'project-removal', id }, () => undefined);
  }

  async getProject(id: string): Promise<Project | null> {
    return this.#read(() => toProject(this.#statements.project.get(id)));
  }

  async findProject(repository: string, name: string): Promise<Project | null> {
    return this.#read(() => toProject(this.#statements.projectByRepository.get(repository, name)));
  }

  async listProjects(cursor: string | undefined, limit: number): Promise<Page<Project>> {
    const lists = await this.#loadLists();
    return this.#read(() => lists.projects(cursor, limit));
  }

  async recall(key: string): ReturnType<EventStore['recall']> {
    return this.#read(() => this.#statements.answer.get(key) ?? null);
  }

  async recallStep(key: string): Promise<RequestedStep | null> {
    return this.#read(() => this.#statements.requestedStep.get(key) ?? null);
  }

  async remember(key: string, answer: Parameters<EventStore['remember']>[1], at: string): Promise<void> {
    const createdAt = toMilliseconds(at);
    const { requestHash, status, body } = answer;
    const forgetBefore = createdAt - KEEP_ANSWERS_MS;
    return this.#queue.write(
      { kind: 'answer', key, requestHash, status, body, createdAt, forgetBefore },
      () => undefined,
    );
  }

  async findSession(hash: string): Promise<StoredSession | null> {
    const session = this.#read(() => this.#statements.session.get(hash));
    return session === undefined ? null : { ...session, expiresAt: toIso(session.expiresAt) };
  }

  async beginSession({ hash, userId, expiresAt }: StoredSession, at: string, atMost: number): Promise<void> {
    const times = { expiresAt: toMilliseconds(expiresAt), now: toMilliseconds(at) };
    return this.#queue.write({ kind: 'session', hash, userId, ...times, keep: atMost }, () => undefined);
  }

  async renewSession(session: Pick<StoredSession, 'hash' | 'expiresAt'>, at: string): Promise<void> {
    const times = { expiresAt: toMilliseconds(session.expiresAt), now: toMilliseconds(at) };
    return this.#queue.write({ kind: 'session-renewal', hash: session.hash, ...times }, () => undefined);
  }

  async endSessions(userId: string, hash?: string): Promise<number> {
    return this.#queue.write({ kind: 'session-end', userId, hash: hash ?? null }, (count) => count);
  }

  async tipOf(runId: string, at?: number): Promise<RunTip | null> {
    return this.#read(() => {
      const run = this.#runs.find(runId);
      if (run === undefined) return null;
      return at === undefined ? this.#runs.tipOf(run) : this.#runs.stepEndingAt(run, at);
    });
  }

  async verifyTips(): Promise<readonly IntegrityFault[]> {
    const faults: IntegrityFault[] = [];
    const open = this.#read(() => this.#runs.openRuns());
    for (let next = 0; next < open.length; next += TIPS_PER_TURN) {
      this.#readAtOnce(() => {
        for (const number of open.slice(next, next + TIPS_PER_TURN)) {
          const run = this.#runs.findNumber(number);
          const fault = run === undefined ? null : this.#runs.checkTip(run);
          if (run !== undefined && fault !== null) faults.push({ runId: run.id, ...fault });
        }
      });
      await nextTurn();
    }
    return faults;
  }

  async verifyRun(runId: string): Promise<IntegrityFault | null> {
    let last = CHAIN_START;
    for (;;) {
      const page = this.#readAtOnce(() => {
        // It may have gone on, or been archived, since the page before.
        const run = this.#runs.find(runId);
        return run === undefined ? null : this.#runs.checkPage(run, last, STEPS_PER_TURN);
      });
      if (page === null) return null;
      if (page.fault !== null) return { runId, ...page.fault };
      if (page.isEnd) return null;
      last = page.last;
      await nextTurn();
    }
  }

  async archive(endedBefore: string, limit: number): Promise<number> {
    const before = toMilliseconds(endedBefore);
    let packed = 0;
    let place = { completedAt: Number.MIN_SAFE_INTEGER, number: 0 };
    while (packed < limit) {
      const next = this.#readAtOnce(() => {
        const [run] = this.#runs.finishedRuns(before, place, 1);
        return run ?? null;
      });
      if (next === null) break;
      const { id, number, lastSequence } = next;
      place = { completedAt: next.completedAt ?? 0, number };
      // A damaged one stays where it is, for whoever repairs it.
      if ((await this.verifyRun(id)) !== null) continue;
      const folded = await this.#foldInTurns(id);
      if (folded?.lastSequence !== lastSequence) continue;
      const view = JSON.stringify(folded);
      packed += await this.#queue.write(
        { kind: 'archive', run: number, sequence: lastSequence, view },
        (count) => count,
      );
    }
    return packed;
  }

  /**
   * Takes the payload of an event away for good, such as a secret that leaked; its hash stays, so that the chain holds.
   * Readers find an empty payload, views are folded without it. States and snapshots that were made of it stay as they are.
   * @throws {Conflict} when there is no such event
   */
  async erase(runId: string, sequence: number): Promise<void> {
    await this.#queue.write({ kind: 'erase', runId, sequence }, () => undefined);
  }

  async exportRun(runId: string): Promise<JsonObject> {
    return this.#readAtOnce(() => exportRun(this.#database.connection, runId));
  }

  async getMark(name: string): Promise<string | null> {
    return this.#read(() => this.#statements.mark.get(name) ?? null);
  }

  async setMark(name: string, value: string): Promise<void> {
    return this.#queue.write({ kind: 'mark', name, value }, () => undefined);
  }

  statistics(): StoreStatistics {
    return this.#queue.statistics();
  }

  close(): Promise<void> {
    this.#closed ??= this.#queue.close().then(() => this.#database.close());
    return this.#closed;
  }

  #read<Result>(query: () => Result): Result {
    const { connection } = this.#database;
    if (this.#closed !== undefined) throw new Unavailable(`${connection.name} is closed; this server is stopping.`);
    try {
      return query();
    } catch (error) {
      if (error instanceof DamagedRun) throw new Unprocessable(error.message, { cause: error });
      throw explainSqliteError(error, connection.name);
    }
  }

  #readAtOnce<Result>(query: () => Result): Result {
    return this.#read(() => this.#runs.atOnce(query));
  }

  /** A page of the file that is lost takes no steps on other pages with it. */
  #stepsOfAll(after: number, limit: number): readonly PositionedStep[] {
    const { steps, stepAt, lastPosition } = this.#statements;
    try {
      return steps.all(after, limit);
    } catch (error) {
      if (sqliteCode(error)?.startsWith('SQLITE_CORRUPT') !== true) throw error;
    }
    const readable: PositionedStep[] = [];
    const last = lastPosition.get() ?? 0;
    for (let position = after + 1; position <= last && readable.length < limit; position += 1) {
      try {
        const step = stepAt.get(position);
        if (step !== undefined) readable.push(step);
      } catch {
        // It is on the lost page; verify names its run.
      }
    }
    return readable;
  }

  /** The view of a run, however long, while others have their turns; `null` where its beginning is not known. */
  async #foldInTurns(runId: string): Promise<RunView | null> {
    let view: RunView | null = null;
    for (let after = 0; ;) {
      const events = await this.readRun(runId, after, STEPS_PER_TURN);
      for (const event of events) view = foldRun(view, event);
      if (events.length < STEPS_PER_TURN) return view;
      after += events.length;
      await nextTurn();
    }
  }

  #viewOf(run: RunRow): RunView {
    const folded = this.#runs.view(run);
    if (folded.folded !== null && folded.folded >= WORTH_STORING && this.#views.size < MAX_VIEWS_TO_STORE) {
      this.#views.set(run.number, folded);
    }
    return folded.view;
  }

  /** The figures of a run after its last event: what is kept of them, and what came since, while others have their turns. */
  async #summaryOf(row: SummaryRow): Promise<RunSummary> {
    const kept = this.#summaries.kept(row);
    let folded = kept;
    while (folded.sequence < row.lastSequence) {
      let next: FoldedSummary;
      try {
        next = this.#readAtOnce(() => this.#summaries.update(row, folded, EVENTS_PER_TURN));
      } catch (error) {
        // A damaged run does not affect the figures of other runs.
        if (error instanceof Unprocessable) return folded.summary;
        throw error;
      }
      if (next === folded) break;
      folded = next;
      await nextTurn();
    }
    if (folded !== kept) this.#keepSummary(row.number, folded);
    return folded.summary;
  }

  /** Stores a summary. A failure only costs the next call time. */
  #keepSummary(run: number, { summary, sequence }: FoldedSummary): void {
    const write = {
      kind: 'summary',
      run,
      version: SUMMARY_VERSION,
      sequence,
      summary: JSON.stringify(summary),
    } as const;
    void this.#queue.write(write, () => undefined).catch(() => undefined);
  }

  /** Stores the views that readers folded with the next commit. A failure only costs later readers time. */
  #storeViews(): void {
    for (const [run, { view }] of this.#views) {
      const write = { kind: 'view', run, sequence: view.lastSequence, view: JSON.stringify(view) } as const;
      void this.#queue.write(write, () => undefined).catch(() => undefined);
    }
    this.#views.clear();
  }

  #activitiesOf({ id, number }: RunRow): readonly StoredActivity[] {
    const rows = this.#statements.activitiesOfRun.all(`${id}/`, `${id}0`, number);
    return rows.map((row) => toActivity({ ...row, runId: id })).sort(byStart);
  }

  #timersOf({ id, number }: RunRow): readonly StoredTimer[] {
    const rows = this.#statements.timersOfRun.all(`${id}/`, `${id}0`, number);
    return rows.map(toTimer);
  }

  #loadLists(): Promise<SqliteLists> {
    this.#lists ??= import('./views/sqlite-lists.ts').then(({ listsOf }) => listsOf(this.#database.connection));
    return this.#lists;
  }
}

/** A step of another run, or one that leaves a gap, would be found in the middle of the transaction. */
function assertFollowing(commits: readonly RunCommit[]): void {
  for (const [index, { runId, expectedSequence }] of commits.entries()) {
    const before = commits[index - 1];
    if (before === undefined) continue;
    const end = before.expectedSequence + before.events.length;
    if (runId !== before.runId || expectedSequence !== end)
      throw new Error(
        `A step of run ${runId} after event ${expectedSequence} does not follow event ${end} of run ${before.runId}`,
      );
  }
}

/** @throws {RangeError} for a time that is none */
function toStepWrite(commit: RunCommit): StepWrite {
  const { runId, expectedSequence, view, events, snapshot } = commit;
  assertWellFormed(commit);
  const last = events.at(-1);
  const at = toMilliseconds(last === undefined ? view.updatedAt : last.timestamp);
  const updatedAt = toMilliseconds(view.updatedAt);
  const isFinal = FINAL_STATUSES.has(view.status);
  return {
    kind: 'step',
    runId,
    expectedSequence,
    at,
    events: toFields(events, at),
    withheld: toWithheld(events),
    context: commit.context === undefined ? null : JSON.stringify(commit.context),
    status: view.status,
    stage: view.currentStage,
    gate: view.gate === null ? null : JSON.stringify(view.gate),
    updatedAt,
    completedAt: isFinal ? toMilliseconds(view.completedAt ?? view.updatedAt) : null,
    start:
      expectedSequence > 0
        ? null
        : {
            projectId: view.projectId,
            userId: view.userId,
            workflow: view.workflow.name,
            explorationId: view.explorationId ?? null,
            treeId: view.treeId ?? null,
            parentId: view.parent?.runId ?? null,
            createdAt: toMilliseconds(view.createdAt),
          },
    startActivities: commit.startActivities.map(({ key, activity, src, input, startedAt, waits }) => ({
      key,
      activity,
      src,
      input: JSON.stringify(input),
      startedAt: toMilliseconds(startedAt),
      attempt: waits === true ? 0 : 1,
    })),
    endActivities: commit.endActivities,
    setTimers: commit.setTimers.map(({ key, event, dueAt }, place) => ({
      key,
      event,
      dueAt: toMilliseconds(dueAt),
      place,
    })),
    clearTimers: commit.clearTimers,
    clarifications: commit.clarifications.map(toClarificationRow),
    request: commit.request === undefined ? null : { ...commit.request, forgetBefore: at - KEEP_ANSWERS_MS },
    snapshot: snapshot === undefined ? null : { data: JSON.stringify(snapshot), view: JSON.stringify(view) },
  };
}

function toFields(events: readonly NewEvent[], at: number): StepWrite['events'] {
  const fields: (string | number)[] = [];
  for (const { type, origin, json, timestamp } of events) {
    const ms = toMilliseconds(timestamp);
    fields.push(JSON.stringify(type), origin === 'emitted' ? 1 : 0, json, ms === at ? 0 : ms);
  }
  return fields;
}

/** By the index of the event. */
function toWithheld(events: readonly NewEvent[]): StepWrite['withheld'] {
  if (events.every(({ withheld }) => withheld === undefined)) return null;
  const withheld = events.flatMap(({ withheld: known }, index) =>
    known === undefined
      ? []
      : [{ index, payloadHash: known.payloadHash, mark: known.why === 'erased' ? 1 : 2 } as const],
  );
  return withheld;
}

/** A view that disagrees with its events would stay wrong for ever, unseen; a key of another run would not be found. */
function assertWellFormed(commit: RunCommit): void {
  const { runId, expectedSequence, events, view } = commit;
  const lastSequence = expectedSequence + events.length;
  if (view.id !== runId || view.lastSequence !== lastSequence) {
    throw new Error(
      `The view of run ${view.id} ends at event ${view.lastSequence}; its step belongs to run ${runId} and ends at ${lastSequence}`,
    );
  }
  for (const { key } of commit.startActivities) assertKeyOf(runId, key);
  for (const { key } of commit.setTimers) assertKeyOf(runId, key);
  for (const { workflowRunId } of commit.clarifications) {
    if (workflowRunId !== runId)
      throw new Error(`A clarification of run ${workflowRunId} is in a step of run ${runId}`);
  }
}

function assertKeyOf(runId: string, key: string): void {
  if (key.startsWith(runId) && key[runId.length] === '/') return;
  throw new Error(`The key '${key}' does not begin with its run, '${runId}/'`);
}

function toStoredEvents({ runId, expectedSequence, events }: RunCommit, position: number): readonly WorkflowEvent[] {
  const before = position - events.length;
  return events.map(({ type, origin, payload, timestamp }, index) => ({
    id: `${runId}.${expectedSequence + index + 1}`,
    position: before + index + 1,
    workflowRunId: runId,
    sequence: expectedSequence + index + 1,
    type,
    origin,
    payload,
    timestamp: normalTime(timestamp),
  }));
}

let lastTimestamp = '';
let lastNormal = '';

/** As it is read back later. */
function normalTime(timestamp: string): string {
  if (timestamp === lastTimestamp) return lastNormal;
  lastNormal = toIso(toMilliseconds(timestamp));
  lastTimestamp = timestamp;
  return lastNormal;
}

function toClarificationRow(clarification: Clarification): ClarificationRow {
  const { options, response = null, answeredBy = null, answeredAt, ...rest } = clarification;
  return {
    id: rest.id,
    stage: rest.stage,
    question: rest.question,
    context: rest.context,
    options: options === undefined ? null : JSON.stringify(options),
    responseType: rest.responseType,
    status: rest.status,
    response,
    answeredBy,
    answeredAt: answeredAt === undefined ? null : toMilliseconds(answeredAt),
    attemptNumber: rest.attemptNumber,
    createdAt: toMilliseconds(rest.createdAt),
  };
}

function toSummarized(row: SummaryRow, summary: RunSummary): SummarizedRun {
  const { id, workflow, status, createdAt, completedAt, isSuperseded, parentId, isBelow } = row;
  return {
    id,
    workflow,
    status,
    createdAt: toIso(createdAt),
    completedAt: completedAt === null ? null : toIso(completedAt),
    isSuperseded: isSuperseded === 1,
    parentId,
    isBelow: isBelow === 1,
    summary,
  };
}

type HeadColumns = Omit<RunHead, 'updatedAt'> & { readonly updatedAt: number };

interface ActivityColumns {
  readonly key: string;
  readonly runId: string;
  readonly activity: string;
  readonly src: string;
  readonly input: string;
  readonly startedAt: number;
  readonly attempt: number;
  readonly failures: number;
  readonly notBefore: number | null;
  readonly heartbeat: string | null;
  readonly epoch: number;
}

function toActivity(row: ActivityColumns): StoredActivity {
  return {
    ...row,
    input: readJson(row, row.input),
    startedAt: toIso(row.startedAt),
    notBefore: row.notBefore === null ? null : toIso(row.notBefore),
    heartbeat: row.heartbeat === null ? null : readJson(row, row.heartbeat),
  };
}

/** As the lists over all runs are ordered. */
function byStart(a: StoredActivity, b: StoredActivity): number {
  return compare(a.startedAt, b.startedAt) || compare(a.key, b.key);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function readJson({ runId, key }: ActivityColumns, text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue; // JSON.parse is untyped; what it gives is JSON.
  } catch (cause) {
    throw new DamagedRun(runId, { sequence: 0, message: `activity '${key}' is not what was stored` }, cause);
  }
}

interface TimerColumns {
  readonly key: string;
  readonly runId: string;
  readonly event: string;
  readonly dueAt: number;
}

function toTimer(row: TimerColumns): StoredTimer {
  return { ...row, dueAt: toIso(row.dueAt) };
}

type ProjectColumns = Omit<Project, 'createdAt'> & { readonly createdAt: number };

function toProject(row: ProjectColumns | undefined): Project | null {
  return row === undefined ? null : { ...row, createdAt: toIso(row.createdAt) };
}

/** With the run's id, and found by its position. */
type PositionedStep = StepRow & { readonly runId: string };

function prepareStatements(connection: SqliteDatabase['connection']) {
  const step = `SELECT id AS runId, position, sequence, at, events, hashes, hash
    FROM workflow_steps JOIN workflow_runs ON number = run`;
  const activity = `key, activity, src, input, started_at AS startedAt, attempt, failures, not_before AS notBefore,
    heartbeat, epoch`;
  const activities = `SELECT ${activity}, run.id AS runId
    FROM activities JOIN workflow_runs AS run ON run.number = activities.run`;
  const timer = 'key, event, due_at AS dueAt';
  const timers = `SELECT ${timer}, run.id AS runId FROM timers JOIN workflow_runs AS run ON run.number = timers.run`;
  // Keys are `<run>/<sequence>/<id>`.
  const inOrder =
    'ORDER BY due_at, run.number, CAST(substr(timers.key, length(run.id) + 2) AS INTEGER), timers.place, timers.key';
  const heads = `SELECT id, project_id AS projectId, user_id AS userId, status, updated_at AS updatedAt
    FROM workflow_runs`;
  const projects = 'SELECT id, name, repository, base_branch AS baseBranch, created_at AS createdAt FROM projects';
  return {
    steps: connection.prepare<[number, number], PositionedStep>(`${step} WHERE position > ? ORDER BY position LIMIT ?`),
    stepAt: connection.prepare<[number], PositionedStep>(`${step} WHERE position = ?`),
    lastPosition: connection
      .prepare<[], number>(
        `SELECT max(
          ifnull((SELECT max(position) FROM workflow_steps), 0),
          ifnull((SELECT CAST(value AS INTEGER) FROM marks WHERE name = 'store.archived_position'), 0))`,
      )
      .pluck(),
    head: connection.prepare<[string], HeadColumns>(`${heads} WHERE id = ?`),
    openRuns: connection.prepare<[{ readonly status: RunStatus | null }], HeadColumns>(
      `${heads} WHERE completed_at IS NULL AND (@status IS NULL OR status = @status)
       ORDER BY created_at, number`,
    ),
    childrenOf: connection.prepare<[string], HeadColumns>(`${heads} WHERE parent_id = ? ORDER BY created_at, number`),
    openChildren: connection.prepare<[], HeadColumns>(
      `${heads} WHERE parent_id IS NOT NULL AND completed_at IS NULL ORDER BY created_at, number`,
    ),
    gates: connection
      .prepare<[], string>(
        'SELECT gate FROM workflow_runs WHERE completed_at IS NULL AND gate IS NOT NULL ORDER BY created_at, number',
      )
      .pluck(),
    activities: connection.prepare<[], ActivityColumns>(`${activities} ORDER BY started_at, key`),
    runsWithActivities: connection
      .prepare<[], string>(
        `SELECT run.id FROM activities JOIN workflow_runs AS run ON run.number = activities.run
         GROUP BY run.number ORDER BY min(started_at), min(key)`,
      )
      .pluck(),
    // Keys begin with the run's id and a slash, which '0' follows. Sorting them in SQL would cost more than all the rest.
    activitiesOfRun: connection.prepare<[string, string, number], Omit<ActivityColumns, 'runId'>>(
      `SELECT ${activity} FROM activities WHERE key > ? AND key < ? AND run = ?`,
    ),
    timers: connection.prepare<[], TimerColumns>(`${timers} ${inOrder}`),
    timersOfRun: connection.prepare<[string, string, number], TimerColumns>(
      `${timers} WHERE key > ? AND key < ? AND run = ? ${inOrder}`,
    ),
    dueTimers: connection.prepare<[number], TimerColumns>(`${timers} WHERE due_at <= ? ${inOrder}`),
    nextTimer: connection.prepare<[number], number | null>('SELECT min(due_at) FROM timers WHERE due_at > ?').pluck(),
    project: connection.prepare<[string], ProjectColumns>(`${projects} WHERE id = ?`),
    projectByRepository: connection.prepare<[string, string], ProjectColumns>(
      `${projects} WHERE repository = ? AND name = ?`,
    ),
    answer: connection.prepare<
      [string],
      { readonly requestHash: string; readonly status: number; readonly body: string }
    >('SELECT request_hash AS requestHash, status, body FROM idempotency_keys WHERE key = ?'),
    requestedStep: connection.prepare<[string], RequestedStep>(
      `SELECT request_hash AS requestHash, run.id AS runId, sequence, request_steps.gate
       FROM request_steps JOIN workflow_runs AS run ON run.number = request_steps.run WHERE key = ?`,
    ),
    session: connection.prepare<
      [string],
      { readonly hash: string; readonly userId: string; readonly expiresAt: number }
    >('SELECT hash, user_id AS userId, expires_at AS expiresAt FROM browser_sessions WHERE hash = ?'),
    mark: connection.prepare<[string], string>('SELECT value FROM marks WHERE name = ?').pluck(),
  };
}
