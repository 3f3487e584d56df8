/** The command `show`: shows a run, as it is or as it was. */
import { inputOfRun, type RunView } from '@autonomous/shared';
import { foreseenConflictText, sanitizeText } from '@autonomous/shared/presentation';
import { ApiError, type Client, workflowOf } from '@autonomous/shared/client';
import { collect, type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT, UsageError } from '../exit.ts';
import { resultLines } from '../follow/result-lines.ts';
import { waysOn } from '../gates/gate-lines.ts';
import { type CliIo, say, sayJson } from '../io.ts';
import { changesOf, DOCUMENT_OPTIONS, documentOf, runLine, runPage } from '../run-texts.ts';

/** Foreseen conflicts that have a line of their own. */
const MOST_CONFLICTS = 5;

interface ShowOptions extends JsonOptions, Partial<Readonly<Record<(typeof DOCUMENT_OPTIONS)[number], boolean>>> {
  /** Names of documents, in the order in which they were given. */
  readonly document?: readonly string[];
  readonly diff?: boolean;
  readonly at?: number;
  readonly statechart?: boolean;
}

export function addShow(line: CommandLine): void {
  const command = line
    .client('show <run>', 'shows a run')
    .option('--document <name>', 'its newest document of this title or type; may be repeated', collect);
  for (const word of DOCUMENT_OPTIONS) command.option(`--${word}`, `the same as --document ${word}`);
  command
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
  const { document = [], diff = false } = wanted;
  const own = DOCUMENT_OPTIONS.filter((word) => wanted[word]);
  const [first] = [...own, ...(document.length > 0 ? ['document'] : []), ...(diff ? ['diff'] : [])];
  if (at !== undefined && first !== undefined)
    throw new UsageError(`--at shows the run as it was; --${first} is always the newest one. Give one of the two.`);
  for (const name of [...own, ...document]) say(io, await documentOf(client, runId, name));
  if (diff) say(io, await changesOf(client, runId));
  if (first !== undefined) return EXIT.done;
  const found = await client.getRun(runId, at);
  if (json) sayJson(io, found);
  else {
    const workflows = await client.listWorkflows();
    const lineOf = (run: RunView, depth: number): string =>
      runLine(run, depth, workflowOf({ workflows }, run.workflow.name), found);
    const workflow = workflowOf({ workflows }, found.workflow.name);
    const [first] = await client.listEvents(runId, 0, 1);
    say(io, runPage(found, workflow, inputOfRun(first)));
    // A run as it was cannot be decided.
    if (found.gate !== null && at === undefined)
      for (const each of waysOn(io, found.gate, { run: found, workflow })) say(io, `${' '.repeat(9)}${each}`);
    if (at === undefined) for (const each of await conflictsOf(client, runId)) say(io, `notice     ${each}`);
    // A run as it was may have another result by now.
    if (at === undefined) for (const each of await resultLines(io, client, found)) say(io, each);
    if (found.parent !== undefined) say(io, `child of   ${lineOf(await client.getRun(found.parent.runId), 0)}`);
    for (const child of await childrenOf(client, runId)) {
      say(io, `child      ${lineOf(child, 1)}`);
      if (child.gate !== null) say(io, `           waits for you: ${io.program} show ${child.id}`);
    }
  }
  return EXIT.done;
}

/** Lines about conflicts that merging the run would have now; the first ones. Empty for a server that foresees none. */
async function conflictsOf(client: Client, runId: string): Promise<readonly string[]> {
  const conflicts = await client.listConflicts({ runId }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  });
  const lines = conflicts.slice(0, MOST_CONFLICTS).map((conflict) => sanitizeText(foreseenConflictText(conflict)));
  const more = conflicts.length - lines.length;
  return more === 0 ? lines : [...lines, `Conflicts with ${more} more ${more === 1 ? 'run' : 'runs'}`];
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
