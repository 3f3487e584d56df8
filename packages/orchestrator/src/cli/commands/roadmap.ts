/** The commands of roadmaps: those that read the file need no server. */
import { dependencyFaults, roadmapFaults } from '../../workflows/roadmap-item/item-dependencies.ts';
import { chooseNextItem } from '../../workflows/roadmap-item/next-item.ts';
import { ROADMAP_PATH } from '../../workflows/roadmap-item/roadmap-file.ts';
import { nextItemLines, statusLines } from '../../workflows/roadmap-item/roadmap-texts.ts';
import type { CommandLine } from '../command-line.ts';
import { CommandFailure, EXIT } from '../exit.ts';
import { readTextFile } from '../launch/input-files.ts';
import { type CliIo, note, say, sayJson } from '../io.ts';
import { noteIfBehind, roadmapFileOf, roadmapIn } from '../roadmap-files.ts';
import { addRoadmapWork } from './launch/roadmap-work.ts';

interface NextOptions {
  readonly item?: string;
  readonly json?: boolean;
}

export function addRoadmap(line: CommandLine): void {
  const file = `the roadmap; else ${ROADMAP_PATH} of the repository you stand in`;
  const roadmap = line
    .command('roadmap', 'items of a roadmap: next, work, status, validate, reset')
    .usage('next|work|status|validate|reset [options]');
  addRoadmapWork(line, roadmap);
  roadmap
    .command('next')
    .argument('[file]', file)
    .description('chooses the item to work on next, and says why')
    .option('--item <id>', 'asks for this item; a wont-have is chosen in no other way')
    .option('--json', 'all items with their reasons as JSON')
    .action(line.ending((given: string | undefined, options: NextOptions) => next(line.io, given, options)));
  roadmap
    .command('status')
    .argument('[file]', file)
    .description('shows all items by time horizon and MoSCoW, with phase, tasks and blockers')
    .action(line.ending((given: string | undefined) => status(line.io, given)));
  roadmap
    .command('validate')
    .argument('[file]', file)
    .description('names each fault; ends with 1 where there is one')
    .action(line.ending((given: string | undefined) => validate(line.io, given)));
}

async function next(io: CliIo, given: string | undefined, { item, json }: NextOptions): Promise<number> {
  const file = await roadmapFileOf(io, given);
  const { items } = (await roadmapIn(io, file)).roadmap;
  if (item !== undefined && !items.some(({ id }) => id === item)) throw new CommandFailure(`Item not found: ${item}`);
  const named = item ?? null;
  const chosen = chooseNextItem(items, named);
  const startCommand = (id: string) => `${io.program} roadmap work ${id}`;
  if (json) {
    const started = <Each extends { readonly id: string }>(each: Each) => ({
      ...each,
      startCommand: startCommand(each.id),
    });
    sayJson(
      io,
      {
        file,
        ...chosen,
        selected: chosen.selected && started(chosen.selected),
        inProgress: chosen.inProgress.map(started),
        pullIns: chosen.pullIns.map(started),
      },
      2,
    );
  } else for (const row of nextItemLines(chosen, { startCommand, named })) say(io, row);
  await noteIfBehind(io, file);
  const isRefused = named !== null && chosen.selected === null && !chosen.inProgress.some(({ id }) => id === named);
  return isRefused ? EXIT.notDone : EXIT.done;
}

async function status(io: CliIo, given: string | undefined): Promise<number> {
  const file = await roadmapFileOf(io, given);
  const roadmap = (await roadmapIn(io, file)).roadmap;
  for (const row of statusLines(roadmap)) say(io, row);
  await noteIfBehind(io, file);
  const { length } = dependencyFaults(roadmap.items);
  if (length > 0) note(io, `Dependencies have ${countOf(length)}. See: ${io.program} roadmap validate ${file}`);
  return EXIT.done;
}

async function validate(io: CliIo, given: string | undefined): Promise<number> {
  const file = await roadmapFileOf(io, given);
  const faults = roadmapFaults(await readTextFile(io, file));
  say(io, `${file}: ${faults.length === 0 ? 'no faults' : countOf(faults.length)}`);
  for (const { message } of faults) say(io, `  ${message}`);
  return faults.length === 0 ? EXIT.done : EXIT.notDone;
}

function countOf(faults: number): string {
  return `${faults} ${faults === 1 ? 'fault' : 'faults'}`;
}
