/**
 * The tables as drizzle knows them. The SQL in `migrations/` makes them; a test holds the two together.
 * Column types speak the port's language: times are ISO strings here and milliseconds on disk, JSON is text on disk.
 */
import type { Clarification, Gate, JsonValue, ResponseType, RunStatus, RunView } from '@autonomous/shared';
import type { ContextHashes } from '../../core/context-hash.ts';
import { drizzle } from './drizzle.ts';
import { toIso, toMilliseconds } from './times.ts';

const { isNotNull, isNull, sql, blob, customType, index, integer, sqliteTable, text, uniqueIndex } = drizzle;

/** ISO 8601 in the program, milliseconds since 1970 on disk. */
const time = customType<{ data: string; driverData: number }>({
  dataType: () => 'integer',
  toDriver: toMilliseconds,
  fromDriver: toIso,
});

/** A JSON value in the program, its text on disk. */
const json = customType<{ data: JsonValue; driverData: string }>({
  dataType: () => 'text',
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (written) => JSON.parse(written) as JsonValue, // JSON.parse is untyped; what it gives is JSON.
});

export const workflowRuns = sqliteTable(
  'workflow_runs',
  {
    number: integer('number').primaryKey(),
    id: text('id').notNull().unique(),
    projectId: text('project_id').notNull(),
    userId: text('user_id').notNull(),
    workflow: text('workflow').notNull(),
    explorationId: text('exploration_id'),
    /** Of a fork: the run family of its source. */
    treeId: text('tree_id'),
    /** Of a child run: the run that started it. */
    parentId: text('parent_id'),
    createdAt: time('created_at').notNull(),
    status: text('status').$type<RunStatus>().notNull(),
    stage: text('stage'),
    updatedAt: time('updated_at').notNull(),
    /** `null` while the run is open. */
    completedAt: time('completed_at'),
    lastSequence: integer('last_sequence').notNull(),
    tip: blob('tip', { mode: 'buffer' }).notNull(),
    archivedSequence: integer('archived_sequence'),
    gate: json('gate').$type<Gate>(),
  },
  (run) => [
    index('workflow_runs_created_at_idx').on(run.createdAt),
    index('workflow_runs_project_id_idx').on(run.projectId, run.createdAt),
    index('workflow_runs_exploration_id_idx').on(run.explorationId, run.createdAt).where(isNotNull(run.explorationId)),
    index('workflow_runs_tree_id_idx').on(run.treeId).where(isNotNull(run.treeId)),
    index('workflow_runs_parent_id_idx').on(run.parentId).where(isNotNull(run.parentId)),
    index('workflow_runs_open_idx').on(run.createdAt).where(isNull(run.completedAt)),
    index('workflow_runs_final_idx').on(run.status, run.createdAt).where(isNotNull(run.completedAt)),
    index('workflow_runs_archive_idx')
      .on(run.completedAt)
      .where(sql`${run.completedAt} IS NOT NULL AND ${run.archivedSequence} IS NULL`),
  ],
);

/** One row a step. The view `workflow_events` shows one row an event. */
export const workflowSteps = sqliteTable(
  'workflow_steps',
  {
    position: integer('position').primaryKey(),
    run: integer('run').notNull(),
    sequence: integer('sequence').notNull(),
    at: time('at').notNull(),
    /** The JSON text itself: its bytes are hashed. */
    events: text('events').notNull(),
    hashes: blob('hashes', { mode: 'buffer' }).notNull(),
    hash: blob('hash', { mode: 'buffer' }).notNull(),
    /** `null` in steps that no machine took, and in those with an erased payload. */
    context: json('context').$type<ContextHashes>(),
  },
  (step) => [uniqueIndex('workflow_steps_sequence_idx').on(step.run, step.sequence)],
);

const runKey = () =>
  integer('run')
    .primaryKey()
    .references(() => workflowRuns.number);

/** The steps of a run that ended long ago, packed. */
export const archivedSteps = sqliteTable('archived_steps', {
  run: runKey(),
  position: integer('position').notNull(),
  sequence: integer('sequence').notNull(),
  steps: blob('steps', { mode: 'buffer' }).notNull(),
});

