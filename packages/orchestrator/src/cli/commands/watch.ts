/** The command `watch`: follows a run that was started elsewhere. */
import type { CommandLine, JsonOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { UsageError } from '../exit.ts';
import { endOf } from '../follow-started.ts';
import { followRun } from '../follow.ts';
import { type CliIo, hasPerson } from '../io.ts';

export function addWatch(line: CommandLine): void {
  line
    .client('watch [run]', 'follows a run; without its id the newest')
    .option('--json', 'events as JSON lines')
    .action(line.ending((runId: string | undefined, options: JsonOptions) => watch(line.io, runId, options)));
}

/** On a terminal it shows what others decide until the run ends; a script gets its turn back when a person is needed. */
async function watch(io: CliIo, given: string | undefined, options: JsonOptions): Promise<number> {
  const client = await connect(io, options.server);
  const runId = given ?? (await client.listRuns({ limit: 1 })).items[0]?.id;
  if (runId === undefined) throw new UsageError('There is no run to watch.');
  const json = options.json ?? false;
  const followed = await followRun({ client, io, runId, json, atGate: hasPerson(io) && !json ? 'wait' : 'end' });
  return endOf(io, followed, json);
}
