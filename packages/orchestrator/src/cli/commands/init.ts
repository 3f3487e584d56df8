/** The command `init`: prepares a clone for runs. */
import type { CommandLine } from '../command-line.ts';

export function addInit(line: CommandLine): void {
  line
    .command('init [folder]', 'writes .autonomous/config.json into a clone, with the commands that are found in it')
    .option('--test <command>', 'checks the project; else what its files say')
    .option('--setup <command>', 'installs its dependencies; else what its files say')
    .action(
      line.ending(async (folder: string | undefined, options: { readonly test?: string; readonly setup?: string }) =>
        (await import('../init.ts')).init(line.io, folder, options),
      ),
    );
}
