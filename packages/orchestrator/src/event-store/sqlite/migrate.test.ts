import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FIRST_SCHEMA, migrate } from './migrate.ts';
import { openDatabase } from './sqlite-database.ts';
import { openSqliteEventStore } from './sqlite-event-store.ts';
import { aStep } from './steps.fixture.ts';

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));

let folder: string;
let file: string;
/** Migrations of a later program: those of this one, and `next`. */
let later: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'migrate-'));
  file = join(folder, 'runs.db');
  later = join(folder, 'migrations');
});
afterEach(() => rmSync(folder, { recursive: true }));

function withNext(sql: string): void {
  cpSync(MIGRATIONS, later, { recursive: true });
  writeFileSync(join(later, '0010_next.sql'), sql);
  const journalFile = join(later, 'meta', '_journal.json');
  const journal = JSON.parse(readFileSync(journalFile, 'utf8')) as { entries: object[] };
  journal.entries.push({ idx: 10, version: '6', when: 1_890_000_000_000, tag: '0010_next', breakpoints: true });
  writeFileSync(journalFile, JSON.stringify(journal));
}

async function aDatabase(): Promise<void> {
  const store = openSqliteEventStore({ file, writer: 'inline' });
  await store.append(aStep('a'));
  await store.close();
}

function migrated<Result>(look: (connection: Database.Database) => Result): Result {
  const connection = new Database(file);
  try {
    migrate(connection, later);
    return look(connection);
  } finally {
    connection.close();
  }
}

it('gives a new database the number of the first schema', async () => {
  await aDatabase();
  const { connection, close } = openDatabase({ file });
  expect(connection.pragma('user_version', { simple: true })).toBe(FIRST_SCHEMA);
  close();
});

it('carries out the migration of a later program once, which keeps what is stored and is refused by this one', async () => {
  await aDatabase();
  withNext("ALTER TABLE marks ADD COLUMN note TEXT;\n--> statement-breakpoint\nUPDATE marks SET note = 'kept';");
  const runs = migrated((connection) => connection.prepare('SELECT id FROM workflow_runs').pluck().all());
  const notes = migrated((connection) => {
    expect(connection.pragma('user_version', { simple: true })).toBe(FIRST_SCHEMA + 1);
    return new Set(connection.prepare('SELECT note FROM marks').pluck().all());
  });
  expect([runs, [...notes]]).toEqual([['a'], ['kept']]);
  expect(() => openDatabase({ file })).toThrow(`has format ${FIRST_SCHEMA + 1}, and this program reads`);
});

it('leaves a database as it was when a migration fails in its middle', async () => {
  await aDatabase();
  withNext('DELETE FROM workflow_steps;\n--> statement-breakpoint\nINSERT INTO nowhere VALUES (1);');
  expect(() => migrated(() => null)).toThrow('no such table: nowhere');
  const store = openSqliteEventStore({ file, writer: 'inline' });
  expect((await store.readAll(0)).map(({ id }) => id)).toEqual(['a.1']);
  await store.close();
});
