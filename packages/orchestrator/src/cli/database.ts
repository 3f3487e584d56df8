/** Resolves the database for commands that read it without a server. */
import { resolve } from 'node:path';
import { readServerConfig } from '../config.ts';
import { UsageError } from './exit.ts';
import type { CliIo } from './io.ts';

/**
 * The database of this machine's server, or of the data folder that is named.
 * @throws {UsageError} when the variables that say so cannot be taken
 */
export function databaseOf(io: CliIo, data: string | undefined): string {
  const { AUTONOMOUS_DATA, DATABASE_URL, XDG_DATA_HOME } = io.env;
  try {
    return readServerConfig(
      data === undefined
        ? { AUTONOMOUS_DATA, DATABASE_URL, XDG_DATA_HOME }
        : { AUTONOMOUS_DATA: resolve(io.cwd, data), XDG_DATA_HOME },
    ).databasePath;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
