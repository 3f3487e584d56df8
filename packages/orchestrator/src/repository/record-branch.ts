/**
 * The orphan branch on which a project's open runs are recorded. It only ever grows: when the remote has moved on, the
 * changes that only this mirror has are written again on top.
 */
import { NeedsHuman } from '@autonomous/shared';
import type { GitPlace } from './git.ts';
import { diffTrees, editTree, FILE_MODE, type TreeEdit, writeBlobs } from './git-trees.ts';
import type { PushResult, RecordKeeper } from './repository.ts';
import { EMPTY_TREE } from './repository-paths.ts';

/** Writers of other mirrors may win a race this often in a row before the push is left to the next record. */
const MAX_ATTEMPTS = 5;

/** Access to the mirror that recording needs. Commits are `null` where there is no such branch. */
export interface RecordRefs {
  localHead(): Promise<string | null>;
  /** As last fetched. */
  remoteHead(): Promise<string | null>;
  treeOf(commit: string): Promise<string>;
  mergeBase(a: string, b: string): Promise<string | null>;
  commitTree(tree: string, parent: string | null, message: string): Promise<string>;
  /** @throws {Conflict} when the branch is not at `before` */
  moveLocal(commit: string, before: string | null): Promise<void>;
  push(commit: string, expected: string | null): Promise<PushResult>;
  /** Makes `remoteHead` what the remote has now. */
  refresh(remoteCommit: string | null): Promise<void>;
}

export async function recordFiles(
  place: GitPlace,
  refs: RecordRefs,
  files: Readonly<Record<string, string>>,
  message: string,
  keep: RecordKeeper | undefined,
  to: 'remote' | 'mirror',
): Promise<{ readonly commit: string; readonly pushed: boolean }> {
  const paths = Object.keys(files);
  const oids = await writeBlobs(place, Object.values(files));
  const edits: TreeEdit[] = paths.map((path, index) => ({ path, mode: FILE_MODE, oid: oids[index] ?? null }));
  let commit = await commitOnTop(place, refs, edits, message, keep);
  if (to === 'mirror') return { commit, pushed: false };
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const remote = await refs.remoteHead();
    if (remote === commit) return { commit, pushed: true };
    try {
      const result = await refs.push(commit, remote);
      if (result.ok) return { commit, pushed: true };
      await refs.refresh(result.remoteCommit);
    } catch (error) {
      if (error instanceof NeedsHuman && error.reason === 'remote_unavailable') return { commit, pushed: false };
      throw error;
    }
    commit = await commitOnTop(place, refs, edits, message, keep);
  }
  return { commit, pushed: false };
}

/** Moves the local branch to a commit that contains the remote's branch, the local one's files and these edits. */
async function commitOnTop(
  place: GitPlace,
  refs: RecordRefs,
  edits: readonly TreeEdit[],
  message: string,
  keep: RecordKeeper | undefined,
): Promise<string> {
  const [local, remote] = await Promise.all([refs.localHead(), refs.remoteHead()]);
  const common = local !== null && remote !== null ? await refs.mergeBase(local, remote) : null;
  // Builds on the remote's branch unless this mirror's branch contains it already.
  const parent = remote === null || (local !== null && common === remote) ? local : remote;
  const baseTree = parent === null ? EMPTY_TREE : await refs.treeOf(parent);
  const own = local === null || parent === local ? [] : await changesOf(place, refs, local, common);
  const wanted = [...own, ...edits];
  // `keep` is asked only about a remote record that the mirror's own does not contain. The caller has already
  // checked its edits against the mirror's own.
  const kept =
    keep !== undefined && remote !== null && parent === remote && local !== remote
      ? await keep(remote, local, wanted.map(pathOf))
      : new Set<string>();
  const tree = await editTree(
    place,
    baseTree,
    wanted.filter((edit) => !kept.has(pathOf(edit))),
  );
  const commit = parent !== null && tree === baseTree ? parent : await refs.commitTree(tree, parent, message);
  if (commit !== local) await refs.moveLocal(commit, local);
  return commit;
}

function pathOf({ path }: TreeEdit): string {
  return typeof path === 'string' ? path : path.toString('utf8');
}

/** Changes of this mirror's branch since its last common commit with the remote's. */
async function changesOf(place: GitPlace, refs: RecordRefs, local: string, common: string | null): Promise<TreeEdit[]> {
  return diffTrees(place, common === null ? EMPTY_TREE : await refs.treeOf(common), await refs.treeOf(local));
}
