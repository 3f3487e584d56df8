/**
 * The lists of the event store, by drizzle's query builder. Loaded with the first list that is asked for: drizzle takes
 * long to load, and a store that only runs workflows needs none of it.
 */
import {
  type Clarification,
  FINAL_STATUSES,
  InvalidRequest,
  type Page,
  type Project,
  type RunFilter,
} from '@autonomous/shared';
import type { SQL } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { drizzle } from '../drizzle.ts';
import { clarificationRequests, projects, workflowRuns } from '../schema.ts';
import type { Connection } from '../sqlite-connection.ts';

const { and, asc, desc, eq, getTableColumns, isNotNull, isNull, openWith, or, sql } = drizzle;
const DEFAULT_PAGE = 50;

export interface SqliteLists {
  /** Newest first. @throws {InvalidRequest} for a cursor that is none of this list */
  runIds(filter: RunFilter): Page<string>;
  /** Newest first. @throws {InvalidRequest} for a cursor that is none of this list */
  projects(cursor: string | undefined, limit: number): Page<Project>;
  /** Oldest first. */
  clarifications(status: Clarification['status'] | undefined): readonly Clarification[];
}

export function listsOf(connection: Connection): SqliteLists {
  const db = openWith(connection);
  return {
    runIds(filter) {
      const limit = filter.limit ?? DEFAULT_PAGE;
      const wanted = and(
        is(workflowRuns.status, filter.status),
        // Says no more than the status does, but lets SQLite look at open runs alone, or at those of one end.
        filter.status === undefined ? undefined : isOpen(!FINAL_STATUSES.has(filter.status)),
        filter.open === undefined ? undefined : isOpen(filter.open),
        is(workflowRuns.projectId, filter.projectId),
        is(workflowRuns.workflow, filter.workflow),
        is(workflowRuns.explorationId, filter.explorationId),
        is(workflowRuns.parentId, filter.parentId),
        filter.treeId === undefined ? undefined : isOfTree(filter.treeId),
        comesAfter(filter.cursor, workflowRuns.createdAt, workflowRuns.number, Number),
      );
      const rows = db
        .select({ id: workflowRuns.id, createdAt: workflowRuns.createdAt, key: workflowRuns.number })
        .from(workflowRuns)
        .where(wanted)
        .orderBy(desc(workflowRuns.createdAt), desc(workflowRuns.number))
        .limit(limit + 1)
        .all();
      return toPage(rows, limit, (row) => row.id);
    },

    projects(cursor, limit) {
      const rows = db
        .select({ ...getTableColumns(projects), key: projects.id })
        .from(projects)
        .where(comesAfter(cursor, projects.createdAt, projects.id, String))
        .orderBy(desc(projects.createdAt), desc(projects.id))
        .limit(limit + 1)
        .all();
      return toPage(rows, limit, ({ key: _key, ...project }) => project);
    },

    clarifications(status) {
      const rows = db
        .select({ ...getTableColumns(clarificationRequests), workflowRunId: workflowRuns.id })
        .from(clarificationRequests)
        .innerJoin(workflowRuns, eq(workflowRuns.number, clarificationRequests.run))
        .where(is(clarificationRequests.status, status))
        .orderBy(asc(clarificationRequests.createdAt), asc(clarificationRequests.id))
        .all();
      return rows.map(toClarification);
    },
  };
}

function toClarification(
  row: typeof clarificationRequests.$inferSelect & { readonly workflowRunId: string },
): Clarification {
  const { run: _run, options, response, answeredBy, answeredAt, ...rest } = row;
  return {
    ...rest,
    ...(options === null ? {} : { options }),
    ...(response === null ? {} : { response }),
    ...(answeredBy === null ? {} : { answeredBy }),
    ...(answeredAt === null ? {} : { answeredAt }),
  };
}

/** A row of a list: its time, and what tells it from others of the same time. */
interface Listed {
  readonly createdAt: string;
  readonly key: string | number;
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

/** The forks of a tree say it; those that it begins with are the runs of an exploration, or one run. */
function isOfTree(treeId: string): SQL | undefined {
  const { id, explorationId, treeId: treeColumn } = workflowRuns;
  return or(eq(treeColumn, treeId), eq(explorationId, treeId), eq(id, treeId));
}

function isOpen(open: boolean): SQL {
  return open ? isNull(workflowRuns.completedAt) : isNotNull(workflowRuns.completedAt);
}

/** Rows that come after the cursor's in a list that has the newest first. */
function comesAfter(
  cursor: string | undefined,
  time: SQLiteColumn,
  key: SQLiteColumn,
  toKey: (text: string) => string | number,
): SQL | undefined {
  if (cursor === undefined) return undefined;
  const last = readCursor(cursor);
  const lastKey = toKey(String(last.key));
  if (Number.isNaN(lastKey)) throw noCursor(cursor);
  return sql`(${time}, ${key}) < (${sql.param(last.createdAt, time)}, ${lastKey})`;
}

function writeCursor({ createdAt, key }: Listed): string {
  return Buffer.from(`${createdAt} ${key}`).toString('base64url');
}

function readCursor(cursor: string): Listed {
  const [createdAt = '', key = ''] = Buffer.from(cursor, 'base64url').toString().split(/ (.*)/s);
  if (key === '' || Number.isNaN(Date.parse(createdAt))) throw noCursor(cursor);
  return { createdAt, key };
}

function noCursor(cursor: string): InvalidRequest {
  const message = `'${cursor}' is not a cursor of this list; leave it out to begin at the start.`;
  return new InvalidRequest(message, { faults: [{ path: 'cursor', message }] });
}
