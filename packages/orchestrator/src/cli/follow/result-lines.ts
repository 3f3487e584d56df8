/** The commands that show the result of a run and take it in, where it is a branch that nobody merges. */
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { shellWord } from '@autonomous/shared/presentation';
import type { CliIo } from '../io.ts';
import { topOf } from '../local-git.ts';
import { addressAround } from '../project.ts';

/**
 * Lines for the end of a completed run. Each command works as it stands, in the folder that the first line names.
 * @returns no line where the result is not a branch, or was merged, or waits in a pull request
 */
export async function resultLines(
  io: CliIo,
  client: Pick<Client, 'getProject'>,
  { status, published, merged, config, projectId }: RunView,
): Promise<readonly string[]> {
  if (status !== 'completed' || published?.pushed !== true || published.pullRequest || merged) return [];
  const { baseBranch } = config.git;
  // The project may have been removed since.
  const repository = await client.getProject(projectId).then(
    (project) => project.repository,
    () => null,
  );
  const folder = repository === null ? null : await workingFolderOf(repository);
  const isThere = folder !== null && (await holdsBranches(io, folder));
  const [place, remote] = isThere ? [folder, ''] : [`a clone of ${repository ?? 'its repository'}`, 'origin/'];
  const branch = shellWord(`${remote}${published.branch}`);
  return [
    `The result is a branch. To see it and merge it into ${baseBranch}, in ${place}:`,
    ...(isThere ? [] : ['  git fetch origin']),
    `  git diff ${shellWord(`${remote}${baseBranch}`)}...${branch}`,
    // The merge goes into the base branch, whichever branch is checked out.
    `  git switch ${shellWord(baseBranch)} && git merge ${branch}`,
    // Git refuses a push to the branch that is checked out in a folder in which people work.
    ...(folder === null ? [`  git push origin ${shellWord(baseBranch)}`] : []),
  ];
}

/** The folder of this machine in which people work on the repository; `null`: it is a remote. */
async function workingFolderOf(repository: string): Promise<string | null> {
  return path.isAbsolute(repository) && (await topOf(repository)) !== null ? repository : null;
}

/** The person does not stand in a clone of the folder. */
async function holdsBranches(io: CliIo, folder: string): Promise<boolean> {
  const own = await topOf(io.cwd);
  return own === null || own === (await topOf(folder)) || (await addressAround(own)) !== folder;
}
