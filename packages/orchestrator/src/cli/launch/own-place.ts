/** The place of a run that may have a repository of its own: the options that name it, and the folder. */
import path from 'node:path';
import { type Command, Option } from 'commander';
import { localDataFolder } from '../connection.ts';
import { UsageError } from '../exit.ts';
import type { CliIo } from '../io.ts';
import { askGit } from '../local-git.ts';
import { folderOfTopic, type OwnRepository, ownRepository } from '../own-repository.ts';

export interface PlaceOptions {
  readonly server?: string;
  readonly project?: string;
  readonly out?: string;
}

export function addOwnPlace(command: Command): Command {
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

/**
 * @returns null: the run belongs to a project
 * @throws {UsageError} when the folder of `--out` cannot become a repository
 */
export async function ownPlaceOf(
  io: CliIo,
  topic: string,
  request: string,
  { project, out, server }: PlaceOptions,
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
