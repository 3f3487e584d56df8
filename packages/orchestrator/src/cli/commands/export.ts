/** The command `export`: everything that can still be read of a run, from its server or from the database of a stopped one. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidRequest, type JsonObject, type JsonValue, NotFound } from '@autonomous/shared';
import { ServerUnreachable } from '@autonomous/shared/client';
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { databaseOf } from '../database.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, say, sayJson } from '../io.ts';

interface ExportOptions extends ServerOptions {
  readonly data?: string;
  readonly out?: string;
}

export function addExport(line: CommandLine): void {
  line
    .client('export <run>', 'writes all that can be read of a run as JSON, also of a damaged one')
    .option('--out <file>', 'where to; else to standard output')
    .option('--data <folder>', "data folder of a stopped server; else the server's own answer")
    .action(line.ending((runId: string, options: ExportOptions) => exportRun(line.io, runId, options)));
}

async function exportRun(io: CliIo, runId: string, options: ExportOptions): Promise<number> {
  const rows =
    options.data === undefined ? await fromServer(io, runId, options) : await fromDatabase(io, runId, options);
  if (options.out === undefined) {
    sayJson(io, rows, 2);
    return EXIT.done;
  }
  const text = `${JSON.stringify(rows, null, 2)}\n`;
  const file = resolve(io.cwd, options.out);
  // It holds requests, plans and answers.
  try {
    await writeFile(file, text, { mode: 0o600 });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidRequest(`${file} cannot be written (${why}). Name a file in a folder that is there, with --out.`, {
      cause,
    });
  }
  say(io, file);
  return EXIT.done;
}

/** Where no server is named and none answers, this machine's database is read. */
async function fromServer(io: CliIo, runId: string, { server }: ExportOptions): Promise<JsonObject> {
  try {
    return await (await connect(io, server)).exportRun(runId);
  } catch (error) {
    const isStopped = error instanceof ServerUnreachable && server === undefined && !io.env['AUTONOMOUS_SERVER'];
    if (!isStopped || !existsSync(databaseOf(io, undefined))) throw error;
    return fromDatabase(io, runId, {});
  }
}

/** Only reads: the database stays as it is, whatever its version, and a server may be using it. */
async function fromDatabase(io: CliIo, runId: string, { data }: ExportOptions): Promise<JsonObject> {
  const file = databaseOf(io, data);
  if (!existsSync(file))
    throw new NotFound(
      `There is no database ${file}. Name the data folder of the server with --data or AUTONOMOUS_DATA.`,
    );
  const { exportFromFile } = await import('../../event-store/sqlite/integrity/export-run.ts');
  const rows = exportFromFile(file, runId);
  if (rows['run'] === null && isEmpty(rows['unreadable'])) throw new NotFound(`There is no run '${runId}' in ${file}.`);
  return rows;
}

function isEmpty(list: JsonValue | undefined): boolean {
  return Array.isArray(list) && list.length === 0;
}
