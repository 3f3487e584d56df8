/** The command `migrate`: binds a run to another version of its workflow. */
import { type CommandLine, numberFrom, type ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, say } from '../io.ts';
import { statusLine } from '../run-texts.ts';

interface MigrateOptions extends ServerOptions {
  readonly to: number;
}

export function addMigrate(line: CommandLine): void {
  line
    .client('migrate <run>', 'binds a run to another version of its workflow')
    .requiredOption('--to <version>', 'the version', numberFrom(1, 1_000_000))
    .action(line.ending((runId: string, options: MigrateOptions) => migrate(line.io, runId, options)));
}

async function migrate(io: CliIo, runId: string, { server, to }: MigrateOptions): Promise<number> {
  const run = await (await connect(io, server)).migrateRun(runId, to);
  say(io, `${run.workflow.name} version ${run.workflow.version}; ${statusLine(run, io.program)}`);
  return EXIT.done;
}
