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
import { foldRun, InvalidRequest, type RunView, StorageFull, Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { anActivity, anEvent, aStart, aStep, aView, NOON } from './steps.fixture.ts';
import { newestSchema } from './migrate.ts';
import * as schema from './schema.ts';
import { assertSafeVersion, openDatabase } from './sqlite-database.ts';
import { programVersion } from '../program-version.ts';
import { openSqliteEventStore, type SqliteEventStore, type SqliteEventStoreOptions } from './sqlite-event-store.ts';

const LOAD = fileURLToPath(new URL('./append-until-killed.fixture.ts', import.meta.url));

/** These start a process of their own, on a machine that may be busy. */
const SLOW = { timeout: 240_000 };

const WRITERS = ['nearest', 'thread', 'inline'] as const;

describe.each(WRITERS)('the SQLite event store, writer: %s,', (writer) => {
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

  function open(options: Partial<SqliteEventStoreOptions> = {}): SqliteEventStore {
    const store = openSqliteEventStore({ file, writer, ...options });
    opened.push(store);
    return store;
  }

  function spawnLoad(
    runs: number,
    command: readonly [string, ...string[]] = [process.execPath],
  ): ChildProcessWithoutNullStreams {
    const [program, ...first] = command;
    const child = spawn(program, [...first, LOAD, file, String(runs), writer]);
    children.push(child);
    return child;
  }

  /** What another program reads beside the store. */
  function read(query: string): Record<string, unknown>[] {
    const connection = new Database(file, { readonly: true });
    const rows = connection.prepare<[], Record<string, unknown>>(query).all();
    connection.close();
    return rows;
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
      const failures: string[] = [];
      for await (const line of createInterface(child.stdout)) {
        if (/^(?:failed|later): /.test(line)) failures.push(line);
        const [runId = '', sequence] = line.split(' ');
        if (sequence !== undefined) acknowledged.set(runId, Number(sequence));
        if (acknowledged.get('r-7') === 60) child.kill('SIGKILL');
      }
      if (child.signalCode === null) await once(child, 'exit');
      expect({ failures, endedBy: child.signalCode }).toEqual({ failures: [], endedBy: 'SIGKILL' });

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
      expect(store.statistics().writes).toBe(50);
      // The thread may have begun with the first of them.
      expect(store.statistics().commits).toBeLessThan(writer === 'thread' ? 6 : 2);
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
      const count = 2_000;
      let rounds = 0;
      /** Some were stored while others still waited, and turns went by between them. */
      async function seesSomeWait(): Promise<boolean> {
        const before = count * rounds++;
        const marks = Array.from({ length: count }, (_, mark) => store.setMark(`m-${mark}`, `${rounds}`));
        const seen: number[] = [];
        let next = setImmediate(look);
        function look(): void {
          seen.push(store.statistics().writes - before);
          next = setImmediate(look);
        }
        await Promise.all(marks);
        clearImmediate(next);
        return seen.some((writes) => writes > 0 && writes < count);
      }
      // On a busy machine this thread may stand still until the writer is done with all of them, but not each time.
      await expect.poll(seesSomeWait).toBe(true);
      expect(store.statistics().writes).toBe(count * rounds);
    });

    it('and rolls back what SQLite refuses, alone', async () => {
      const store = open();
      await store.append(aStep('a', { startActivities: [anActivity('a', 'plan')] }));
      const outcomes = await Promise.allSettled([
        store.append(aStep('b')),
        store.append(aStep('a', { expectedSequence: 1, startActivities: [anActivity('a', 'plan')] })),
        store.append(aStep('d')),
      ]);

      expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((await store.readAll(0)).map((event) => event.id)).toEqual(['a.1', 'b.1', 'd.1']);
      expect(await store.verifyRun('a')).toBeNull();
      expect(await store.append(aStep('a', { expectedSequence: 1 }))).toMatchObject([{ id: 'a.2', position: 4 }]);
    });
  });

  describe('on a full disk', () => {
    const large = (runId: string) => aStep(runId, { events: [anEvent('NOTICE', { message: 'x'.repeat(2_000_000) })] });

    it('stores nothing of the step, says so, and goes on once there is room', async () => {
      const full = open({ maxBytes: 1_000_000 });
      await full.append(aStep('a'));
      const [refused, small] = await Promise.allSettled([full.append(large('b')), full.append(aStep('c'))]);

      expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'storage_full' } });
      expect(refused).toHaveProperty(
        'reason.message',
        `The disk with ${file} is full and this step was not stored. Free some space, then retry.`,
      );
      expect(small.status).toBe('fulfilled');
      expect((await full.readAll(0)).map((event) => event.id)).toEqual(['a.1', 'c.1']);
      expect(await full.loadView('b')).toBeNull();
      await full.close();

      const roomy = open();
      expect(await roomy.append(large('b'))).toHaveLength(1);
    });

    it('does not open a database that has no room for its tables', () => {
      expect(() => open({ maxBytes: 8_192 })).toThrow(StorageFull);
      expect(() => open()).not.toThrow();
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

    it.each([
      [
        'has format 8',
        8,
        /reads format 9\. The last commit of this program that reads it is 3b643746\. Otherwise restore a copy/,
      ],
      ['has format 1', 1, /The last commit/],
      ['has no format number', 0, /The last commit/],
      [
        'has format 10',
        newestSchema() + 1,
        /reads format 9\. A newer version of this program wrote it: start that version\./,
      ],
    ])('a database that %s', async (fault, schema, way) => {
      await open().close();
      const connection = new Database(file);
      connection.pragma(`user_version = ${schema}`);
      connection.close();
      expect(refusal()).toBeInstanceOf(InvalidRequest);
      expect(String(refusal())).toContain(`The database ${file} ${fault}, and this program reads`);
      expect(String(refusal())).toMatch(way);
    });

    it('a database of a server that was killed, whose log stays beside it', async () => {
      await open().close();
      const connection = new Database(file);
      connection.pragma('user_version = 8');
      const copy = `${file}.copy`;
      for (const ending of ['', '-wal']) copyFileSync(`${file}${ending}`, `${copy}${ending}`);
      connection.close();
      const before = ['', '-wal'].map((ending) => readFileSync(`${copy}${ending}`));
      expect(() => open({ file: copy })).toThrow('has format 8');
      expect(['', '-wal'].map((ending) => readFileSync(`${copy}${ending}`))).toEqual(before);
    });

    it('a database with a migration that it does not know', async () => {
      await open().close();
      tamper('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)', 'later', Date.parse('2040-01-01'));
      expect(refusal()).toBeInstanceOf(InvalidRequest);
      expect(String(refusal())).toMatch(/runs\.db has a migration that this program does not know/);
    });

    it.each(['0.1.1', '0.10.0', '1.0.0'])('a database that version %s has opened', async (version) => {
      await open().close();
      const opened = "UPDATE marks SET value = ? WHERE name = 'store.program'";
      tamper(opened, version);
      expect(refusal()).toBeInstanceOf(InvalidRequest);
      expect(String(refusal())).toContain(
        `runs.db was opened by version ${version} of this program, and this is ${programVersion()}. Start that version.`,
      );
      tamper(opened, '0.0.9');
      expect(() => open()).not.toThrow();
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
    await store.append(aStep('a', { view: { explorationId: 'x-1', currentStage: 'planning' } }));
    const updatedAt = '2026-03-01T13:00:00.000Z';
    const columns = () => read('SELECT * FROM workflow_runs');
    expect(columns()).toMatchObject([
      {
        number: 1,
        id: 'a',
        project_id: 'p-1',
        user_id: 'local',
        workflow: 'build',
        exploration_id: 'x-1',
        created_at: Date.parse(NOON),
        status: 'running',
        stage: 'planning',
        updated_at: Date.parse(NOON),
        completed_at: null,
        last_sequence: 1,
        gate: null,
      },
    ]);
    await store.append(aStep('a', { expectedSequence: 1, view: { status: 'failed', currentStage: null, updatedAt } }));
    expect(columns()).toMatchObject([
      { status: 'failed', stage: null, updated_at: Date.parse(updatedAt), completed_at: Date.parse(updatedAt) },
    ]);
    expect(read('SELECT * FROM run_views')).toEqual([]);
  });

  it('shows people with sqlite3 one row an event', async () => {
    const store = open();
    const events = [anEvent('OWN', { text: 'é' }, '2026-03-01T12:00:00.250Z', 'emitted'), anEvent('LAST')];
    const stored = [...(await store.append(aStep('a'))), ...(await store.append(aStep('b', { events })))];
    const rows = read('SELECT * FROM workflow_events ORDER BY position').map(
      ({ workflow_run_id, payload, ...row }) => ({
        ...row,
        workflowRunId: workflow_run_id,
        payload: JSON.parse(String(payload)) as unknown,
      }),
    );
    expect(rows).toEqual(stored);
  });

  it('stores whole what readers folded, with the next commit', async () => {
    const store = open();
    const notices = Array.from({ length: 40 }, (_, number) => anEvent('NOTICE', { message: `${number}` }));
    for (const runId of ['a', 'b']) {
      await store.append(aStep(runId, { events: [aStart(aView(runId)), ...notices] }));
    }
    await store.append(aStep('few'));
    const { items } = await store.listRuns({});
    const before = store.statistics().writes;
    await store.append(aStep('b', { expectedSequence: 41 }));

    expect(store.statistics().writes).toBeGreaterThan(before + 1);
    const views = read('SELECT id, sequence, view FROM run_views JOIN workflow_runs ON run = number ORDER BY id');
    // What was folded of `b` is older than its newest step only where that step came first.
    expect(views.map((row) => [row['id'], row['sequence']])).toEqual([
      ['a', 41],
      ['b', 41],
    ]);
    expect(JSON.parse(String(views[0]?.['view']))).toEqual(items.find((run) => run.id === 'a'));
    expect(await store.loadView('b')).toMatchObject({ lastSequence: 42, notices: { length: 41 } });
    expect(await store.loadView('a')).toEqual(items.find((run) => run.id === 'a'));
  });

  describe('erases a payload', () => {
    const secret = 'sk-very-secret';
    const ended = { status: 'completed', completedAt: NOON } as const;

    beforeEach(async () => {
      const store = open();
      const notices = ['before', secret, 'after'].map((message) => anEvent('NOTICE', { message }));
      await store.append(aStep('a', { events: [aStart(aView('a')), ...notices], view: ended }));
    });

    it.each(['a run', 'an archived run'])('of %s for good, and the chain holds', async (what) => {
      const store = opened[0] as SqliteEventStore;
      if (what === 'an archived run') expect(await store.archive('2030-01-01T00:00:00.000Z', 1)).toBe(1);
      const tip = await store.tipOf('a');
      await store.erase('a', 3);
      await store.erase('a', 3);

      expect((await store.readRun('a', 0)).map((event) => event.payload['message'])).toEqual([
        undefined,
        'before',
        undefined,
        'after',
      ]);
      expect(await store.loadView('a')).toMatchObject({ notices: ['before', 'after'], lastSequence: 4 });
      expect((await store.loadRun('a'))?.view.notices).toEqual(['before', 'after']);
      expect(await store.verifyRun('a')).toBeNull();
      expect(await store.tipOf('a')).toEqual(tip);
      expect(JSON.stringify(await store.exportRun('a'))).not.toContain(secret);
      await store.close();
      expect(readFileSync(file).includes(secret)).toBe(false);
      expect(await open().verifyRun('a')).toBeNull();
    });

    it('also from the log, once whoever reads it meanwhile has done so', async () => {
      const store = opened[0] as SqliteEventStore;
      const reader = new Database(file, { readonly: true });
      reader.exec('BEGIN');
      reader.prepare('SELECT * FROM workflow_runs').all();
      await store.erase('a', 3);
      expect(readFileSync(`${file}-wal`).includes(secret)).toBe(true);
      reader.close();
      await store.setMark('later', '1');
      expect(readFileSync(`${file}-wal`).includes(secret)).toBe(false);
      expect(readFileSync(file).includes(secret)).toBe(false);
    });

    it('so that whoever folds the events goes on, and sees what they were', async () => {
      const store = opened[0] as SqliteEventStore;
      await store.erase('a', 1);
      const events = await store.readRun('a', 0);
      expect(events[0]).toMatchObject({ type: 'ERASED', payload: { type: 'RUN_STARTED' }, sequence: 1 });
      expect(await store.readAll(0)).toEqual(events);
      let view: RunView | null = null;
      for (const event of events) view = foldRun(view, event);
      expect(view).toBeNull();
    });

    it('and says so when there is no such event', async () => {
      const store = opened[0] as SqliteEventStore;
      await expect(store.erase('a', 5)).rejects.toThrow('Run a has no event 5.');
      await expect(store.erase('b', 1)).rejects.toThrow('There is no run b.');
    });
  });

  describe('with faults', () => {
    it('of a full disk at a commit refuses its writes and goes on', async () => {
      const store = open({ faults: { failingCommits: { 2: 'SQLITE_FULL' } } });
      await store.append(aStep('a'));
      const refused = await Promise.allSettled([store.append(aStep('b')), store.append(aStep('c'))]);
      for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: 'storage_full' } });
      expect(await store.append(aStep('b'))).toMatchObject([{ position: 2 }]);
      expect(store.statistics()).toMatchObject({ failedCommits: 1, commits: 2, writes: 2 });
      expect(await store.verifyTips()).toEqual([]);
    });

    it('of a disk that breaks refuses everything from then on, and opens again as it was', async () => {
      const store = open({ faults: { failingCommits: { 2: 'SQLITE_IOERR_FSYNC' } } });
      await store.append(aStep('a'));
      const broken = store.append(aStep('b'));
      await expect(broken).rejects.toThrow(/The disk failed under .*runs\.db \(SQLITE_IOERR_FSYNC\)/);
      await expect(store.append(aStep('c'))).rejects.toThrow(Unavailable);
      await expect(store.setMark('later', '1')).rejects.toThrow(/The disk failed/);
      expect(await store.readAll(0)).toHaveLength(1);
      expect(store.statistics()).toMatchObject({ failedCommits: 1, commits: 1 });
      await store.close();
      expect(await open().append(aStep('b'))).toMatchObject([{ position: 2 }]);
    });
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
