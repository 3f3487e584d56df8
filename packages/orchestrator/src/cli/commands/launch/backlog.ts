/** The command `backlog run`: works through the items of a backlog. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ProjectConfig, RunConfigRequest, RunView } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { CONFIG_PATH, type OwnConfig, ownConfigOf } from '../../../run-config/project-config.ts';
import { type CommandLine, type JsonOptions, numberFrom } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { CommandFailure, EXIT, exitCodeOf } from '../../exit.ts';
import { followWatching } from '../../follow/follow-watching.ts';
import { readConfigFile, readTextFile } from '../../launch/input-files.ts';
import { type CliIo, note, say, sayJson } from '../../io.ts';
import { topOf } from '../../local-git.ts';
import { refusedBeside } from '../../launch/open-run.ts';
import { placeOf } from '../../launch/plan-outline.ts';
import { findProject, launchOn } from '../../project.ts';
import { openProgressLog, type ProgressLogFile } from '../../follow/progress-log-file.ts';
import { addEnd, endOf, type EndOptions } from '../../launch/run-end.ts';
import { columnsOf, readBacklog } from '../../../workflows/backlog/backlog-table.ts';
import { inOrder } from '../../../workflows/backlog/files.ts';
import { progressFiles } from '../../../workflows/backlog/progress-file.ts';
import { progressPlaceOf } from '../../../workflows/backlog/progress-place.ts';
import { DEFAULT_BACKLOG } from '../../../workflows/backlog/types.ts';

const WORKFLOW = 'backlog';
const STOPPED = 'backlog_stopped';

interface BacklogOptions extends JsonOptions, EndOptions {
  readonly project?: string;
  readonly item?: string;
  readonly maxIterations?: number;
  readonly keepGoing?: boolean;
  readonly parallel?: number;
  readonly specs?: string;
  readonly base?: string;
  readonly config?: string;
  readonly dryRun?: boolean;
  readonly detach?: boolean;
}

export function addBacklog(line: CommandLine): void {
  const backlog = line
    .command('backlog', 'works through the items of a table in Markdown: backlog run')
    .usage('run [FILE] [options]');
  const run = backlog
    .command('run [file]')
    .description(
      `works through the queued items of a table in Markdown; without FILE that of the project's configuration, else ${DEFAULT_BACKLOG}`,
    )
    .option('--server <url>', 'address of the server; else AUTONOMOUS_SERVER, else this machine')
    .option('--project <project>', 'id, name, path or URL; else the repository you stand in')
    .option('--item <id>', 'only this item')
    .option('--max-iterations <count>', 'attempts at items; else 20', numberFrom(1, 1_000))
    .option('--keep-going', 'go on with items that do not depend on a blocked one')
    .option('--parallel <count>', 'items at the same time that do not depend on each other; else 1', numberFrom(1, 8))
    .option(
      '--specs <folder>',
      "folder of the specifications; else that of the project's configuration, else ai/features",
    );
  addEnd(run, 'when nothing is queued any more')
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--dry-run', 'only show the items in their order; needs no server')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run and with --dry-run the items as JSON')
    .action(line.ending((file: string | undefined, options: BacklogOptions) => runBacklog(line.io, file, options)));
}

async function runBacklog(io: CliIo, file: string | undefined, options: BacklogOptions): Promise<number> {
  if (options.dryRun) return showItems(io, file, options);
  const config = await configOf(io, options);
  const client = await connect(io, options.server);
  const project = await findProject(client, io, options.project);
  const { item, maxIterations, keepGoing, parallel, specs } = options;
  const launched = await launchOn(client, io, options.project, project, {
    workflow: WORKFLOW,
    config,
    input: {
      ...(file === undefined ? {} : { file: await pathIn(io, file) }),
      ...(specs === undefined ? {} : { specs }),
      ...(item === undefined ? {} : { item }),
      ...(maxIterations === undefined ? {} : { maxIterations }),
      ...(keepGoing === undefined ? {} : { keepGoing }),
      ...(parallel === undefined ? {} : { parallel }),
    },
  }).catch((error: unknown) => refusedBeside(io, error));
  if (options.detach) {
    if (options.json) sayJson(io, launched);
    else say(io, `${launched.id}\nFollow it with: ${io.program} watch ${launched.id}`);
    return EXIT.done;
  }
  if (!options.json) say(io, `run ${launched.id} on ${project.name}: ${launched.originalRequest}`);
  return follow(io, client, launched, options);
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

async function showItems(io: CliIo, named: string | undefined, { json, item }: BacklogOptions): Promise<number> {
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

async function follow(io: CliIo, client: Client, launched: RunView, options: BacklogOptions): Promise<number> {
  const { json = false } = options;
  const log = await progressLogOf(io, client, launched, options);
  const { run, gates } = await followWatching({
    client,
    io,
    runId: launched.id,
    json,
    onEvent: (event) => log?.take(event),
  });
  await log?.written();
  if (gates.some(({ kind, details }) => kind === STOPPED && details['attempts'] !== undefined)) return EXIT.limit;
  return exitCodeOf(run);
}

/** @returns `null` where the person does not stand in a clone of the project, or the project wants no such file */
async function progressLogOf(
  io: CliIo,
  client: Client,
  run: RunView,
  { project }: BacklogOptions,
): Promise<ProgressLogFile | null> {
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

async function configOf(io: CliIo, options: BacklogOptions): Promise<RunConfigRequest> {
  const file = options.config === undefined ? {} : await readConfigFile(io, options.config);
  const git = {
    ...file.git,
    ...endOf(options),
    ...(options.base === undefined ? {} : { baseBranch: options.base }),
  };
  return {
    ...file,
    ...(Object.keys(git).length === 0 ? {} : { git }),
  };
}
