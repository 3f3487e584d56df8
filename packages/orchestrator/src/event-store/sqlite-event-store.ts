/** The event store on SQLite: one file, one writer, many runs to a commit. */
import {
  type Clarification,
  Conflict,
  FINAL_STATUSES,
  InvalidRequest,
  type JsonObject,
  type Page,
  type Project,
  RUN_STATUSES,
  type RunFilter,
  type RunStatus,
  type RunView,
  Unavailable,
  type WorkflowEvent,
} from '@autonomous/shared';
import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  inArray,
  lt,
  lte,
  min,
  type Placeholder,
  type SQL,
  sql,
} from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { EventStore, NewEvent, RunCommit, StoredActivity, StoredSnapshot, StoredTimer } from './event-store.ts';
import { GroupCommit } from './group-commit.ts';
import { CHAIN_START, type ChainFault, type ChainLink, linkEvent, verifyChain } from './hash-chain.ts';
import {
  activities,
  clarificationRequests,
  idempotencyKeys,
  marks,
  projects,
  snapshots,
  timers,
  toMilliseconds,
  workflowEvents,
  workflowRuns,
} from './schema.ts';
import { openDatabase, type SqliteDatabase, type SqliteFile } from './sqlite-database.ts';
import { explainSqliteError } from './sqlite-errors.ts';

const OPEN_STATUSES = RUN_STATUSES.filter((status) => !FINAL_STATUSES.has(status));
const WAITING_STATUSES: readonly RunStatus[] = ['awaiting_approval', 'awaiting_clarification', 'paused'];
const NO_LIMIT = -1;
const DEFAULT_EVENTS = 500;
const DEFAULT_PAGE = 50;
const KEEP_ANSWERS_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * Opens or makes the database in `file` and holds it alone until `close`.
 * @throws {Unavailable} another server uses it, it cannot be written, or it is no database or damaged
 * @throws {InvalidRequest} it is a database of another program or of a newer version; it is left as it was
 * @throws {StorageFull}
 */
export function openSqliteEventStore(file: SqliteFile): SqliteEventStore {
  return new SqliteEventStore(openDatabase(file));
}

export class SqliteEventStore implements EventStore {
  readonly feedId: string;
  readonly #database: SqliteDatabase;
  readonly #commits: GroupCommit;
  readonly #statements: Statements;

  constructor(database: SqliteDatabase) {
    this.feedId = database.feedId;
    this.#database = database;
    this.#statements = prepareStatements(database);
    this.#commits = new GroupCommit(database.connection, () => this.#assertCurrent());
  }

  append(commit: RunCommit): Promise<readonly WorkflowEvent[]> {
    return this.#commits.write(() => this.#store(commit));
  }

  async readRun(runId: string, after: number, limit = NO_LIMIT): Promise<readonly WorkflowEvent[]> {
    return this.#read(() => this.#statements.eventsOfRun.all({ runId, after, limit }).map(toEvent));
  }

  async readAll(after: number, limit = DEFAULT_EVENTS): Promise<readonly WorkflowEvent[]> {
    return this.#read(() => this.#statements.events.all({ after, limit }).map(toEvent));
  }

  async lastPosition(): Promise<number> {
    return this.#read(() => this.#statements.lastPosition.get()?.position ?? 0);
  }

