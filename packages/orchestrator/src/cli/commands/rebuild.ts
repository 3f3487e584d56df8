/** The command `rebuild`: fills an empty database from the records in git. */
import { collect, type CommandLine } from '../command-line.ts';
import type { RebuildCommand } from '../rebuild.ts';

export function addRebuild(line: CommandLine): void {
  line
    .command('rebuild', 'fills an empty database from the records that git has; no server may be running')
    .requiredOption('--from <place...>', 'clone or URL of each project, with its branch autonomous/record')
    .option('--data <folder>', "the server's data folder, new or without a database (AUTONOMOUS_DATA)")
    .option(
      '--remote <project=url>',
      'address of a project, where it is not the URL or the origin of its clone; once for each project',
      collect,
    )
    .option(
      '--base <project=branch>',
      'base branch of a project, where that of the record is not the one of its remote; once for each project',
      collect,
    )
    // Loaded when needed: a client needs none of the server's libraries.
    .action(
      line.ending(async (options: RebuildCommand) => (await import('../rebuild.ts')).rebuildFrom(options, line.io)),
    );
}
