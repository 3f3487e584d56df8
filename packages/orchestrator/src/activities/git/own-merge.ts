/**
 * Finds a merge of the run that its own history does not know: the process was killed after the push, or the record from which the
 * run was rebuilt lags behind. A second merge would bring back what people have taken out since.
 */
import { NeedsHuman } from '@autonomous/shared';
import type { RemoteProject, Repository } from '../../repository/repository.ts';
import { OWN_FOLDER } from '../../repository/repository-paths.ts';
import type { RunHeader } from '../types.ts';
import { withoutBase } from './ways-on.ts';

/** Effect key of the commit that merges a head of a run into a base. */
export function mergeKey(runId: string, baseCommit: string, head: string): string {
  return `${mergesOf(runId)}${baseCommit}/${head}`;
}

function mergesOf(runId: string): string {
  return `${runId}/merge/`;
}

/**
 * @param since the base that the run contains
 * @param base the newest one
 * @returns the newest commit between them that merged the run; `null` if there is none
 */
export async function findOwnMerge(
  repository: Pick<Repository, 'commitsBetween'>,
  project: RemoteProject,
  { runId, since, base }: { readonly runId: string; readonly since: string; readonly base: string },
): Promise<{ readonly commit: string; readonly before: string } | null> {
  const commits = since === base ? [] : await repository.commitsBetween(project, since, base);
  const found = commits.find(({ effectKey }) => effectKey?.startsWith(mergesOf(runId)));
  const [before] = found?.parents ?? [];
  return found === undefined || before === undefined ? null : { commit: found.id, before };
}

/** @throws {NeedsHuman} `merge_conflict` when the base has nothing left of what the merge brought */
export async function assertStands(
  repository: Pick<Repository, 'changes'>,
  project: RemoteProject,
  input: RunHeader & { readonly baseBranch: string },
  { commit, before, base }: { readonly commit: string; readonly before: string; readonly base: string },
): Promise<void> {
  const isCode = (path: string): boolean => !path.startsWith(`${OWN_FOLDER}/`);
  const brought = (await repository.changes(project, before, commit)).map(({ path }) => path).filter(isCode);
  const changed = new Set((await repository.changes(project, before, base)).map(({ path }) => path));
  if (brought.length === 0 || brought.some((path) => changed.has(path))) return;
  throw new NeedsHuman(
    'merge_conflict',
    `This run was merged into ${input.baseBranch} already, as commit ${commit}, and that was reverted there since. It is not merged once more. Cancel the run, or leave its result as a branch.`,
    { ways: [withoutBase(input, 'as it is', `It was merged as ${commit.slice(0, 10)} and reverted since.`)] },
  );
}
