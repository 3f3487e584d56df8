/**
 * The tables as drizzle knows them. The SQL in `migrations/` makes them; a test holds the two together.
 * Column types speak the port's language: times are ISO strings here and milliseconds on disk, JSON is text on disk.
 */
import type {
  Clarification,
  EventOrigin,
  JsonValue,
  ResponseType,
  RunConfig,
  RunStatus,
  RunView,
} from '@autonomous/shared';
import { customType, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/** ISO 8601 in the program, milliseconds since 1970 on disk. */
const time = customType<{ data: string; driverData: number | null }>({
  dataType: () => 'integer',
  // Prepared statements hand their nulls through here as well.
  toDriver: (iso: string | null) => (iso === null ? null : toMilliseconds(iso)),
  fromDriver: (ms) => new Date(Number(ms)).toISOString(),
});

/** A JSON value in the program, its text on disk. `undefined` is SQL's NULL, `null` is JSON's. */
const json = customType<{ data: JsonValue; driverData: string | null }>({
  dataType: () => 'text',
  toDriver: (value: JsonValue | undefined) => (value === undefined ? null : JSON.stringify(value)),
  fromDriver: (text) => JSON.parse(String(text)) as JsonValue, // JSON.parse is untyped; what it gives is JSON.
});

/** @throws {RangeError} when the text is no time */
export function toMilliseconds(iso: string): number {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) throw new RangeError(`'${iso}' is not an ISO 8601 time`);
  return ms;
}

export const workflowRuns = sqliteTable(
  'workflow_runs',
  {
    id: text('id').primaryKey(),
    projectId: text('project_id').notNull(),
    userId: text('user_id').notNull(),
    workflow: text('workflow').notNull(),
    explorationId: text('exploration_id'),
    branch: text('branch').notNull(),
    config: json('config').$type<RunConfig>().notNull(),
    status: text('status').$type<RunStatus>().notNull(),
    currentStage: text('current_stage'),
    createdAt: time('created_at').notNull(),
    startedAt: time('started_at'),
    pausedAt: time('paused_at'),
    resumedAt: time('resumed_at'),
    completedAt: time('completed_at'),
    updatedAt: time('updated_at').notNull(),
    originalRequest: text('original_request').notNull(),
    clarificationCount: integer('clarification_count').notNull().default(0),
    lastSequence: integer('last_sequence').notNull(),
    tip: text('tip').notNull(),
    view: json('view').$type<RunView>().notNull(),
  },
  (run) => [
    index('workflow_runs_user_id_idx').on(run.userId),
    index('workflow_runs_status_idx').on(run.status),
    index('workflow_runs_project_id_idx').on(run.projectId),
    index('workflow_runs_exploration_id_idx').on(run.explorationId),
    index('workflow_runs_created_at_idx').on(run.createdAt, run.id),
  ],
);

const runReference = (name: string) =>
  text(name)
    .notNull()
    .references(() => workflowRuns.id, { onDelete: 'cascade' });

export const workflowEvents = sqliteTable(
  'workflow_events',
  {
    position: integer('position').primaryKey({ autoIncrement: true }),
    id: text('id').notNull(),
    workflowRunId: runReference('workflow_run_id'),
    sequence: integer('sequence').notNull(),
    type: text('type').notNull(),
    origin: text('origin').$type<EventOrigin>().notNull(),
    /** The JSON text itself: the chain is hashed over these bytes. */
    payload: text('payload').notNull(),
    timestamp: time('timestamp').notNull(),
    payloadHash: text('payload_hash').notNull(),
    hash: text('hash').notNull(),
  },
  (event) => [
    uniqueIndex('workflow_events_id_idx').on(event.id),
    index('workflow_events_workflow_run_id_idx').on(event.workflowRunId),
    uniqueIndex('workflow_events_sequence_idx').on(event.workflowRunId, event.sequence),
  ],
);

export const clarificationRequests = sqliteTable(
  'clarification_requests',
  {
    id: text('id').primaryKey(),
    workflowRunId: runReference('workflow_run_id'),
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
  (clarification) => [
    index('clarification_requests_workflow_run_id_idx').on(clarification.workflowRunId),
    index('clarification_requests_status_idx').on(clarification.status),
  ],
);

export const activities = sqliteTable(
  'activities',
  {
    key: text('key').primaryKey(),
    runId: runReference('run_id'),
    activity: text('activity').notNull(),
    src: text('src').notNull(),
    input: json('input').notNull(),
    startedAt: time('started_at').notNull(),
    attempt: integer('attempt').notNull().default(0),
    notBefore: time('not_before'),
  },
  (activity) => [index('activities_run_id_idx').on(activity.runId)],
);

export const timers = sqliteTable(
  'timers',
  {
    key: text('key').primaryKey(),
    runId: runReference('run_id'),
    event: text('event').notNull(),
    dueAt: time('due_at').notNull(),
  },
  (timer) => [index('timers_run_id_idx').on(timer.runId), index('timers_due_at_idx').on(timer.dueAt)],
);

/** The newest snapshot of each run. */
export const snapshots = sqliteTable('snapshots', {
  runId: runReference('run_id').primaryKey(),
  sequence: integer('sequence').notNull(),
  data: json('data').notNull(),
});

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

/** Small values by name: the engine's own, and the store's under `store.`. */
export const marks = sqliteTable('marks', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});