  /**
   * Checks the stored events of a run against their hash chain and the run's tip.
   * @returns the first fault; `null` when every event is as it was stored, or there is no such run
   */
  async verifyRun(runId: string): Promise<ChainFault | null> {
    return this.#read(() => {
      const tip = this.#statements.tip.get({ runId });
      const links: readonly ChainLink[] = this.#statements.chain.all({ runId });
      return verifyChain(links, tip === undefined ? CHAIN_START : { sequence: tip.lastSequence, hash: tip.tip });
    });
  }

  async loadSnapshot(runId: string): Promise<StoredSnapshot | null> {
    return this.#read(() => this.#statements.snapshot.get({ runId }) ?? null);
  }

  async loadView(runId: string): Promise<RunView | null> {
    return this.#read(() => this.#statements.view.get({ runId })?.view ?? null);
  }

  async listRuns(filter: RunFilter): Promise<Page<RunView>> {
    const limit = filter.limit ?? DEFAULT_PAGE;
    const wanted = and(
      is(workflowRuns.status, filter.status),
      is(workflowRuns.projectId, filter.projectId),
      is(workflowRuns.workflow, filter.workflow),
      is(workflowRuns.explorationId, filter.explorationId),
      isAfterCursor(workflowRuns, filter.cursor),
    );
    const page = this.#read(() =>
      this.#statements.db
        .select({ id: workflowRuns.id, createdAt: workflowRuns.createdAt, view: workflowRuns.view })
        .from(workflowRuns)
        .where(wanted)
        .orderBy(desc(workflowRuns.createdAt), desc(workflowRuns.id))
        .limit(limit + 1)
        .all(),
    );
    return toPage(page, limit, (row) => row.view);
  }

  async listOpenRuns(): Promise<readonly RunView[]> {
    return this.#read(() => this.#statements.openRuns.all().map((row) => row.view));
  }

  async listWaiting(): Promise<readonly RunView[]> {
    return this.#read(() => this.#statements.waitingRuns.all().map((row) => row.view));
  }

  async listClarifications(status?: Clarification['status']): Promise<readonly Clarification[]> {
    const { clarifications, clarificationsByStatus } = this.#statements;
    const rows = this.#read(() =>
      status === undefined ? clarifications.all() : clarificationsByStatus.all({ status }),
    );
    return rows.map(toClarification);
  }

  async openActivities(runId?: string): Promise<readonly StoredActivity[]> {
    const { activities: all, activitiesOfRun } = this.#statements;
    return this.#read(() => (runId === undefined ? all.all() : activitiesOfRun.all({ runId })));
  }

  async openTimers(runId?: string): Promise<readonly StoredTimer[]> {
    const { timers: all, timersOfRun } = this.#statements;
    return this.#read(() => (runId === undefined ? all.all() : timersOfRun.all({ runId })));
  }

  async dueTimers(now: string): Promise<readonly StoredTimer[]> {
    return this.#read(() => this.#statements.dueTimers.all({ now }));
  }

  async nextTimer(): Promise<string | null> {
    return this.#read(() => this.#statements.nextTimer.get()?.dueAt ?? null);
  }

  updateAttempt(key: string, attempt: number, notBefore: string | null): Promise<void> {
    return this.#commits.write(() => {
      const { changes } = this.#statements.updateAttempt.run({ key, attempt, notBefore });
      if (changes === 0) throw new Conflict(`Activity '${key}' is no longer open; its run has moved on.`);
    });
  }

  saveProject(project: Project): Promise<void> {
    return this.#commits.write(() => {
      const known = this.#statements.projectByRepository.get({ repository: project.repository, name: project.name });
      if (known !== undefined && known.id !== project.id) {
        throw new Conflict(`Project '${project.name}' of ${project.repository} exists already, as ${known.id}.`, {
          extra: { id: known.id },
        });
      }
      this.#statements.saveProject.run({ ...project });
    });
  }

  async getProject(id: string): Promise<Project | null> {
    return this.#read(() => this.#statements.project.get({ id }) ?? null);
  }

  async findProject(repository: string, name: string): Promise<Project | null> {
    return this.#read(() => this.#statements.projectByRepository.get({ repository, name }) ?? null);
  }

  async listProjects(cursor: string | undefined, limit: number): Promise<Page<Project>> {
    const page = this.#read(() =>
      this.#statements.db
        .select()
        .from(projects)
        .where(isAfterCursor(projects, cursor))
        .orderBy(desc(projects.createdAt), desc(projects.id))
        .limit(limit + 1)
        .all(),
    );
    return toPage(page, limit, (project) => project);
  }

  async recall(key: string): ReturnType<EventStore['recall']> {
    return this.#read(() => this.#statements.answer.get({ key }) ?? null);
  }

  remember(key: string, answer: Parameters<EventStore['remember']>[1], at: string): Promise<void> {
    return this.#commits.write(() => {
      this.#statements.forgetAnswers.run({ before: new Date(toMilliseconds(at) - KEEP_ANSWERS_MS).toISOString() });
      this.#statements.rememberAnswer.run({ key, ...answer, createdAt: at });
    });
  }

  async getMark(name: string): Promise<string | null> {
    return this.#read(() => this.#statements.mark.get({ name })?.value ?? null);
  }

  setMark(name: string, value: string): Promise<void> {
    return this.#commits.write(() => {
      this.#statements.setMark.run({ name, value });
    });
  }

  /** How many writes were stored since the opening, in how many commits to disk. */
  statistics(): { readonly commits: number; readonly writes: number } {
    return this.#commits.statistics();
  }

  async close(): Promise<void> {
    this.#commits.close();
    this.#database.close();
  }

  #read<Result>(query: () => Result): Result {
    const { connection } = this.#database;
    if (!connection.open) throw new Unavailable(`${connection.name} is closed; this server is stopping.`);
    try {
      return query();
    } catch (error) {
      throw explainSqliteError(error, connection.name);
    }
  }

  #assertCurrent(): void {
    const { connection, epoch } = this.#database;
    const current = this.#statements.mark.get({ name: 'store.epoch' })?.value;
    if (current === String(epoch)) return;
    throw new Unavailable(
      `Another server has opened ${connection.name} since (epoch ${current}, this one has ${epoch}). This one writes no more: stop it.`,
    );
  }

  /** One step of a run, inside the transaction. The row of the run comes first: all others refer to it. */
  #store(commit: RunCommit): readonly WorkflowEvent[] {
    const { runId, view } = commit;
    const statements = this.#statements;
    const tip = this.#tipBefore(commit);
    const links = linkEvents(commit, tip);
    const lastSequence = commit.expectedSequence + links.length;
    assertViewMatches(commit, lastSequence);
    statements.saveRun.run(toRunRow(view, lastSequence, links.at(-1)?.hash ?? tip));
    const events = links.map((link) => this.#insertEvent(link));
    for (const activity of commit.startActivities)
      statements.startActivity.run({ ...activity, attempt: 0, notBefore: null });
    for (const key of commit.endActivities) statements.endActivity.run({ key });
    for (const timer of commit.setTimers) statements.setTimer.run({ ...timer });
    for (const key of commit.clearTimers) statements.clearTimer.run({ key });
    for (const clarification of commit.clarifications)
      statements.saveClarification.run(toClarificationRow(clarification));
    if (commit.snapshot !== undefined) statements.saveSnapshot.run({ runId, ...commit.snapshot });
    return events;
  }

  /** @returns the hash of the run's last event */
  #tipBefore({ runId, expectedSequence }: RunCommit): string {
    const stored = this.#statements.tip.get({ runId });
    const lastSequence = stored?.lastSequence ?? 0;
    if (lastSequence !== expectedSequence) {
      throw new Conflict(
        `Run ${runId} is at event ${lastSequence}, not ${expectedSequence}: another step was stored first.`,
        {
          extra: { lastSequence },
        },
      );
    }
    return stored?.tip ?? CHAIN_START.hash;
  }

  #insertEvent(link: ChainLink & { readonly payload: string }): WorkflowEvent {
    const row = { ...link, id: `${link.workflowRunId}.${link.sequence}` };
    const { lastInsertRowid } = this.#statements.insertEvent.run({ ...row, position: null });
    return toEvent({ ...row, position: Number(lastInsertRowid) });
  }
}

