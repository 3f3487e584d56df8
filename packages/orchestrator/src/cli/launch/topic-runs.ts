/** The options and the start that the commands of workflows with a topic share. */
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { ApiError, type Client } from '@autonomous/shared/client';
import { type Command, Option } from 'commander';
import { collectModels, type JsonOptions } from '../command-line.ts';
import { connect, localDataFolder } from '../connection.ts';
import { type DocumentOptions, documentConfigOf } from './document-config.ts';
import { UsageError } from '../exit.ts';
import { type CliIo, note } from '../io.ts';
import { askGit } from '../local-git.ts';
import { folderOfTopic, type OwnRepository, ownRepository } from '../own-repository.ts';
import { findProject, launchOn } from '../project.ts';
import { addEnd } from './run-end.ts';

export interface TopicOptions extends JsonOptions, DocumentOptions {
  readonly project?: string;
  readonly out?: string;
  readonly detach?: boolean;
}

export interface TopicRun {
  readonly workflow: string;
  readonly topic: string;
  readonly request: string;
  /** Inputs of the workflow; those that are undefined are left out. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly options: TopicOptions;
}

export interface StartedTopic {
  readonly client: Client;
  readonly run: RunView;
  /** Name of the project. */
  readonly project: string;
}

export function addPlace(command: Command): Command {
  return command
    .option(
      '--project <project>',
      'id, name, path or URL; else the repository you stand in, and outside of one a repository of its own in the data folder',
    )
    .addOption(
      new Option('--out <folder>', 'makes a repository of its own in this folder, or goes on in it').conflicts(
        'project',
      ),
    );
}

/** @param when the end, to be read after what the run does then */
export function addTopicEnd(command: Command, when: string): Command {
  return addEnd(command, when)
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--model <role=model>', 'model of a role; may be repeated', collectModels)
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON');
}

/**
 * Starts the run, in a repository of its own where there is no project.
 * @throws {UsageError} when the folder of `--out` cannot become one
 */
export async function startTopic(
  io: CliIo,
  { workflow, topic, request, input, options }: TopicRun,
): Promise<StartedTopic> {
  const config = await documentConfigOf(io, options);
  const client = await connect(io, options.server);
  const own = await ownOf(io, topic, request, options);
  const given = own?.folder ?? options.project;
  const project = await findProject(client, io, given);
  try {
    const run = await launchOn(client, io, given, project, {
      workflow,
      request,
      // Nobody else waits for the result of a repository of its own: it is merged unless something else is asked for.
      config: own === null ? config : { ...config, git: { autoMerge: options.pullRequest !== true, ...config.git } },
      input: { topic, ...Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) },
    });
    if (own !== null && options.json !== true)
      note(io, `${own.isNew ? 'A repository was made for it' : 'It goes on in the repository'}: ${own.folder}`);
    return { client, run, project: project.name };
  } catch (error) {
    // Where no answer came, the run may have been started.
    if (error instanceof ApiError && error.status < 500) await own?.discard();
    throw error;
  }
}

/** @returns null: the run belongs to a project */
async function ownOf(
  io: CliIo,
  topic: string,
  request: string,
  { project, out, server }: TopicOptions,
): Promise<OwnRepository | null> {
  if (project !== undefined) return null;
  if (out === undefined && (await askGit(io.cwd, 'rev-parse', '--git-dir')).ok) return null;
  const dataFolder = await localDataFolder(io, server);
  if (dataFolder === null)
    throw new UsageError(
      out === undefined
        ? `${io.cwd} is not in a git repository, and the server is on another machine. Name a repository that it can reach with --project.`
        : '--out makes a repository on this machine, and the server is on another one. Name a repository that it can reach with --project.',
    );
  const repositories = path.join(dataFolder, 'repositories');
  const folder = out === undefined ? await folderOfTopic(repositories, topic) : path.resolve(io.cwd, out);
  return ownRepository(io, folder, { topic, request });
}
