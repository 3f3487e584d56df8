/** The commands `workflow`, for authors of custom workflows. They need no server. */
import type { CommandLine } from '../command-line.ts';
import type { CheckOptions } from './workflow/check.ts';

export function addWorkflow(line: CommandLine): void {
  const { io } = line;
  const workflow = line.command('workflow', 'custom workflows: new, check, test').usage('new|check|test [options]');
  workflow
    .command('new')
    .argument('<name>', "a-z, 0-9 and '-'")
    .description('writes a workflow to begin with, and its test')
    .option('--out <folder>', 'where; else ./NAME')
    .action(
      line.ending(async (name: string, { out }: { readonly out?: string }) =>
        (await import('./workflow/new.ts')).newWorkflow(io, name, out),
      ),
    );
  workflow
    .command('check')
    .argument('<file...>', 'as in AUTONOMOUS_WORKFLOWS: files, or names of packages')
    .description('names every fault for which a server refuses files of workflows; ends with 1 then')
    .option('--mermaid', 'draws each as a Mermaid state diagram')
    .option('--json', 'all parts, diagrams and faults as JSON')
    .action(
      line.ending(async (files: readonly string[], options: CheckOptions) =>
        (await import('./workflow/check.ts')).checkFiles(io, files, options),
      ),
    );
  workflow
    .command('test')
    .argument('<file...>', 'files of node:test')
    .description("runs tests of workflows with the server's own engine")
    .action(line.ending(async (files: readonly string[]) => (await import('./workflow/test.ts')).testFiles(io, files)));
}