type Statements = ReturnType<typeof prepareStatements>;

/** Prepared once: drizzle's query builder costs ten times as much a call. */
function prepareStatements({ connection }: SqliteDatabase) {
  const db = drizzle(connection);
  const given = sql.placeholder;
  // drizzle converts a placeholder to its column's type where a row is inserted, and nowhere else.
  const givenTime = (name: string, column: SQLiteColumn) => sql.param(given(name), column);
  const { payloadHash: _payloadHash, hash: _hash, ...eventColumns } = getTableColumns(workflowEvents);
  const runsIn = (statuses: readonly RunStatus[]) =>
    db
      .select({ view: workflowRuns.view })
      .from(workflowRuns)
      .where(inArray(workflowRuns.status, [...statuses]))
      .orderBy(asc(workflowRuns.createdAt), asc(workflowRuns.id))
      .prepare();
  const oldestClarifications = [asc(clarificationRequests.createdAt), asc(clarificationRequests.id)] as const;
  const oldestActivities = [asc(activities.startedAt), asc(activities.key)] as const;
  const soonestTimers = [asc(timers.dueAt), asc(timers.key)] as const;

  return {
    db,
    eventsOfRun: db
      .select(eventColumns)
      .from(workflowEvents)
      .where(and(eq(workflowEvents.workflowRunId, given('runId')), gt(workflowEvents.sequence, given('after'))))
      .orderBy(asc(workflowEvents.sequence))
      .limit(given('limit'))
      .prepare(),
    events: db
      .select(eventColumns)
      .from(workflowEvents)
      .where(gt(workflowEvents.position, given('after')))
      .orderBy(asc(workflowEvents.position))
      .limit(given('limit'))
      .prepare(),
    lastPosition: db
      .select({ position: workflowEvents.position })
      .from(workflowEvents)
      .orderBy(desc(workflowEvents.position))
      .limit(1)
      .prepare(),
    chain: db
      .select()
      .from(workflowEvents)
      .where(eq(workflowEvents.workflowRunId, given('runId')))
      .orderBy(asc(workflowEvents.sequence))
      .prepare(),
    insertEvent: db.insert(workflowEvents).values(placeholders(workflowEvents)).prepare(),

    tip: db
      .select({ lastSequence: workflowRuns.lastSequence, tip: workflowRuns.tip })
      .from(workflowRuns)
      .where(eq(workflowRuns.id, given('runId')))
      .prepare(),
    view: db
      .select({ view: workflowRuns.view })
      .from(workflowRuns)
      .where(eq(workflowRuns.id, given('runId')))
      .prepare(),
    openRuns: runsIn(OPEN_STATUSES),
    waitingRuns: runsIn(WAITING_STATUSES),
    saveRun: db
      .insert(workflowRuns)
      .values(placeholders(workflowRuns))
      .onConflictDoUpdate({ target: workflowRuns.id, set: inserted(workflowRuns, 'id') })
      .prepare(),

    clarifications: db
      .select()
      .from(clarificationRequests)
      .orderBy(...oldestClarifications)
      .prepare(),
    clarificationsByStatus: db
      .select()
      .from(clarificationRequests)
      .where(eq(clarificationRequests.status, given('status')))
      .orderBy(...oldestClarifications)
      .prepare(),
    saveClarification: db
      .insert(clarificationRequests)
      .values(placeholders(clarificationRequests))
      .onConflictDoUpdate({ target: clarificationRequests.id, set: inserted(clarificationRequests, 'id') })
      .prepare(),

    activities: db
      .select()
      .from(activities)
      .orderBy(...oldestActivities)
      .prepare(),
    activitiesOfRun: db
      .select()
      .from(activities)
      .where(eq(activities.runId, given('runId')))
      .orderBy(...oldestActivities)
      .prepare(),
    startActivity: db.insert(activities).values(placeholders(activities)).prepare(),
    endActivity: db
      .delete(activities)
      .where(eq(activities.key, given('key')))
      .prepare(),
    updateAttempt: db
      .update(activities)
      // drizzle's type for `set` has no placeholders, though its code takes them.
      .set({ attempt: sql`${given('attempt')}`, notBefore: sql`${givenTime('notBefore', activities.notBefore)}` })
      .where(eq(activities.key, given('key')))
      .prepare(),

    timers: db
      .select()
      .from(timers)
      .orderBy(...soonestTimers)
      .prepare(),
    timersOfRun: db
      .select()
      .from(timers)
      .where(eq(timers.runId, given('runId')))
      .orderBy(...soonestTimers)
      .prepare(),
    dueTimers: db
      .select()
      .from(timers)
      .where(lte(timers.dueAt, givenTime('now', timers.dueAt)))
      .orderBy(...soonestTimers)
      .prepare(),
    nextTimer: db
      .select({ dueAt: min(timers.dueAt) })
      .from(timers)
      .prepare(),
    setTimer: db
      .insert(timers)
      .values(placeholders(timers))
      .onConflictDoUpdate({ target: timers.key, set: inserted(timers, 'key') })
      .prepare(),
    clearTimer: db
      .delete(timers)
      .where(eq(timers.key, given('key')))
      .prepare(),

    snapshot: db
      .select({ sequence: snapshots.sequence, data: snapshots.data })
      .from(snapshots)
      .where(eq(snapshots.runId, given('runId')))
      .prepare(),
    saveSnapshot: db
      .insert(snapshots)
      .values(placeholders(snapshots))
      .onConflictDoUpdate({ target: snapshots.runId, set: inserted(snapshots, 'runId') })
      .prepare(),

    project: db
      .select()
      .from(projects)
      .where(eq(projects.id, given('id')))
      .prepare(),
    projectByRepository: db
      .select()
      .from(projects)
      .where(and(eq(projects.repository, given('repository')), eq(projects.name, given('name'))))
      .prepare(),
    saveProject: db
      .insert(projects)
      .values(placeholders(projects))
      .onConflictDoUpdate({ target: projects.id, set: inserted(projects, 'id') })
      .prepare(),

    answer: db
      .select({ requestHash: idempotencyKeys.requestHash, status: idempotencyKeys.status, body: idempotencyKeys.body })
      .from(idempotencyKeys)
      .where(eq(idempotencyKeys.key, given('key')))
      .prepare(),
    rememberAnswer: db.insert(idempotencyKeys).values(placeholders(idempotencyKeys)).onConflictDoNothing().prepare(),
    forgetAnswers: db
      .delete(idempotencyKeys)
      .where(lt(idempotencyKeys.createdAt, givenTime('before', idempotencyKeys.createdAt)))
      .prepare(),

    mark: db
      .select({ value: marks.value })
      .from(marks)
      .where(eq(marks.name, given('name')))
      .prepare(),
    setMark: db
      .insert(marks)
      .values(placeholders(marks))
      .onConflictDoUpdate({ target: marks.name, set: inserted(marks, 'name') })
      .prepare(),
  };
}

