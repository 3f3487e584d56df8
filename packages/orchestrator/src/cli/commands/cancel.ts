/** The command `cancel`: ends a run. */
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { say } from '../io.ts';

export function addCancel(line: CommandLine): void {
  line
    .client('cancel <run>', 'ends a run')
    .option('--reason <text>', 'kept with the run')
    .action(
      line.ending(async (runId: string, { server, reason }: ServerOptions & { reason?: string }) => {
        await (await connect(line.io, server)).cancelRun(runId, reason);
        say(line.io, 'cancelled');
        return EXIT.done;
      }),
    );
}
