/** The commands `hook stop`, `hook install` and `hook uninstall`: a Stop hook for Claude Code, which needs no server. */
import { type CommandLine, numberFrom } from '../command-line.ts';
import { thisProgram } from '../hooks/hook-command.ts';

const MOST_BLOCKS = 100;

interface StopOptions {
  readonly maxBlocks?: number;
}
interface ProjectOptions {
  readonly project?: string;
}

export function addHook(line: CommandLine): void {
  const { io } = line;
  const limit = 'refusals in a row, at most, for one prompt, item and phase (default 20)';
  const hook = line
    .command('hook', 'keeps Claude Code at work while an item of the roadmap is in progress')
    .usage('stop|install|uninstall [options]');
  hook
    .command('stop')
    .description('the Stop hook: reads its input; ends with 0 to allow the stop and with 2 to refuse it')
    .option('--max-blocks <n>', limit, numberFrom(1, MOST_BLOCKS))
    .action(
      line.ending(async ({ maxBlocks }: StopOptions) =>
        (await import('../hooks/stop-hook.ts')).stopHook(io, maxBlocks),
      ),
    );
  hook
    .command('install')
    .description('writes the Stop hook into .claude/settings.json of a repository')
    .option('--project <folder>', 'a folder of the repository; else the one you stand in')
    .option('--max-blocks <n>', limit, numberFrom(1, MOST_BLOCKS))
    .action(
      line.ending(async ({ project, maxBlocks }: ProjectOptions & StopOptions) =>
        (await import('../hooks/install-hook.ts')).installHook(io, thisProgram(io.program), { project, maxBlocks }),
      ),
    );
  hook
    .command('uninstall')
    .description('takes the Stop hook away again, and leaves the file as it was before')
    .option('--project <folder>', 'a folder of the repository; else the one you stand in')
    .action(
      line.ending(async ({ project }: ProjectOptions) =>
        (await import('../hooks/install-hook.ts')).uninstallHook(io, { project }),
      ),
    );
}
