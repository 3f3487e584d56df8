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
  const isThere = repository !== null && (await holdsBranches(io, repository));
  const [place, remote] = isThere ? [repository, ''] : [`a clone of ${repository ?? 'its repository'}`, 'origin/'];
  const branch = shellWord(`${remote}${published.branch}`);
  return [
    `The result is a branch. To see it and merge it into ${baseBranch}, in ${place}:`,
    ...(isThere ? [] : ['  git fetch origin']),
    `  git diff ${shellWord(`${remote}${baseBranch}`)}...${branch}`,
    // The merge goes into the base branch, whichever branch is checked out.
    `  git switch ${shellWord(baseBranch)} && git merge ${branch}`,
  ];
}

/** The repository is a folder in which people work on this machine, and the person does not stand in a clone of it. */
async function holdsBranches(io: CliIo, repository: string): Promise<boolean> {
  const top = path.isAbsolute(repository) ? await topOf(repository) : null;
  if (top === null) return false;
  const own = await topOf(io.cwd);
  return own === null || own === top || (await addressAround(own)) !== repository;
}
