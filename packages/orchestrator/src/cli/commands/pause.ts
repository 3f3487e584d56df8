/** The command `pause`: pauses a run, and the runs below it, until somebody retries it. */
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { say } from '../io.ts';

export function addPause(line: CommandLine): void {
  line
    .client('pause <run>', 'pauses a run and the runs below it; retry continues them')
    .option('--reason <text>', 'kept with the run')
    .action(
      line.ending(async (runId: string, { server, reason }: ServerOptions & { reason?: string }) => {
        const { id } = await (await connect(line.io, server)).pauseRun(runId, reason);
        say(line.io, `paused; continue it with: ${line.io.program} retry ${id}`);
        return EXIT.done;
      }),
    );
}
