/** The command `gates`: lists the gates that wait for a person. */
import { type Client, type Gate, type WorkflowInfo, workflowOf } from '@autonomous/shared';
import type { CommandLine, JsonOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, note, say, sayJson } from '../io.ts';
import { gateLine } from '../run-texts.ts';

export function addGates(line: CommandLine): void {
  line
    .client('gates', 'lists all that waits for a person')
    .option('--json', 'one JSON line a gate')
    .action(line.ending((options: JsonOptions) => gates(line.io, options)));
}

async function gates(io: CliIo, { server, json }: JsonOptions): Promise<number> {
  const client = await connect(io, server);
  const open = await client.listGates();
  const workflows = json ? new Map<string, WorkflowInfo>() : await workflowsByRun(client, open);
  for (const gate of open)
    if (json) sayJson(io, gate);
    else say(io, gateLine(gate, workflows.get(gate.runId)));
  if (open.length === 0 && !json) note(io, 'Nothing waits for a person.');
  return EXIT.done;
}

/** Requests that are under way at the same time. */
const AT_ONCE = 8;

/** The workflow of each run that waits, by the run's id; without those that the server has no more. */
async function workflowsByRun(client: Client, gates: readonly Gate[]): Promise<ReadonlyMap<string, WorkflowInfo>> {
  const workflows = gates.length === 0 ? [] : await client.listWorkflows();
  const found = new Map<string, WorkflowInfo>();
  for (let from = 0; from < gates.length; from += AT_ONCE) {
    const runs = await Promise.all(gates.slice(from, from + AT_ONCE).map(({ runId }) => client.getRun(runId)));
    for (const { id, workflow } of runs) {
      const known = workflowOf({ workflows }, workflow.name);
      if (known !== undefined) found.set(id, known);
    }
  }
  return found;
}
