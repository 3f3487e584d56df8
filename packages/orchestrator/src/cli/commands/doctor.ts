/** The command `doctor`: examines this machine. */
import type { CommandLine } from '../command-line.ts';

export function addDoctor(line: CommandLine): void {
  line
    .command('doctor [project]', 'checks whether this machine, and a project on it, has everything that a run needs')
    .option('--json', 'one JSON object')
    .option('--base <branch>', 'branch of the project that is examined; else the one that a run would start from')
    .action(
      line.ending(async (project: string | undefined, options: object) =>
        (await import('../doctor/doctor.ts')).doctor({ ...options, project }, line.io),
      ),
    );
}
