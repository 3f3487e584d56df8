/** The command `signal`: sends a signal that the workflow of a run declares. */
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { readJson } from '../launch/input-files.ts';
import { say } from '../io.ts';
import { statusLine } from '../run-texts.ts';

export function addSignal(line: CommandLine): void {
  line
    .client(
      'signal <run> <type> [payload]',
      'sends a signal that the workflow of a run declares; its payload is JSON or @FILE',
    )
    .action(
      line.ending(async (runId: string, type: string, payload: string | undefined, { server }: ServerOptions) => {
        const fields = payload === undefined ? {} : await readJson(line.io, payload, 'The payload');
        const after = await (await connect(line.io, server)).sendSignal(runId, { ...fields, type });
        say(line.io, `${type}; ${statusLine(after, line.io.program)}`);
        return EXIT.done;
      }),
    );
}
