/** The command `take`: takes files of another run's result into the one that waits with its own. */
import { gateInfoOf } from '@autonomous/shared';
import { type CommandLine, namedRun, type ServerOptions } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { openGate } from '../../gates/decide.ts';
import { CommandFailure, EXIT } from '../../exit.ts';
import { type CliIo, say } from '../../io.ts';
import { statusLine } from '../../run-texts.ts';
import { workflowOfRun } from '../../run-workflow.ts';

interface TakeOptions extends ServerOptions {
  readonly from: string;
  readonly feedback?: string;
}

export function addTake(line: CommandLine): void {
  line
    .client('take <run> <files...>', "takes files of another run's result into the one that waits with its own")
    .requiredOption('--from <run>', 'the other run', namedRun)
    .option('--feedback <text>', 'what the agent should do with them; without feedback they are only checked')
    .action(
      line.ending((runId: string, paths: string[], options: TakeOptions) => take(line.io, runId, paths, options)),
    );
}

/**
 * Takes the files with the decision that the open gate declares for it, and the result is checked again.
 * @throws {CommandFailure} when the run waits at a gate at which no files can be taken
 */
async function take(io: CliIo, runId: string, paths: readonly string[], options: TakeOptions): Promise<number> {
  const client = await connect(io, options.server);
  const run = await client.getRun(runId);
  const info = run.gate && gateInfoOf(await workflowOfRun(client, run), run.gate.kind);
  if (info !== null && info.takesFilesOn === undefined)
    throw new CommandFailure(`Run ${runId} waits at the gate '${info.title}', at which no files can be taken.`);
  // A run that waits for nobody is refused by its decision.
  const decision = info?.takesFilesOn ?? 'reject';
  const gate = await openGate(client, runId, decision);
  const { to } = await client.getDiff(options.from);
  const { feedback } = options;
  const taken = await client.decideGate(gate.id, {
    decision,
    take: { runId: options.from, commit: to, paths },
    ...(feedback === undefined ? {} : { [decision === 'reject' ? 'feedback' : 'notes']: feedback }),
  });
  say(io, `take: ${paths.join(', ')} from run ${options.from}\n${statusLine(taken, io.program)}`);
  return EXIT.done;
}
