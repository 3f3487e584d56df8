/** The command `take`: takes files of another run's result into the one that waits with its own. */
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { openGate } from '../decide.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, say } from '../io.ts';
import { statusOf } from '../run-texts.ts';

interface TakeOptions extends ServerOptions {
  readonly from: string;
  readonly feedback?: string;
}

export function addTake(line: CommandLine): void {
  line
    .client('take <run> <files...>', "takes files of another run's result into the one that waits with its own")
    .requiredOption('--from <run>', 'the other run')
    .option('--feedback <text>', 'what the agent should do with them; without feedback they are only checked')
    .action(
      line.ending((runId: string, paths: string[], options: TakeOptions) => take(line.io, runId, paths, options)),
    );
}

/** At the gate of a result, or at that of a failed validation: the files come in, and the result is checked anew. */
async function take(io: CliIo, runId: string, paths: readonly string[], options: TakeOptions): Promise<number> {
  const client = await connect(io, options.server);
  const isFailed = (await client.getRun(runId)).gate?.kind === 'fix';
  const gate = await openGate(client, runId, isFailed ? 'retry' : 'reject');
  const { to } = await client.getDiff(options.from);
  const { feedback } = options;
  const taken = await client.decideGate(gate.id, {
    decision: isFailed ? 'retry' : 'reject',
    take: { runId: options.from, commit: to, paths },
    ...(feedback === undefined ? {} : { [isFailed ? 'notes' : 'feedback']: feedback }),
  });
  say(io, `take: ${paths.join(', ')} from run ${options.from}\nthe run is ${statusOf(taken)}`);
  return EXIT.done;
}
