/** The command `ask`: asks the agent about what a gate shows and prints the reply. */
import type { CommandLine, DecidingOptions } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { openGate } from '../../gates/decide.ts';
import { EXIT } from '../../exit.ts';
import { followRun } from '../../follow/follow.ts';
import type { CliIo } from '../../io.ts';

export function addAsk(line: CommandLine): void {
  line
    .deciding('ask <run> <question...>', 'asks the agent about what the gate shows and prints the reply')
    .action(
      line.ending((runId: string, words: string[], options: DecidingOptions) =>
        ask(line.io, runId, words.join(' '), options),
      ),
    );
}

async function ask(io: CliIo, runId: string, question: string, options: DecidingOptions): Promise<number> {
  const client = await connect(io, options.server);
  const gate = await openGate(client, runId, 'ask');
  // It decides nothing: nobody has to be asked whether they mean it.
  const asked = await client.decideGate(options.gate ?? gate.id, { decision: 'ask', question });
  await followRun({ client, io, runId, json: false, atGate: 'end', after: asked.lastSequence });
  return EXIT.done;
}
