/** The command `gates`: lists the gates that wait for a person. */
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
  const open = await (await connect(io, server)).listGates();
  for (const gate of open)
    if (json) sayJson(io, gate);
    else say(io, gateLine(gate));
  if (open.length === 0 && !json) note(io, 'Nothing waits for a person.');
  return EXIT.done;
}
