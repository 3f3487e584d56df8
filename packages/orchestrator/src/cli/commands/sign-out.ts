/** The command `sign-out`: signs every browser out of the dashboard. */
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { say } from '../io.ts';

export function addSignOut(line: CommandLine): void {
  line.client('sign-out', 'signs every browser out of the dashboard').action(
    line.ending(async ({ server }: ServerOptions) => {
      const ended = await (await connect(line.io, server)).signOut({ everywhere: true });
      say(line.io, ended === 1 ? '1 browser was signed out.' : `${ended} browsers were signed out.`);
      return EXIT.done;
    }),
  );
}
