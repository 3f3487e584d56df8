/** The changes that a record makes to a project: of every commit and tree that the state of its run names, whatever a field calls it. */
import { allOwnedPaths, type JsonValue, NeedsHuman, type Project, type RunView } from '@autonomous/shared';
import { type OwnedPaths, ownedPaths } from '../documents/owned-files.ts';
import type { RecordedState } from '../engine/rebuilt/rebuilt-pause.ts';
import { isOwnBranch } from '../path-rules/branch-names.ts';
import type { Repository, TreeChange } from '../repository/repository.ts';

/** Commits and trees of one run that are looked at. More cannot be shown. */
const MOST_COMMITS = 1_000;
/** Characters of the paths of all changes. More cannot be shown. */
const MOST_PATHS = 500_000;

export interface RecordedChanges {
  /** Base branch of the project. */
  readonly baseBranch: string;
  /** The run's base commit is not in that branch: it is no state of the project that people know. */
  readonly isBesideBase: boolean;
  /** Changes from that branch, by path. */
  readonly files: readonly TreeChange[];
  /** Commits that are not here. */
  readonly missing: readonly string[];
  /** There are more changes than can be shown. Absent: these are all. */
  readonly isTooMuch?: true;
}

/** A run with those that it started. */
export interface RecordedFamily {
  readonly view: RunView;
  readonly children: readonly Pick<RunView, 'headCommit' | 'status'>[];
  readonly state: RecordedState;
  /** Commits at which the run begins, and those above it started. Default: none beside its base. */
  readonly starts?: readonly string[];
}

type Reads = Pick<Repository, 'changes' | 'isAncestor' | 'kindsOf' | 'mergeBase' | 'remoteHead'>;

export async function recordedChanges(
  repository: Reads,
  project: Project,
  { view, children, state, starts = [] }: RecordedFamily,
): Promise<RecordedChanges> {
  const { baseCommit, headCommit, config } = view;
  const { baseBranch } = project;
  const base = await repository.remoteHead(project, baseBranch);
  // Anybody who can push can make the branch that a record names. The branch of a parent need not be on the remote.
  const named = config.git.baseBranch;
  const begins = named === '' || isOwnBranch(named) ? null : await repository.remoteHead(project, named);
  // A person may go on from what lies on the branch of the run there, and so may anybody.
  const pushed = view.branch === '' ? null : await repository.remoteHead(project, view.branch);
  // A child run that failed or was cancelled is not merged.
  const merged = children.filter(({ status }) => status !== 'failed' && status !== 'cancelled');
  // These are commits for certain; of the others, digests look the same.
  const certain = [
    baseCommit,
    headCommit,
    begins ?? undefined,
    pushed ?? undefined,
    ...starts,
    ...merged.map((child) => child.headCommit),
  ].filter((id) => id !== undefined);
  const ids = new Set([
    ...certain.filter(isCommitId),
    ...[...textsIn(state as unknown as JsonValue)].filter(isCommitId),
  ]);
  const kinds = await repository.kindsOf(project, [...ids]);
  const missing = certain.filter((id) => kinds.get(id) !== 'commit');
  const files = new Map<string, TreeChange>();
  let length = 0;
  let isTooMuch = kinds.size > MOST_COMMITS || base === null;
  const isKnown = isCommitId(baseCommit) && kinds.get(baseCommit) === 'commit';
  // A tree has no history of its own: what the base of the run changes is among the changes of its commits.
  const from = { commit: base ?? '', tree: isKnown ? baseCommit : (base ?? '') };
  const owned = ownedPaths(allOwnedPaths(view.ownedFiles));
  for (const [id, kind] of isTooMuch ? [] : kinds) {
    const all = await changesFrom(repository, project, from[kind], id, kind);
    // A tree of code is without the files of the server.
    const changes =
      kind === 'commit' ? all : (all?.filter((each) => each.after !== null || !isOfServer(each.path, owned)) ?? null);
    for (const change of changes ?? []) {
      length += change.path.length;
      files.set(`${change.path}\0${change.after?.oid ?? ''}\0${change.after?.mode ?? ''}`, change);
    }
    isTooMuch ||= changes === null || length > MOST_PATHS;
    if (isTooMuch) break;
  }
  return {
    baseBranch,
    isBesideBase: isKnown && base !== null && !(await repository.isAncestor(project, baseCommit, base)),
    files: [...files.values()],
    missing,
    ...(isTooMuch ? { isTooMuch } : {}),
  };
}

const isOfServer = (path: string, owned: OwnedPaths): boolean => path.startsWith('.autonomous/') || owned.has(path);

/** Changes of a tree, or of a commit since it left the base; `null`: there are more than are listed. */
async function changesFrom(
  repository: Reads,
  project: Project,
  base: string,
  id: string,
  kind: 'commit' | 'tree',
): Promise<readonly TreeChange[] | null> {
  const from = kind === 'tree' ? base : ((await repository.mergeBase(project, base, id)) ?? base);
  if (from === id) return [];
  try {
    return await repository.changes(project, from, id);
  } catch (error) {
    if (error instanceof NeedsHuman) return null;
    throw error;
  }
}

const isCommitId = (id: string | undefined): id is string => id !== undefined && /^[0-9a-f]{40}$/.test(id);

/** All texts and names of fields, in the order in which they stand. */
export function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value)) {
      if (!Array.isArray(value)) yield name;
      if (each !== undefined) yield* textsIn(each);
    }
}
