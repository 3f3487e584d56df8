/** The commands `hook`: hooks for Claude Code and their installation, which need no server. */
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
    .command('hook', 'hooks that keep Claude Code at its work: install, uninstall')
    .usage('install|uninstall|stop|checkpoint|resume [options]');
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
    .command('checkpoint')
    .description('the PreCompact hook: reads its input; keeps the transcript and the state of the topic in progress')
    .action(line.ending(async () => (await import('../hooks/checkpoint-hook.ts')).checkpointHook(io)));
  hook
    .command('resume')
    .description('the SessionStart hook: reads its input; prints where the agent reads on')
    .action(line.ending(async () => (await import('../hooks/resume-hook.ts')).resumeHook(io)));
  hook
    .command('install')
    .description('writes the hooks into .claude/settings.json of a repository')
    .option('--project <folder>', 'a folder of the repository; else the one you stand in')
    .option('--max-blocks <n>', limit, numberFrom(1, MOST_BLOCKS))
    .action(
      line.ending(async ({ project, maxBlocks }: ProjectOptions & StopOptions) =>
        (await import('../hooks/install-hooks.ts')).installHooks(io, thisProgram(io.program), { project, maxBlocks }),
      ),
    );
  hook
    .command('uninstall')
    .description('takes the hooks away again, and leaves the file as it was before')
    .option('--project <folder>', 'a folder of the repository; else the one you stand in')
    .action(
      line.ending(async ({ project }: ProjectOptions) =>
        (await import('../hooks/install-hooks.ts')).uninstallHooks(io, { project }),
      ),
    );
}
