/** Moves what ended long ago from the record to branches of its own, one a year, so that the record's tree stays small. */
import { type GitPlace, gitText } from './git.ts';
import { editTree, type TreeEdit } from './git-trees.ts';
import type { TreeEntry } from './tree-listing.ts';
import { listFilesAt, listRecordTree } from './record-listing.ts';
import { isRecordBranch, type PushResult, RECORD_BRANCH, type RecordMove } from '../repository.ts';
import { atOrUnderAny, EMPTY_TREE } from '../repository-paths.ts';

/** Access to the mirror that moving needs. Commits are `null` where there is no such branch. */
export interface YearRefs {
  localHead(): Promise<string | null>;
  /** As last fetched. */
  remoteHead(year: string | null): Promise<string | null>;
  treeOf(commit: string): Promise<string>;
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  commitTree(tree: string, parents: readonly string[], message: string): Promise<string>;
  push(year: string | null, commit: string, expected: string | null): Promise<PushResult>;
  moveLocal(commit: string, before: string): Promise<void>;
}

const LOCAL = 'refs/heads/';
const TRACKING = 'refs/remotes/origin/';

/** Commits of the record by branch of the remote, as last fetched. */
export async function recordsOfRemote(place: GitPlace): Promise<ReadonlyMap<string, string>> {
  const refs = await recordRefs(place, [TRACKING]);
  return branchesIn(refs, TRACKING);
}

/** The mirror's own record, the remote's, then those of years, the newest first; each commit once. */
export async function listRecordHeads(place: GitPlace): Promise<readonly string[]> {
  const refs = await recordRefs(place, [LOCAL, TRACKING]);
  const own = branchesIn(refs, LOCAL);
  const remote = branchesIn(refs, TRACKING);
  const years = [...remote].filter(([branch]) => branch !== RECORD_BRANCH).sort(([a], [b]) => (a < b ? 1 : -1));
  const heads = [own.get(RECORD_BRANCH), remote.get(RECORD_BRANCH), ...years.map(([, commit]) => commit)];
  return [...new Set(heads.filter((head) => head !== undefined))];
}

/** Refs of the record and of years in these folders, as `<commit> <ref>`. */
async function recordRefs(place: GitPlace, folders: readonly string[]): Promise<readonly string[]> {
  const patterns = folders.flatMap((folder) => [`${folder}${RECORD_BRANCH}`, `${folder}${RECORD_BRANCH}-*`]);
  const text = await gitText(place, { args: ['for-each-ref', '--format=%(objectname) %(refname)', ...patterns] });
  return text.split('\n');
}

/** Commits of the branches of the record that lie in a folder, by branch. */
function branchesIn(refs: readonly string[], folder: string): ReadonlyMap<string, string> {
  return new Map(
    refs.flatMap((line) => {
      const [commit = '', ref = ''] = line.split(' ');
      const branch = ref.slice(folder.length);
      return ref.startsWith(folder) && isRecordBranch(branch) ? [[branch, commit] as const] : [];
    }),
  );
}

/** @returns false when a branch is not where it was expected: a later call goes on */
export async function moveRecord(
  place: GitPlace,
  refs: YearRefs,
  moves: readonly RecordMove[],
  keep: readonly string[],
): Promise<boolean> {
  const [record, remote] = await Promise.all([refs.localHead(), refs.remoteHead(null)]);
  if (record === null || record !== remote) return false;
  const entries = await listRecordTree(place, record);
  for (const { year, folders } of moves) {
    const isMoved = atOrUnderAny([...folders, ...keep]);
    const moved = entries.filter(({ path }) => isMoved(path));
    if (!(await addToYear(place, refs, record, year, moved, keep))) return false;
  }
  const isGone = atOrUnderAny(moves.flatMap(({ folders }) => folders));
  const gone = entries.filter(({ path }) => isGone(path));
  if (gone.length === 0) return true;
  const years = moves.map(({ year }) => year).join(', ');
  const tree = await editTree(place, await refs.treeOf(record), gone.map(removalOf));
  const commit = await refs.commitTree(tree, [record], `Records moved to ${years}`);
  const pushed = await refs.push(null, commit, record);
  if (pushed.ok) await refs.moveLocal(commit, record);
  return pushed.ok;
}

async function addToYear(
  place: GitPlace,
  refs: YearRefs,
  record: string,
  year: string,
  entries: readonly TreeEntry[],
  keep: readonly string[],
): Promise<boolean> {
  const head = await refs.remoteHead(year);
  const before = head === null ? EMPTY_TREE : await refs.treeOf(head);
  // Another version may have written what the year has already, in a format of its own.
  const there = head === null ? new Map<string, never>() : await listFilesAt(place, head, keep);
  const added = entries.filter(({ path }) => !there.has(path));
  const tree = await editTree(place, before, added.map(additionOf));
  // The record leads to the commits of the runs.
  const isReached = head !== null && (await refs.isAncestor(record, head));
  if (tree === before && isReached) return true;
  const parents = [...(head === null ? [] : [head]), ...(isReached ? [] : [record])];
  const commit = await refs.commitTree(tree, parents, `Records of ${year}`);
  return (await refs.push(year, commit, head)).ok;
}

function additionOf({ rawPath, mode, oid }: TreeEntry): TreeEdit {
  return { path: rawPath, mode, oid };
}

function removalOf({ rawPath, mode }: TreeEntry): TreeEdit {
  return { path: rawPath, mode, oid: null };
}