/** A placeholder for each column, by the column's own name. */
function placeholders<Table extends SQLiteTable>(
  table: Table,
): { [Column in keyof Table['$inferInsert']]: Placeholder } {
  const names = Object.keys(getTableColumns(table));
  // fromEntries forgets the keys; they are the table's columns.
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as {
    [Column in keyof Table['$inferInsert']]: Placeholder;
  };
}

/** For an upsert: every column but `key` takes the value that was to be inserted. */
function inserted(table: SQLiteTable, key: string): Record<string, SQL> {
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => name !== key);
  return Object.fromEntries(columns.map(([name, column]) => [name, sql.raw(`excluded."${column.name}"`)]));
}

function linkEvents(commit: RunCommit, tip: string): readonly (ChainLink & { readonly payload: string })[] {
  let previous = tip;
  return commit.events.map((event: NewEvent, index) => {
    const link = linkEvent(previous, {
      workflowRunId: commit.runId,
      sequence: commit.expectedSequence + index + 1,
      type: event.type,
      origin: event.origin,
      timestamp: new Date(toMilliseconds(event.timestamp)).toISOString(),
      payload: JSON.stringify(event.payload),
    });
    previous = link.hash;
    return link;
  });
}

/** A view that disagrees with its events would stay wrong for ever, unseen. */
function assertViewMatches({ runId, view }: RunCommit, lastSequence: number): void {
  if (view.id === runId && view.lastSequence === lastSequence) return;
  throw new Error(
    `The view of run ${view.id} ends at event ${view.lastSequence}; its step belongs to run ${runId} and ends at ${lastSequence}`,
  );
}

