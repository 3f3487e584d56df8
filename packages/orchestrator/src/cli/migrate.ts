/** The command `migrate`: binds a run to another version of its workflow. */
import { connect } from './connection.ts';
import { statusOf } from './decide.ts';
import { EXIT } from './exit.ts';
import { type CliIo, say } from './io.ts';

export interface MigrateOptions {
  readonly server?: string;
  readonly to: number;
}

export async function migrate(io: CliIo, runId: string, { server, to }: MigrateOptions): Promise<number> {
  const run = await (await connect(io, server)).migrateRun(runId, to);
  say(io, `${run.workflow.name} version ${run.workflow.version}; the run is ${statusOf(run)}`);
  return EXIT.done;
}
