/**
 * Finds a merge of the run of which the run's own events say nothing: the process was killed after the push, or the record from which
 * the run was rebuilt lags behind. A second merge would bring back what people have taken out since.
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

export interface MergeSearch {
  readonly runId: string;
  /** Head of the run's branch, which is to be merged. */
  readonly head: string;
  /** The base that the head contains. */
  readonly since: string;
  /** The newest one. */
  readonly base: string;
}

/** @returns the newest commit between both bases that merged this result of the run; `null` if there is none */
export async function findOwnMerge(
  repository: Pick<Repository, 'changes' | 'commitsBetween'>,
  project: RemoteProject,
  { runId, head, since, base }: MergeSearch,
): Promise<{ readonly commit: string; readonly before: string } | null> {
  const commits = since === base ? [] : await repository.commitsBetween(project, since, base);
  const found = commits.find(({ effectKey }) => effectKey?.startsWith(mergesOf(runId)));
  const [before] = found?.parents ?? [];
  if (found === undefined || before === undefined) return null;
  const isSame =
    found.effectKey?.endsWith(`/${head}`) === true || (await hasAll(repository, project, found.id, since, head));
  // A run may merge more than one result, one after the other.
  return isSame ? { commit: found.id, before } : null;
}

/** Compares the code files that the run changed. @returns true when the commit has the same contents */
async function hasAll(
  repository: Pick<Repository, 'changes'>,
  project: RemoteProject,
  commit: string,
  since: string,
  head: string,
): Promise<boolean> {
  const differing = new Set((await repository.changes(project, commit, head)).map(({ path }) => path));
  return (await repository.changes(project, since, head)).every(({ path }) => !isCode(path) || !differing.has(path));
}

function isCode(path: string): boolean {
  return !path.startsWith(`${OWN_FOLDER}/`);
}

/** @throws {NeedsHuman} `merge_conflict` when the base has nothing left of what the merge brought */
export async function assertStands(
  repository: Pick<Repository, 'changes'>,
  project: RemoteProject,
  input: RunHeader & { readonly baseBranch: string },
  { commit, before, base }: { readonly commit: string; readonly before: string; readonly base: string },
): Promise<void> {
  const brought = (await repository.changes(project, before, commit)).map(({ path }) => path).filter(isCode);
  const changed = new Set((await repository.changes(project, before, base)).map(({ path }) => path));
  if (brought.length === 0 || brought.some((path) => changed.has(path))) return;
  throw new NeedsHuman(
    'merge_conflict',
    `This run was merged into ${input.baseBranch} already, as commit ${commit}, and that was reverted there since. It is not merged once more. Cancel the run, or leave its result as a branch.`,
    { ways: [withoutBase(input, 'as it is', `It was merged as ${commit.slice(0, 10)} and reverted since.`)] },
  );
}
