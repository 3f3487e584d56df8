/** The command `list`: lists runs. */
import { RUN_STATUSES, type RunStatus } from '@autonomous/shared';
import { Option } from 'commander';
import { type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, note, say, sayJson } from '../io.ts';
import { listTrees } from '../list-trees.ts';
import { runLines } from '../run-texts.ts';

interface ListOptions extends JsonOptions {
  readonly status?: RunStatus;
  readonly workflow?: string;
  readonly limit: number;
  readonly all?: boolean;
}

export function addList(line: CommandLine): void {
  line
    .client('list', 'lists runs, newest first, with child runs below their parents')
    .addOption(new Option('--status <status>', 'only these').choices(RUN_STATUSES))
    .option('--workflow <name>', 'only runs of this workflow')
    .option(
      '--limit <number>',
      'how many, up to 200; without --status and --workflow, child runs are not counted',
      numberFrom(1, 200),
      20,
    )
    .option('--all', 'lists each completed child run; without it more than five of a run have one line together')
    .option('--json', 'one JSON line a run')
    .action(line.ending((options: ListOptions) => list(line.io, options)));
}

async function list(io: CliIo, { server, status, workflow, limit, all, json }: ListOptions): Promise<number> {
  const client = await connect(io, server);
  const isChosen = status !== undefined || workflow !== undefined;
  const items = isChosen ? (await client.listRuns({ limit, status, workflow })).items : await listTrees(client, limit);
  if (json) for (const item of items) sayJson(io, item);
  else {
    const workflows = items.length === 0 ? [] : await client.listWorkflows();
    // Of chosen runs, each was asked for.
    for (const row of runLines(items, workflows, { all: all === true || isChosen })) say(io, row);
  }
  if (items.length === 0 && !json) note(io, isChosen ? 'There are no such runs.' : 'There are no runs yet.');
  return EXIT.done;
}
