/**
 * Brings a database to the newest version of its tables, in one transaction: the SQL files of `migrations/`, in the form
 * and with the records that drizzle's own tools keep, and after some of them a conversion that SQL can't do.
 */
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { convertEvents } from './convert-events.ts';
import type { Connection } from './sqlite-connection.ts';

const MIGRATIONS = { migrationsFolder: fileURLToPath(new URL('../../../migrations', import.meta.url)) };

/** Conversions in code that follow a migration, by its number from 1. */
const CONVERSIONS: Readonly<Record<number, (connection: Connection) => void>> = { 2: convertEvents };

/** Versions that this program knows, oldest first, as drizzle's table of migrations names them. */
export function knownMigrations(): readonly number[] {
  return readMigrationFiles(MIGRATIONS).map((migration) => migration.folderMillis);
}

/** @returns the migrations that a database has had, oldest first */
export function appliedMigrations(connection: Connection): readonly number[] {
  const applied = connection.prepare('SELECT created_at FROM __drizzle_migrations ORDER BY created_at').pluck();
  return applied.all().map(Number);
}

export function migrate(connection: Connection): void {
  connection.exec(
    'CREATE TABLE IF NOT EXISTS __drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)',
  );
  const done = new Set(appliedMigrations(connection));
  const files = readMigrationFiles(MIGRATIONS);
  const record = connection.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)');
  if (files.every(({ folderMillis }) => done.has(folderMillis))) return;
  connection
    .transaction(() => {
      for (const [index, { sql, hash, folderMillis }] of files.entries()) {
        if (done.has(folderMillis)) continue;
        for (const statement of sql) connection.exec(statement);
        CONVERSIONS[index + 1]?.(connection);
        record.run(hash, folderMillis);
      }
    })
    .immediate();
}