/** The newest view of each run that was stored whole; readers fold later events over it. */
export const runViews = sqliteTable('run_views', {
  run: runKey(),
  sequence: integer('sequence').notNull(),
  view: json('view').$type<RunView>().notNull(),
  hash: blob('hash', { mode: 'buffer' }).notNull(),
});

/** The newest snapshot of each run. */
export const snapshots = sqliteTable('snapshots', {
  run: runKey(),
  sequence: integer('sequence').notNull(),
  data: json('data').notNull(),
  hash: blob('hash', { mode: 'buffer' }).notNull(),
});

/** Spending and waiting times of each run up to an event, so that figures of many runs need no events. */
export const runSummaries = sqliteTable('run_summaries', {
  run: runKey(),
  version: integer('version').notNull(),
  sequence: integer('sequence').notNull(),
  summary: json('summary').notNull(),
  hash: blob('hash', { mode: 'buffer' }).notNull(),
});

export const activities = sqliteTable('activities', {
  key: text('key').primaryKey(),
  run: integer('run').notNull(),
  activity: text('activity').notNull(),
  src: text('src').notNull(),
  input: json('input').notNull(),
  startedAt: time('started_at').notNull(),
  attempt: integer('attempt').notNull(),
  failures: integer('failures').notNull(),
  notBefore: time('not_before'),
  heartbeat: json('heartbeat'),
  epoch: integer('epoch').notNull(),
});

export const timers = sqliteTable(
  'timers',
  {
    key: text('key').primaryKey(),
    run: integer('run').notNull(),
    event: text('event').notNull(),
    dueAt: time('due_at').notNull(),
    /** Among those that its step armed. */
    place: integer('place').notNull(),
  },
  (timer) => [index('timers_due_at_idx').on(timer.dueAt)],
);

export const clarificationRequests = sqliteTable(
  'clarification_requests',
  {
    id: text('id').primaryKey(),
    run: integer('run')
      .notNull()
      .references(() => workflowRuns.number),
    stage: text('stage').notNull(),
    question: text('question').notNull(),
    context: text('context').notNull(),
    options: json('options').$type<readonly string[]>(),
    responseType: text('response_type').$type<ResponseType>().notNull(),
    status: text('status').$type<Clarification['status']>().notNull(),
    response: text('response'),
    answeredBy: text('answered_by'),
    answeredAt: time('answered_at'),
    attemptNumber: integer('attempt_number').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (clarification) => [index('clarification_requests_status_idx').on(clarification.status, clarification.createdAt)],
);

export const projects = sqliteTable(
  'projects',
  {
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    repository: text('repository').notNull(),
    baseBranch: text('base_branch').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (project) => [
    uniqueIndex('projects_repository_name_idx').on(project.repository, project.name),
    index('projects_created_at_idx').on(project.createdAt, project.id),
  ],
);

export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    key: text('key').primaryKey(),
    requestHash: text('request_hash').notNull(),
    status: integer('status').notNull(),
    body: text('body').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (answer) => [index('idempotency_keys_created_at_idx').on(answer.createdAt)],
);

/** Steps that requests with an idempotency key made. */
export const requestSteps = sqliteTable(
  'request_steps',
  {
    key: text('key').primaryKey(),
    requestHash: text('request_hash').notNull(),
    run: integer('run').notNull(),
    sequence: integer('sequence').notNull(),
    gate: text('gate'),
    createdAt: time('created_at').notNull(),
  },
  (request) => [index('request_steps_created_at_idx').on(request.createdAt)],
);

/** Browsers that are signed in. */
export const browserSessions = sqliteTable(
  'browser_sessions',
  {
    hash: text('hash').primaryKey(),
    userId: text('user_id').notNull(),
    expiresAt: time('expires_at').notNull(),
  },
  (session) => [
    index('browser_sessions_user_id_idx').on(session.userId, session.expiresAt),
    index('browser_sessions_expires_at_idx').on(session.expiresAt),
  ],
);

/** Small values by name: the engine's own, and the store's under `store.`. */
export const marks = sqliteTable('marks', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});
