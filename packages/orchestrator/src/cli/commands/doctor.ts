/** The command `doctor`: examines this machine. */
import type { CommandLine } from '../command-line.ts';

export function addDoctor(line: CommandLine): void {
  line
    .command('doctor', 'checks whether this machine has everything that a run needs')
    .option('--json', 'one JSON object')
    .action(line.ending(async (options: object) => (await import('../doctor.ts')).doctor(options, line.io)));
}