function toRunRow(view: RunView, lastSequence: number, tip: string): typeof workflowRuns.$inferSelect {
  return {
    id: view.id,
    projectId: view.projectId,
    userId: view.userId,
    workflow: view.workflow.name,
    explorationId: view.explorationId ?? null,
    branch: view.branch,
    config: view.config,
    status: view.status,
    currentStage: view.currentStage,
    createdAt: view.createdAt,
    startedAt: view.startedAt ?? null,
    pausedAt: view.pausedAt ?? null,
    resumedAt: view.resumedAt ?? null,
    completedAt: view.completedAt ?? null,
    updatedAt: view.updatedAt,
    originalRequest: view.originalRequest,
    clarificationCount: view.clarificationCount,
    lastSequence,
    tip,
    view,
  };
}

/** The payload comes from its text even when it was just written: what a caller folds now is what it reads back later. */
function toEvent(row: Omit<typeof workflowEvents.$inferSelect, 'payloadHash' | 'hash'>): WorkflowEvent {
  return {
    id: row.id,
    position: row.position,
    workflowRunId: row.workflowRunId,
    sequence: row.sequence,
    type: row.type,
    origin: row.origin,
    payload: JSON.parse(row.payload) as JsonObject, // What was stored is the text of a JsonObject.
    timestamp: row.timestamp,
  };
}

