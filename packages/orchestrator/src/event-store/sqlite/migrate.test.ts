import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunView } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from './sqlite-event-store.ts';
import { aClarification, anActivity, aStep, aTimer, NOON } from './steps.fixture.ts';
import { verifyDatabase } from './integrity/verify-database.ts';

const VERSION_1 = readFileSync(new URL('./version-1.fixture.sql', import.meta.url), 'utf8');

interface OldEvent {
  readonly position: number;
  readonly id: string;
  readonly workflow_run_id: string;
  readonly sequence: number;
  readonly type: string;
  readonly origin: string;
  readonly payload: string;
  readonly timestamp: number;
}

describe('a database of the first version', () => {
  let folder: string;
  let file: string;
  let store: SqliteEventStore | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'migrate-'));
    file = join(folder, 'runs.db');
    change(VERSION_1);
  });
  afterEach(async () => {
    await store?.close();
    rmSync(folder, { recursive: true });
  });

  function open(): SqliteEventStore {
    store = openSqliteEventStore({ file, writer: 'inline' });
    return store;
  }

  function change(sql: string): void {
    const connection = new Database(file);
    connection.exec(sql);
    connection.close();
  }

  function rows<Row>(sql: string): readonly Row[] {
    const connection = new Database(file, { readonly: true });
    const read = connection.prepare<[], Row>(sql).all();
    connection.close();
    return read;
  }

  it('is read whole after it was opened', async () => {
    const events = rows<OldEvent>('SELECT * FROM workflow_events ORDER BY position').map((event) => ({
      id: event.id,
      position: event.position,
      workflowRunId: event.workflow_run_id,
      sequence: event.sequence,
      type: event.type,
      origin: event.origin,
      payload: JSON.parse(event.payload) as unknown,
      timestamp: new Date(event.timestamp).toISOString(),
    }));
    const views = rows<{ view: string }>('SELECT view FROM workflow_runs ORDER BY created_at DESC, rowid DESC').map(
      ({ view }) => JSON.parse(view) as RunView,
    );
    expect([events.length, views.length]).toEqual([6, 3]);

    const opened = open();
    expect(await opened.readAll(0)).toEqual(events);
    expect(await opened.lastPosition()).toBe(6);
    expect((await opened.listRuns({})).items).toEqual(views);
    expect((await opened.listRuns({ explorationId: 'x-1' })).items.map((run) => run.id)).toEqual(['b']);
    expect((await opened.listOpenRuns()).map((run) => run.id)).toEqual(['b', 'a']);
    expect(await opened.listGates()).toEqual([views.find((view) => view.id === 'a')?.gate]);
    expect(await opened.listClarifications('pending')).toEqual([
      aClarification('b', { options: ['GitHub', 'Google'], responseType: 'single_choice' }),
    ]);
    const activity = { heartbeat: null, epoch: 0 };
    expect(await opened.loadRun('a')).toEqual({
      view: views.find((view) => view.id === 'a'),
      snapshot: { sequence: 3, data: { value: 'planGate' } },
      events: [],
      activities: [
        { ...anActivity('a', 'plan'), ...activity, attempt: 2, failures: 1, notBefore: '2026-03-01T12:05:00.000Z' },
        { ...anActivity('a', 'watch'), ...activity, attempt: 1, failures: 0, notBefore: null },
      ],
      timers: [aTimer('a', 'timeout', '2026-03-01T13:00:00.000Z')],
      // Its steps were stored without any.
      contexts: new Map(),
    });
    expect(await opened.findProject('/srv/shop.git', 'shop')).toMatchObject({ id: 'p-1', createdAt: NOON });
    expect(await opened.recall('k-1')).toEqual({ requestHash: 'abc', status: 201, body: '{}' });
    expect(await opened.getMark('recorded')).toBe('5');
    expect(opened.epoch).toBe(2);
  });

  it('is verified like any other, and goes on', async () => {
    let opened = open();
    for (const runId of ['a', 'b', 'c']) expect(await opened.verifyRun(runId)).toBeNull();
    expect(await opened.verifyTips()).toEqual([]);
    const waiting = { expectedSequence: 3, view: { status: 'awaiting_approval' } } as const;
    expect(await opened.append(aStep('a', waiting))).toMatchObject([{ id: 'a.4', position: 7 }]);
    expect(await opened.archive('2030-01-01T00:00:00.000Z', 10)).toBe(1);
    await opened.close();

    opened = open();
    expect(await opened.verifyRun('a')).toBeNull();
    expect((await opened.readRun('c', 0)).map((event) => event.position)).toEqual([5, 6]);
    await opened.close();
    const faults: unknown[] = [];
    const check = verifyDatabase(file);
    for await (const fault of check) faults.push(fault);
    expect({ faults, ...check.counts }).toEqual({ faults: [], runs: 3, events: 7 });
    expect(rows(`SELECT name FROM sqlite_schema WHERE name LIKE 'old%'`)).toEqual([]);
  });

  it.each([
    ['payload', `payload = replace(payload, 'quoted', 'guoted')`],
    ['type', `type = 'OTHER'`],
    ['hash', `hash = '${'0'.repeat(64)}'`],
    ['hash of its payload', `payload_hash = '${'0'.repeat(64)}'`],
  ])('keeps the damage noticed that it had: the %s of an event', async (_what, damage) => {
    change(`UPDATE workflow_events SET ${damage} WHERE id = 'a.2'`);
    const opened = open();
    expect(await opened.verifyRun('a')).toMatchObject({ runId: 'a', sequence: 2 });
    expect(await opened.verifyRun('b')).toBeNull();
  });

  it.each(['DELETE FROM workflow_events WHERE sequence = 3', `UPDATE workflow_runs SET tip = '${'1'.repeat(64)}'`])(
    'keeps the damage noticed that it had: %s',
    async (damage) => {
      change(damage);
      expect(await open().verifyRun('a')).toMatchObject({ runId: 'a', sequence: 3 });
    },
  );

  it('is left as it was when it cannot be converted', async () => {
    change(`UPDATE timers SET event = x'00'`);
    expect(() => open()).toThrow('cannot store BLOB value in TEXT column');
    expect(rows('SELECT id FROM workflow_events')).toHaveLength(6);
    change(`UPDATE timers SET event = 'after.timeout'`);
    expect(await open().readAll(0)).toHaveLength(6);
  });
});

describe('a database from before browsers stayed signed in', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'migrate-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('keeps what it has, and stores their sessions', async () => {
    const file = join(folder, 'runs.db');
    const before = openSqliteEventStore({ file, writer: 'inline' });
    await before.append(aStep('a'));
    await before.close();
    // What that migration did, undone.
    const connection = new Database(file);
    connection.exec(`
      DROP TABLE browser_sessions;
      DELETE FROM __drizzle_migrations WHERE created_at = 1795478400000;
      PRAGMA user_version = 4;
    `);
    connection.close();

    const session = { hash: 'h-1', userId: 'ada', expiresAt: '2026-03-31T12:00:00.000Z' };
    const opened = openSqliteEventStore({ file, writer: 'inline' });
    await opened.beginSession(session, NOON, 9);
    await opened.close();
    const again = openSqliteEventStore({ file, writer: 'inline' });
    expect(await again.findSession('h-1')).toEqual(session);
    expect((await again.readAll(0)).map(({ id }) => id)).toEqual(['a.1']);
    expect(again.epoch).toBe(3);
    await again.close();
  });
});
