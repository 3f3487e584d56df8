/** The command `sign-in`: prints a link that signs a browser in. */
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { say } from '../io.ts';

export function addSignIn(line: CommandLine): void {
  line.client('sign-in', 'prints a link that signs one browser in to the dashboard, once').action(
    line.ending(async ({ server }: ServerOptions) => {
      say(line.io, await (await connect(line.io, server)).createSignInLink());
      return EXIT.done;
    }),
  );
}
