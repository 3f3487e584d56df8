/** The command `message`: sends a message to the agent of a run. */
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT, UsageError } from '../exit.ts';
import { say } from '../io.ts';
import { statusLine } from '../run-texts.ts';

export function addMessage(line: CommandLine): void {
  line
    .client(
      'message <run> <text...>',
      'sends a message to the agents of a run and of the runs below it; they read it at their next step',
    )
    .action(
      line.ending(async (runId: string, words: string[], { server }: ServerOptions) => {
        const text = words.join(' ');
        if (text.trim() === '') throw new UsageError('There is no message; give it after the run.');
        const told = await (await connect(line.io, server)).sendMessage(runId, text);
        say(line.io, `sent; ${statusLine(told, line.io.program)}`);
        for (const { runId: below, why } of told.unreached ?? []) say(line.io, `not sent to run ${below}: ${why}`);
        return EXIT.done;
      }),
    );
}