function toClarificationRow(clarification: Clarification) {
  const { options, response = null, answeredBy = null, answeredAt = null, ...rest } = clarification;
  return { ...rest, options, response, answeredBy, answeredAt };
}

function toClarification(row: typeof clarificationRequests.$inferSelect): Clarification {
  const { options, response, answeredBy, answeredAt, ...rest } = row;
  return {
    ...rest,
    ...(options === null ? {} : { options }),
    ...(response === null ? {} : { response }),
    ...(answeredBy === null ? {} : { answeredBy }),
    ...(answeredAt === null ? {} : { answeredAt }),
  };
}

interface Listed {
  readonly id: string;
  readonly createdAt: string;
}

/** @param rows one more than `limit` where there is a next page */
function toPage<Row extends Listed, Item>(rows: readonly Row[], limit: number, toItem: (row: Row) => Item): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? writeCursor(last) : null;
  return { items: shown.map(toItem), nextCursor };
}

/** drizzle's `and` leaves out what is undefined. */
function is(column: SQLiteColumn, value: string | undefined): SQL | undefined {
  return value === undefined ? undefined : eq(column, value);
}

/** Rows that come after the cursor's in a list that has the newest first. */
function isAfterCursor(
  table: { readonly createdAt: SQLiteColumn; readonly id: SQLiteColumn },
  cursor: string | undefined,
): SQL | undefined {
  if (cursor === undefined) return undefined;
  const { createdAt, id } = readCursor(cursor);
  return sql`(${table.createdAt}, ${table.id}) < (${sql.param(createdAt, table.createdAt)}, ${id})`;
}

function writeCursor({ createdAt, id }: Listed): string {
  return Buffer.from(`${createdAt} ${id}`).toString('base64url');
}

function readCursor(cursor: string): Listed {
  const [createdAt = '', id = ''] = Buffer.from(cursor, 'base64url').toString().split(/ (.*)/s);
  if (id === '' || Number.isNaN(Date.parse(createdAt))) {
    const message = `'${cursor}' is not a cursor of this list; leave it out to begin at the start.`;
    throw new InvalidRequest(message, { faults: [{ path: 'cursor', message }] });
  }
  return { createdAt, id };
}
