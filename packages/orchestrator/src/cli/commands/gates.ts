/** The command `gates`: lists the gates that wait for a person. */
import type { Gate, RunView } from '@autonomous/shared';
import { type Client, workflowOf } from '@autonomous/shared/client';
import type { CommandLine, JsonOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, note, say, sayJson } from '../io.ts';
import { gateLine, requestOf } from '../run-texts.ts';

export function addGates(line: CommandLine): void {
  line
    .client('gates', 'lists all that waits for a person')
    .option('--json', 'one JSON line a gate')
    .action(line.ending((options: JsonOptions) => gates(line.io, options)));
}

async function gates(io: CliIo, { server, json }: JsonOptions): Promise<number> {
  const client = await connect(io, server);
  const open = await client.listGates();
  if (json) for (const gate of open) sayJson(io, gate);
  else for (const line of await linesOf(client, open)) say(io, line);
  if (open.length === 0 && !json) note(io, 'Nothing waits for a person.');
  return EXIT.done;
}

async function linesOf(client: Client, gates: readonly Gate[]): Promise<readonly string[]> {
  if (gates.length === 0) return [];
  const workflows = await client.listWorkflows();
  const runs = await runsById(
    client,
    gates.map(({ runId }) => runId),
  );
  const parents = await runsById(
    client,
    [...runs.values()].flatMap(({ parent }) => (parent === undefined ? [] : [parent.runId])),
  );
  return gates.map((gate) => {
    const run = runs.get(gate.runId);
    const parent = parents.get(run?.parent?.runId ?? '');
    const names =
      run === undefined || parent === undefined ? undefined : { name: requestOf(run), parent: requestOf(parent) };
    return gateLine(gate, run && workflowOf({ workflows }, run.workflow.name), names);
  });
}

/** Requests that are under way at the same time. */
const AT_ONCE = 8;

async function runsById(client: Client, ids: readonly string[]): Promise<ReadonlyMap<string, RunView>> {
  const wanted = [...new Set(ids)];
  const found = new Map<string, RunView>();
  for (let from = 0; from < wanted.length; from += AT_ONCE) {
    const runs = await Promise.all(wanted.slice(from, from + AT_ONCE).map((id) => client.getRun(id)));
    for (const run of runs) found.set(run.id, run);
  }
  return found;
}
