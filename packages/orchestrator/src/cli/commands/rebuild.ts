/** The command `rebuild`: fills an empty database from the records in git. */
import type { CommandLine } from '../command-line.ts';

export function addRebuild(line: CommandLine): void {
  line
    .command('rebuild', 'fills an empty database from the records that git has; no server may be running')
    .requiredOption('--from <place...>', 'clone or URL of each project, with its branch autonomous/record')
    .option('--data <folder>', "the server's data folder, new or without a database (AUTONOMOUS_DATA)")
    // Loaded when needed: a client needs none of the server's libraries.
    .action(
      line.ending(async (options: { readonly from: readonly string[]; readonly data?: string }) =>
        (await import('../rebuild.ts')).rebuildFrom(options, line.io),
      ),
    );
}
