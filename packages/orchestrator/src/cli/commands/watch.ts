/** The command `watch`: follows a run that was started elsewhere. */
import type { RunView } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import type { CommandLine, JsonOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { exitCodeOf, UsageError } from '../exit.ts';
import { followFamily } from '../follow/follow-family.ts';
import { endOf } from '../follow/follow-started.ts';
import { followRun } from '../follow/follow.ts';
import { waysOn } from '../gates/gate-lines.ts';
import { type CliIo, hasPerson, note, say } from '../io.ts';
import { resultLines } from '../follow/result-lines.ts';
import { leftLine } from '../run-texts.ts';
import { workflowOfRun } from '../run-workflow.ts';

export function addWatch(line: CommandLine): void {
  line
    .client('watch [run]', 'follows a run with its child runs; without its id the newest')
    .option('--json', 'events as JSON lines')
    .action(line.ending((runId: string | undefined, options: JsonOptions) => watch(line.io, runId, options)));
}

/** On a terminal it shows what others decide until the run ends; a script gets its turn back when a person is needed. */
export async function watch(io: CliIo, given: string | undefined, options: JsonOptions): Promise<number> {
  const client = await connect(io, options.server);
  const runId = given ?? (await client.listRuns({ limit: 1 })).items[0]?.id;
  if (runId === undefined) throw new UsageError('There is no run to watch.');
  const json = options.json ?? false;
  const run = await client.getRun(runId);
  if (await hasChildren(client, run)) return watchFamily(io, client, runId, json);
  const atGate = hasPerson(io) && !json ? 'wait' : 'end';
  const followed = await followRun({ client, io, runId, json, atGate, endsAtChildren: true });
  if (followed.interrupted || followed.run.status !== 'awaiting_children') return endOf(io, client, followed, json);
  return watchFamily(io, client, runId, json, followed.position);
}

/** Until the run ends, or it and its child runs can only go on once a person decides. */
async function watchFamily(
  io: CliIo,
  client: Client,
  runId: string,
  json: boolean,
  toldUpTo: number = 0,
): Promise<number> {
  const { run, gates, interrupted } = await followFamily({ client, io, runId, json, toldUpTo });
  if (json) return exitCodeOf(run, gates);
  if (interrupted) note(io, leftLine(runId, gates, io.program));
  for (const gate of gates) {
    const of = await client.getRun(gate.runId);
    for (const line of waysOn(io, gate, { run: of, workflow: await workflowOfRun(client, of) })) say(io, line);
  }
  for (const line of await resultLines(io, client, run)) say(io, line);
  return exitCodeOf(run, gates);
}

async function hasChildren(client: Client, { id, status, progress }: RunView): Promise<boolean> {
  if (status === 'awaiting_children' || progress !== undefined) return true;
  return (await client.listRuns({ parentId: id, limit: 1 })).items.length > 0;
}
