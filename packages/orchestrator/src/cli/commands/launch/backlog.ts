/** The command `backlog run`: works through the items of a backlog. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject, ProjectConfig } from '@autonomous/shared';
import { CONFIG_PATH, type OwnConfig, ownConfigOf } from '../../../run-config/project-config.ts';
import { columnsOf, readBacklog } from '../../../workflows/backlog/backlog-table.ts';
import { backlogCommand } from '../../../workflows/backlog/command.ts';
import { inOrder } from '../../../workflows/backlog/files.ts';
import { progressFiles } from '../../../workflows/backlog/progress-file.ts';
import { progressPlaceOf } from '../../../workflows/backlog/progress-place.ts';
import { DEFAULT_BACKLOG } from '../../../workflows/backlog/types.ts';
import type { CommandLine } from '../../command-line.ts';
import { CommandFailure, EXIT, exitCodeOf } from '../../exit.ts';
import type { Watch } from '../../follow/follow-started.ts';
import { openProgressLog, type ProgressLogFile } from '../../follow/progress-log-file.ts';
import { type CliIo, note, say, sayJson } from '../../io.ts';
import { readTextFile } from '../../launch/input-files.ts';
import { placeOf } from '../../launch/plan-outline.ts';
import {
  addCommandOf,
  type CommandHooks,
  type CommandOptions,
  sourceOf,
  type StartedRun,
} from '../../launch/workflow-command.ts';
import { topOf } from '../../local-git.ts';
import { findProject } from '../../project.ts';

const STOPPED = 'backlog_stopped';

export function addBacklog(line: CommandLine): void {
  const group = line
    .command('backlog', 'works through the items of a table in Markdown: backlog run')
    .usage('run [FILE] [options]');
  const hooks: CommandHooks = {
    options: (command) => command.option('--dry-run', 'only show the items in their order; needs no server'),
    instead: async (io, input, options) => (options['dryRun'] === true ? showItems(io, input, options) : null),
    input: async (io, { file, ...input }) =>
      typeof file === 'string' ? { ...input, file: await pathIn(io, file) } : input,
    watch,
  };
  addCommandOf(line, sourceOf(backlogCommand), hooks, group);
}

/** The server reads the file of the base branch, so that it need not be here. */
async function pathIn(io: CliIo, file: string): Promise<string> {
  try {
    return (await placeOf(io, file)).planPath;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return file;
    throw error;
  }
}

async function showItems(io: CliIo, input: JsonObject, { json }: CommandOptions): Promise<number> {
  const { item, file: named } = input as { readonly item?: string; readonly file?: string }; // by the schema of the input
  const config = await projectConfigHere(io);
  const file = named ?? config?.backlog?.file ?? DEFAULT_BACKLOG;
  const read = readBacklog(await readTextFile(io, file), columnsOf(config));
  if (!read.ok) throw new CommandFailure([`${file} cannot be used:`, ...read.faults].join('\n  '));
  const items = inOrder(read.backlog, item);
  if (item !== undefined && items.length === 0) throw new CommandFailure(`Item not found: ${item}`);
  if (json) sayJson(io, { file, items });
  else if (items.length === 0) say(io, `Nothing is queued in ${file}.`);
  else
    for (const each of items) {
      const waits = each.dependsOn.length === 0 ? '' : `, after ${each.dependsOn.join(', ')}`;
      say(
        io,
        `${each.id}  ${each.status}${each.priority === null ? '' : `, P${each.priority}`}${waits}  ${each.title}`,
      );
    }
  return EXIT.done;
}

/** The configuration of the repository that the person stands in; `null` where there is none that can be read. */
async function projectConfigHere(io: CliIo): Promise<ProjectConfig | null> {
  const top = await topOf(io.cwd);
  const { config, fault } = top === null ? ownConfigOf(null) : await ownConfigIn(top);
  if (fault !== null) note(io, fault);
  return config;
}

async function ownConfigIn(top: string): Promise<OwnConfig> {
  return ownConfigOf(await readFile(path.join(top, CONFIG_PATH), 'utf8').catch(() => null));
}

/** Writes the progress log beside the backlog, and notices that its limit has stopped the run. */
async function watch(started: StartedRun): Promise<Watch> {
  const log = await progressLogOf(started);
  return {
    onEvent: (event) => log?.take(event),
    async end(_, { run, gates }) {
      await log?.written();
      const isStopped = gates.some(({ kind, details }) => kind === STOPPED && details['attempts'] !== undefined);
      return isStopped ? EXIT.limit : exitCodeOf(run);
    },
  };
}

/** @returns `null` where the person does not stand in a clone of the project, or the project wants no such file */
async function progressLogOf({ io, client, run, options: { project } }: StartedRun): Promise<ProgressLogFile | null> {
  const [file] = run.ownedFiles?.paths ?? [];
  const top = await topOf(io.cwd);
  if (top === null || file === undefined) return null;
  const { config } = await ownConfigIn(top);
  if (config?.backlog?.progressLog === false) return null;
  if (project !== undefined) {
    const here = await findProject(client, io, undefined).catch(() => null);
    if (here === null || !('id' in here) || here.id !== run.projectId) return null;
  }
  return openProgressLog(io, top, progressPlaceOf(file).log, {
    id: run.id,
    textOf: (events) => Object.values(progressFiles(run, events)).join('\n'),
  });
}
