/** The command `list`: lists runs. */
import { RUN_STATUSES, type RunStatus } from '@autonomous/shared';
import { Option } from 'commander';
import { type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, note, say, sayJson } from '../io.ts';
import { runLines } from '../run-texts.ts';

interface ListOptions extends JsonOptions {
  readonly status?: RunStatus;
  readonly workflow?: string;
  readonly limit: number;
}

export function addList(line: CommandLine): void {
  line
    .client('list', 'lists runs, newest first, with child runs below their parents')
    .addOption(new Option('--status <status>', 'only these').choices(RUN_STATUSES))
    .option('--workflow <name>', 'only runs of this workflow')
    .option('--limit <number>', 'how many, up to 200', numberFrom(1, 200), 20)
    .option('--json', 'one JSON line a run')
    .action(line.ending((options: ListOptions) => list(line.io, options)));
}

async function list(io: CliIo, { server, status, workflow, limit, json }: ListOptions): Promise<number> {
  const client = await connect(io, server);
  const { items } = await client.listRuns({ limit, status, workflow });
  if (json) for (const item of items) sayJson(io, item);
  else for (const row of runLines(items, items.length === 0 ? [] : await client.listWorkflows())) say(io, row);
  if (items.length === 0 && !json) note(io, 'There are no such runs.');
  return EXIT.done;
}
