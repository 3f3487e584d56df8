import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { InvalidRequest, StorageFull, Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aClarification, anActivity, anEvent, aStep, NOON } from './steps.fixture.ts';
import { eventStoreContract } from './event-store.contract.ts';
import * as schema from './schema.ts';
import { assertSafeVersion, openDatabase } from './sqlite-database.ts';
import { openSqliteEventStore, type SqliteEventStore } from './sqlite-event-store.ts';

const LOAD = fileURLToPath(new URL('./append-until-killed.fixture.ts', import.meta.url));

/** These start a process of their own, on a machine that may be busy. */
const SLOW = { timeout: 30_000 };

eventStoreContract('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-store-'));
  return {
    open: async () => openSqliteEventStore({ file: join(folder, 'runs.db') }),
    remove: async () => rmSync(folder, { recursive: true }),
  };
});

describe('the SQLite event store', () => {
  let folder: string;
  let file: string;
  let opened: SqliteEventStore[];
  let children: ChildProcessWithoutNullStreams[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'event-store-'));
    file = join(folder, 'runs.db');
    opened = [];
    children = [];
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    for (const child of children) child.kill('SIGKILL');
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true });
  });

  function open(maxBytes?: number): SqliteEventStore {
    const store = openSqliteEventStore(maxBytes === undefined ? { file } : { file, maxBytes });
    opened.push(store);
    return store;
  }

  function spawnLoad(
    runs: number,
    command: readonly [string, ...string[]] = [process.execPath],
  ): ChildProcessWithoutNullStreams {
    const [program, ...first] = command;
    const child = spawn(program, [...first, LOAD, file, String(runs)]);
    children.push(child);
    return child;
  }

  /** Changes the closed file behind the store's back. */
  function tamper(statement: string, ...values: readonly unknown[]): void {
    const connection = new Database(file);
    expect(connection.prepare(statement).run(...values).changes).toBeGreaterThan(0);
    connection.close();
  }

  describe('keeps what it acknowledged', () => {
    it('when the process is killed in the middle of its work', SLOW, async () => {
      const child = spawnLoad(8);
      const acknowledged = new Map<string, number>();
      for await (const line of createInterface(child.stdout)) {
        const [runId = '', sequence] = line.split(' ');
        if (sequence !== undefined) acknowledged.set(runId, Number(sequence));
        if (acknowledged.get('r-7') === 60) child.kill('SIGKILL');
      }
      if (child.signalCode === null) await once(child, 'exit');
      expect(child.signalCode).toBe('SIGKILL');

      const store = open();
      expect(acknowledged.size).toBe(8);
      for (const [runId, sequence] of acknowledged) {
        expect((await store.readRun(runId, 0)).length).toBeGreaterThanOrEqual(sequence);
        expect((await store.loadView(runId))?.lastSequence).toBe((await store.readRun(runId, 0)).length);
        expect(await store.verifyRun(runId)).toBeNull();
      }
    });

    it('and writes nothing more once the disk failed', SLOW, async () => {
      // The limit on the size of a file (in units of 512 or 1024 bytes) makes a write fail with EFBIG, which SQLite takes for an I/O error.
      const child = spawnLoad(2, ['sh', '-c', `ulimit -f 1000; exec "${process.execPath}" "$@"`, 'sh']);
      const lines: string[] = [];
      for await (const line of createInterface(child.stdout)) lines.push(line);

      expect(lines.at(-2)).toMatch(/^failed: Unavailable: The disk failed under .*runs\.db/);
      expect(lines.at(-1)).toBe(lines.at(-2)?.replace('failed', 'later'));
      const store = open();
      const acknowledged = lines.filter((line) => line.startsWith('r-')).map((line) => line.replace(' ', '.'));
      expect(acknowledged.length).toBeGreaterThan(10);
      const stored = new Set((await store.readAll(0, acknowledged.length + 10)).map((event) => event.id));
      expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    });

    it('in WAL mode, with every commit synced', () => {
      const { connection, close } = openDatabase({ file });
      const pragmas = ['journal_mode', 'synchronous', 'busy_timeout', 'foreign_keys'];
      expect(pragmas.map((name) => connection.pragma(name, { simple: true }))).toEqual(['wal', 2, 5_000, 1]);
      close();
    });

    it('readable by its own user alone', async () => {
      await open().append(aStep('a'));
      for (const name of [file, `${file}-wal`, `${file}.lock`]) expect(statSync(name).mode & 0o077).toBe(0);
    });

    it('under a SQLite without the WAL-reset bug', () => {
      for (const version of ['3.7.0', '3.44.2', '3.51.2'])
        expect(() => assertSafeVersion(version)).toThrow(/WAL-reset/);
      for (const version of ['3.6.23', '3.51.3', '3.52.0', '4.0.0'])
        expect(() => assertSafeVersion(version)).not.toThrow();
    });
  });

  describe('shares commits', () => {
    it('among fifty runs that append in the same turn', async () => {
      const store = open();
      await Promise.all(Array.from({ length: 50 }, (_, run) => store.append(aStep(`r-${run}`))));
      expect(store.statistics()).toEqual({ commits: 1, writes: 50 });
    });

    it('and shows nobody what is not yet on disk', async () => {
      const store = open();
      const appended = store.append(aStep('a'));
      expect(await store.loadView('a')).toBeNull();
      await appended;
      expect(await store.loadView('a')).not.toBeNull();
    });

    it('with a bound, so that ten thousand at once do not stop the event loop', async () => {
      const store = open();
      const marks = Promise.all(Array.from({ length: 1_000 }, (_, mark) => store.setMark(`m-${mark}`, 'x')));
      await new Promise((resolve) => setImmediate(resolve));
      const { writes } = store.statistics();
      expect(writes).toBeGreaterThan(0);
      expect(writes).toBeLessThan(1_000);
      await marks;
      expect(store.statistics().writes).toBe(1_000);
    });

    it('and rolls back what SQLite refuses, alone', async () => {
      const store = open();
      await store.append(aStep('a', { startActivities: [anActivity('a', 'plan')] }));
      const outcomes = await Promise.allSettled([
        store.append(aStep('b')),
        store.append(aStep('a', { expectedSequence: 1, startActivities: [anActivity('a', 'plan')] })),
        store.append(aStep('c', { clarifications: [aClarification('unknown')] })),
        store.append(aStep('d')),
      ]);

      expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
      expect((await store.readAll(0)).map((event) => event.id)).toEqual(['a.1', 'b.1', 'd.1']);
      expect(await store.verifyRun('a')).toBeNull();
      expect(await store.append(aStep('a', { expectedSequence: 1 }))).toMatchObject([{ id: 'a.2', position: 4 }]);
    });
  });

  describe('on a full disk', () => {
    const large = (runId: string) => aStep(runId, { events: [anEvent('NOTICE', { message: 'x'.repeat(2_000_000) })] });

    it('stores nothing of the step, says so, and goes on once there is room', async () => {
      const full = open(1_000_000);
      await full.append(aStep('a'));
      const [refused, small] = await Promise.allSettled([full.append(large('b')), full.append(aStep('c'))]);

      expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'storage_full' } });
      expect(refused).toHaveProperty(
        'reason.message',
        `The disk that holds ${file} is full. Nothing of this step was stored; free some space.`,
      );
      expect(small.status).toBe('fulfilled');
      expect((await full.readAll(0)).map((event) => event.id)).toEqual(['a.1', 'c.1']);
      expect(await full.loadView('b')).toBeNull();
      await full.close();

      const roomy = open();
      expect(await roomy.append(large('b'))).toHaveLength(1);
    });

    it('does not open a database that has no room for its tables', () => {
      expect(() => open(8_192)).toThrow(StorageFull);
      expect(() => open()).not.toThrow();
    });
  });

  describe('notices', () => {
    beforeEach(async () => {
      const store = open();
      await store.append(aStep('a', { events: ['A', 'B', 'C'].map((type) => anEvent(type, { text: 'as it was' })) }));
      await store.close();
    });

    it('a changed byte of a payload', async () => {
      tamper(`UPDATE workflow_events SET payload = replace(payload, 'was', 'wss') WHERE sequence = 2`);
      expect(await open().verifyRun('a')).toEqual({
        sequence: 2,
        message: 'the payload of event 2 is not what was stored',
      });
    });

    it.each(["type = 'X'", "origin = 'emitted'", 'timestamp = timestamp + 1', `hash = '${'0'.repeat(64)}'`])(
      'an event with %s',
      async (change) => {
        tamper(`UPDATE workflow_events SET ${change} WHERE sequence = 2`);
        expect(await open().verifyRun('a')).toMatchObject({ sequence: 2 });
      },
    );

    it('a lost event, the last one included', async () => {
      tamper('DELETE FROM workflow_events WHERE sequence = 3');
      const store = open();
      expect(await store.verifyRun('a')).toMatchObject({ sequence: 3 });
      await store.close();
      tamper('DELETE FROM workflow_events WHERE sequence = 1');
      expect(await open().verifyRun('a')).toMatchObject({ sequence: 1 });
    });

    it('stored JSON that is none, and names the file', async () => {
      tamper(`UPDATE workflow_runs SET view = substr(view, 2)`);
      await expect(open().loadView('a')).rejects.toThrow(file);
    });
  });

  describe('uses its file alone', () => {
    it('and refuses to open it twice, naming the process that has it', async () => {
      await open().append(aStep('a'));
      expect(() => open()).toThrow(new RegExp(`Another server \\(pid ${process.pid}\\) is using .*runs\\.db`));
      const link = join(folder, 'same.db');
      symlinkSync(file, link);
      expect(() => openSqliteEventStore({ file: link })).toThrow(Unavailable);
    });

    it('until its process is killed', SLOW, async () => {
      const child = spawnLoad(1);
      await once(createInterface(child.stdout), 'line');
      expect(() => open()).toThrow(new RegExp(`\\(pid ${child.pid}\\)`));
      child.kill('SIGKILL');
      await once(child, 'exit');
      expect(() => open()).not.toThrow();
    });

    it('and writes no more when another took over in spite of the lock', async () => {
      const old = open();
      await old.append(aStep('a'));
      rmSync(`${file}.lock`);
      const current = open();
      await expect(old.append(aStep('a', { expectedSequence: 1 }))).rejects.toThrow(/Another server has opened/);
      await expect(old.setMark('recorded', '1')).rejects.toThrow(Unavailable);
      expect(await current.append(aStep('a', { expectedSequence: 1 }))).toHaveLength(1);
    });

    it('and refuses nothing after it was closed', async () => {
      await open().close();
      expect(() => open()).not.toThrow();
    });
  });

  it('has another feed id on a copy of its file', async () => {
    const store = open();
    await store.append(aStep('a'));
    await store.close();
    copyFileSync(file, join(folder, 'copy.db'));
    renameSync(join(folder, 'copy.db'), file);

    const restored = open();
    expect(restored.feedId).not.toBe(store.feedId);
    expect(await restored.readAll(0)).toHaveLength(1);
  });

  describe('refuses, and leaves as it was,', () => {
    /** What opening throws; complains when it opens, or the file is another one afterwards. */
    function refusal(): unknown {
      const before = readFileSync(file);
      let refused: unknown = new Error('it was opened');
      try {
        open();
      } catch (error) {
        refused = error;
      }
      const isUnchanged = readFileSync(file).equals(before) && !existsSync(`${file}-wal`);
      return isUnchanged ? refused : new Error('the file was changed', { cause: refused });
    }

    it('a database of a newer version', async () => {
      await open().close();
      const connection = new Database(file);
      connection.pragma('user_version = 2');
      connection.close();
      expect(refusal()).toBeInstanceOf(InvalidRequest);
      expect(String(refusal())).toMatch(/newer version \(2\) than this program knows \(1\)/);
    });

    it('a database with a migration that it does not know', async () => {
      await open().close();
      tamper('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)', 'later', Date.parse('2040-01-01'));
      expect(refusal()).toBeInstanceOf(InvalidRequest);
      expect(String(refusal())).toMatch(/runs\.db is of a newer version/);
    });

    it('a database of another program', () => {
      const connection = new Database(file);
      connection.exec('CREATE TABLE bookmarks (url TEXT)');
      connection.close();
      expect(refusal()).toBeInstanceOf(InvalidRequest);
      expect(String(refusal())).toMatch(/another program/);
    });

    it('a file that is no database', () => {
      writeFileSync(file, 'Dear diary, '.repeat(1_000));
      expect(refusal()).toBeInstanceOf(Unavailable);
      expect(String(refusal())).toMatch(/no database of this program/);
    });
  });

  it('refuses a folder that it cannot write, and a folder in place of the file', async () => {
    expect(() => openSqliteEventStore({ file: folder })).toThrow(/it is not a file/);
    expect(existsSync(`${folder}.lock`)).toBe(false);
    const isRoot = process.geteuid?.() === 0;
    chmodSync(folder, 0o555);
    // Permissions do not bind root: then the test is somebody else for a moment.
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect(() => open()).toThrow(Unavailable);
      expect(() => open()).toThrow(/runs\.db cannot be made or written/);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  it('makes the folder where there is none', () => {
    file = join(folder, 'data', 'deep', 'runs.db');
    open();
    expect(existsSync(file)).toBe(true);
  });

  it('fills the columns of a run from its view', async () => {
    const store = open();
    await store.append(aStep('a', { view: { currentStage: 'planning', startedAt: NOON } }));
    const pausedAt = '2026-03-01T13:00:00.000Z';
    const view = {
      status: 'paused',
      currentStage: null,
      startedAt: NOON,
      pausedAt,
      clarificationCount: 2,
      explorationId: 'x-1',
    } as const;
    await store.append(aStep('a', { expectedSequence: 1, view }));
    await store.close();

    const connection = new Database(file, { readonly: true });
    expect(connection.prepare('SELECT * FROM workflow_runs').get()).toMatchObject({
      id: 'a',
      project_id: 'p-1',
      user_id: 'local',
      workflow: 'build',
      exploration_id: 'x-1',
      branch: 'autonomous/a-login',
      status: 'paused',
      current_stage: null,
      created_at: Date.parse(NOON),
      started_at: Date.parse(NOON),
      paused_at: Date.parse(pausedAt),
      completed_at: null,
      original_request: 'Add a login page',
      clarification_count: 2,
      last_sequence: 2,
    });
    connection.close();
  });

  it('has the tables and indexes that its schema describes', async () => {
    await open().close();
    const connection = new Database(file, { readonly: true });
    const columnsOf = connection.prepare(
      'SELECT name, lower(type) AS type, "notnull", pk FROM pragma_table_info(?) ORDER BY name',
    );
    const indexesOf = connection.prepare(
      `SELECT name, "unique" FROM pragma_index_list(?) WHERE origin = 'c' ORDER BY name`,
    );
    const tables = Object.values(schema).filter((value) => typeof value === 'object');
    expect(tables.length).toBeGreaterThan(8);
    for (const table of tables) {
      const described = describeTable(table);
      const { name } = described;
      expect({ name, columns: columnsOf.all(name), indexes: indexesOf.all(name) }).toEqual(described);
    }
    connection.close();
  });
});

/** A table of the schema as SQLite would describe it. */
function describeTable(table: SQLiteTable) {
  const { name, columns, indexes } = getTableConfig(table);
  const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1);
  return {
    name,
    columns: columns
      .map((column) => ({
        name: column.name,
        type: column.getSQLType(),
        notnull: Number(column.notNull || column.primary),
        pk: Number(column.primary),
      }))
      .sort(byName),
    indexes: indexes.map(({ config }) => ({ name: config.name, unique: Number(config.unique) })).sort(byName),
  };
}
