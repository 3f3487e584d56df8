/** The command `history`: lists the events of a run. */
import type { WorkflowEvent, WorkflowInfo } from '@autonomous/shared';
import { eventName, fieldsText } from '@autonomous/shared/presentation';
import type { CommandLine, JsonOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, say, sayJson } from '../io.ts';
import { workflowOfRun } from '../run-workflow.ts';
import { describeEvent } from '../follow/timeline.ts';

export function addHistory(line: CommandLine): void {
  line
    .client('history <run>', 'lists the events of a run, each with its number, time and type')
    .option('--json', 'one JSON line an event')
    .action(line.ending((runId: string, options: JsonOptions) => history(line.io, runId, options)));
}

async function history(io: CliIo, runId: string, { server, json }: JsonOptions): Promise<number> {
  const client = await connect(io, server);
  const run = await client.getRun(runId);
  const { lastSequence } = run;
  const workflow = json ? undefined : await workflowOfRun(client, run);
  for (let after = 0; after < lastSequence;) {
    const events = await client.listEvents(runId, after, 1_000);
    for (const event of events)
      if (json) sayJson(io, event);
      else say(io, historyLine(event, String(lastSequence).length, workflow));
    const last = events.at(-1);
    if (!last) break;
    after = last.sequence;
  }
  return EXIT.done;
}

/** One event in a history: its sequence, time, type and payload. */
export function historyLine(event: WorkflowEvent, width: number, workflow?: WorkflowInfo): string {
  // An event that says nothing to most people has a line here, too.
  const [said = ''] = (describeEvent(event, null, workflow)?.text ?? fieldsText(event.payload)).split('\n');
  // The type stands before it.
  const name = `${eventName(event.type)}: `;
  const text = said.startsWith(name) ? said.slice(name.length) : said;
  const cut = text.length > 120 ? `${text.slice(0, 120)}…` : text;
  const time = event.timestamp.slice(0, 19).replace('T', ' ');
  return `${String(event.sequence).padStart(width)}  ${time}  ${event.type.padEnd(24)}  ${cut}`.trimEnd();
}
