/** The commands `roadmap work`, which has an item of the roadmap carried out, and `roadmap reset`. */
import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { itemCommand } from '../../../workflows/roadmap-item/command.ts';
import { ROADMAP_PATH, writeRoadmap } from '../../../workflows/roadmap-item/roadmap-file.ts';
import type { CommandLine } from '../../command-line.ts';
import { CommandFailure, EXIT } from '../../exit.ts';
import { type CliIo, note, say } from '../../io.ts';
import { addCommandOf, type CommandHooks, sourceOf } from '../../launch/workflow-command.ts';
import { roadmapFileOf, roadmapIn } from '../../roadmap-files.ts';

/** Adds the commands to the group `roadmap`. */
export function addRoadmapWork(line: CommandLine, roadmap: Command): void {
  const hooks: CommandHooks = {
    options: (command) =>
      command.addOption(new Option('--manual', 'the same as --approvals all').conflicts('approvals')),
    input: async (_io, input, { manual }) => (manual === true ? { ...input, approvals: 'all' } : input),
  };
  addCommandOf(line, sourceOf(itemCommand), hooks, roadmap);
  roadmap
    .command('reset <id>')
    .argument('[file]', `the roadmap; else ${ROADMAP_PATH} of the repository you stand in`)
    .description('sets an item back to not-started in the file; commit and push it then')
    .action(line.ending((id: string, file: string | undefined) => reset(line.io, id, file)));
}

/** The file is replaced in one step, so that nobody reads half of it. */
async function reset(io: CliIo, id: string, given: string | undefined): Promise<number> {
  const file = await roadmapFileOf(io, given);
  const { roadmap, text } = await roadmapIn(io, file);
  const item = roadmap.items.find((each) => each.id === id);
  if (item === undefined) throw new CommandFailure(`Item not found: ${id}`);
  const { tasksTotal: _total, tasksCompleted: _completed, ...state } = item.workflowState ?? {};
  const again = {
    ...item,
    status: 'not-started' as const,
    updatedAt: new Date().toISOString(),
    workflowState: { ...state, phase: 'not-started' as const, attempts: 0, blockers: [] },
  };
  const items = roadmap.items.map((each) => (each === item ? again : each));
  await replaceFile(path.resolve(io.cwd, file), writeRoadmap({ ...roadmap, items }, text));
  say(io, `${id} is not-started in ${file}. Commit and push it.`);
  note(io, `A run that works on it goes on: cancel it first (${io.program} list shows it).`);
  return EXIT.done;
}

async function replaceFile(file: string, text: string): Promise<void> {
  const next = `${file}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    await writeFile(next, text, { flag: 'wx' });
    await rename(next, file);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}
