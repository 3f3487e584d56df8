/**
 * Brings a database to the newest schema, in one transaction: the SQL files of `migrations/`, in the form and with the
 * records that drizzle's own tools keep.
 */
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import type { Connection } from './sqlite-connection.ts';

/** Number of the schema that the first file makes. Smaller numbers are never used again. */
export const FIRST_SCHEMA = 9;

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** Number of the newest schema that this program knows. It is `user_version` of the databases that it writes. */
export function newestSchema(): number {
  return FIRST_SCHEMA - 1 + knownMigrations().length;
}

/** Migrations that this program knows, oldest first, as drizzle's table of migrations names them. */
export function knownMigrations(): readonly number[] {
  return filesOf(MIGRATIONS).map(({ folderMillis }) => folderMillis);
}

/** @returns the migrations that a database has had, oldest first */
export function appliedMigrations(connection: Connection): readonly number[] {
  const applied = connection.prepare('SELECT created_at FROM __drizzle_migrations ORDER BY created_at').pluck();
  return applied.all().map(Number);
}

/** @param folder SQL files and their journal. Default: those of this program */
export function migrate(connection: Connection, folder: string = MIGRATIONS): void {
  connection.exec(
    'CREATE TABLE IF NOT EXISTS __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)',
  );
  const done = new Set(appliedMigrations(connection));
  const files = filesOf(folder);
  if (files.every(({ folderMillis }) => done.has(folderMillis))) return;
  const record = connection.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)');
  connection
    .transaction(() => {
      for (const { sql, hash, folderMillis } of files) {
        if (done.has(folderMillis)) continue;
        for (const statement of sql) connection.exec(statement);
        record.run(hash, folderMillis);
      }
      connection.pragma(`user_version = ${FIRST_SCHEMA - 1 + files.length}`);
    })
    .immediate();
}

function filesOf(folder: string): ReturnType<typeof readMigrationFiles> {
  return readMigrationFiles({ migrationsFolder: folder });
}
