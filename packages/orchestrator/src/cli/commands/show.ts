/** The command `show`: shows a run, as it is or as it was. */
import type { Client, RunView } from '@autonomous/shared';
import { type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT, UsageError } from '../exit.ts';
import { type CliIo, say, sayJson } from '../io.ts';
import { runLine, runPage, type Shown, showOf } from '../run-texts.ts';

interface ShowOptions extends JsonOptions, Partial<Readonly<Record<Shown, boolean>>> {
  readonly at?: number;
  readonly statechart?: boolean;
}

export function addShow(line: CommandLine): void {
  line
    .client('show <run>', 'shows a run')
    .option('--plan', 'its plan')
    .option('--report', 'its validation report')
    .option('--diff', 'its changes')
    .option('--statechart', 'where it is in its statechart, as a Mermaid diagram')
    .option('--at <event>', 'the run as it was after this event', numberFrom(1, Number.MAX_SAFE_INTEGER))
    .option('--json', 'the run as JSON')
    .action(line.ending((runId: string, options: ShowOptions) => show(line.io, runId, options)));
}

async function show(
  io: CliIo,
  runId: string,
  { server, json, at, statechart, ...wanted }: ShowOptions,
): Promise<number> {
  const client: Client = await connect(io, server);
  if (statechart) {
    const chart = await client.getStatechart(runId, at);
    if (json) sayJson(io, chart);
    else say(io, chart.mermaid);
    return EXIT.done;
  }
  const parts = (['plan', 'report', 'diff'] as const).filter((part) => wanted[part]);
  if (at !== undefined && parts.length > 0)
    throw new UsageError(`--at shows the run as it was; --${parts[0]} is always the newest one. Give one of the two.`);
  for (const part of parts) say(io, await showOf(client, runId, part));
  if (parts.length > 0) return EXIT.done;
  const found = await client.getRun(runId, at);
  if (json) sayJson(io, found);
  else {
    say(io, runPage(found));
    for (const child of await childrenOf(client, runId)) say(io, `child      ${runLine(child)}`);
  }
  return EXIT.done;
}

/** Child runs of a run, oldest first. */
async function childrenOf(client: Client, parentId: string): Promise<readonly RunView[]> {
  const children: RunView[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listRuns({ parentId, limit: 200, cursor });
    children.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return children.toReversed();
}
