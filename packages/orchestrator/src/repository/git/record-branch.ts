/**
 * The orphan branch on which a project's open runs are recorded. It only ever grows: when the remote has moved on, the
 * changes that only this mirror has are written again on top.
 */
import { NeedsHuman, showHiddenInLine } from '@autonomous/shared';
import { GitFailure, type GitPlace } from './git.ts';
import { checkTree, diffTrees, editTree, type TreeEdit, writeBlobs } from './git-trees.ts';
import { FILE_MODE } from './tree-listing.ts';
import { listRecordTree } from './record-listing.ts';
import {
  type PushResult,
  RECORD_BRANCH,
  type RecordContents,
  type RecordedCommit,
  type RecordOptions,
  UnreadableRecord,
} from '../repository.ts';
import { atOrUnderAny, EMPTY_TREE } from '../repository-paths.ts';

/** Writers of other mirrors may win a race this often in a row before the push is left to the next record. */
const MAX_ATTEMPTS = 5;

/** Access to the mirror that recording needs. Commits are `null` where there is no such branch. */
export interface RecordRefs {
  localHead(): Promise<string | null>;
  /** As last fetched. */
  remoteHead(): Promise<string | null>;
  treeOf(commit: string): Promise<string>;
  /** The newest commit of the record that both have; commits of runs, which lie beside it, do not count. */
  commonRecord(a: string, b: string): Promise<string | null>;
  /** Commits of runs that the record got after `common`; all of them for `null`. */
  gatheredSince(commit: string, common: string | null): Promise<readonly string[]>;
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  commitTree(tree: string, parents: readonly string[], message: string): Promise<string>;
  /** @throws {Conflict} when the branch is not at `before` */
  moveLocal(commit: string, before: string | null): Promise<void>;
  push(commit: string, expected: string | null): Promise<PushResult>;
  /** Makes `remoteHead` what the remote has now. */
  refresh(remoteCommit: string | null): Promise<void>;
}

export async function recordFiles(
  place: GitPlace,
  refs: RecordRefs,
  { files, commits = [], message }: RecordContents,
  { keep, foreign, to = 'remote' }: Omit<RecordOptions, 'signal'>,
): Promise<RecordedCommit> {
  const paths = Object.keys(files);
  const oids = await writeBlobs(place, Object.values(files));
  const edits: TreeEdit[] = paths.map((path, index) => ({ path, mode: FILE_MODE, oid: oids[index] ?? null }));
  const wanted = { edits, commits, message, keep, foreign };
  let commit = await commitOrKeep(place, refs, wanted, to);
  if (to === 'mirror') return { commit, pushed: false };
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const remote = await refs.remoteHead();
    if (remote === commit) return { commit, pushed: true };
    try {
      const result = await refs.push(commit, remote);
      if (result.ok) return { commit, pushed: true };
      await refs.refresh(result.remoteCommit);
    } catch (error) {
      if (error instanceof NeedsHuman && error.reason === 'remote_unavailable')
        return { commit, pushed: false, why: error.message };
      throw error;
    }
    commit = await commitOrKeep(place, refs, wanted, to);
  }
  return { commit, pushed: false };
}

interface Wanted {
  readonly edits: readonly TreeEdit[];
  readonly commits: readonly string[];
  readonly message: string;
  readonly keep: RecordOptions['keep'];
  readonly foreign: RecordOptions['foreign'];
}

/**
 * Commits on top of the remote's record. Where its tree cannot be read, on top of the mirror's own, so that nothing is lost.
 * @throws {UnreadableRecord} then, unless only the mirror is written
 */
async function commitOrKeep(
  place: GitPlace,
  refs: RecordRefs,
  wanted: Wanted,
  to: RecordOptions['to'],
): Promise<string> {
  try {
    return await commitOnTop(place, refs, wanted);
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    const commit = await commitOnTop(place, { ...refs, remoteHead: async () => null }, wanted);
    if (to === 'mirror') return commit;
    throw error;
  }
}

/**
 * A path of git's own, such as `..`, in a tree without end, or in another one that git refuses.
 * @throws {UnreadableRecord} when a tree of the remote's record cannot be continued
 */
async function assertReadable(place: GitPlace, tree: string): Promise<void> {
  try {
    await listRecordTree(place, tree);
    await checkTree(place, tree);
  } catch (error) {
    const refused = error instanceof Error && error.cause instanceof GitFailure ? error.cause : error;
    if (error instanceof NeedsHuman && error.reason !== 'setup_failed') throw error;
    const path = refused instanceof GitFailure ? REFUSED.exec(refused.stderr)?.groups?.['path'] : undefined;
    const why =
      path === undefined
        ? refused instanceof GitFailure
          ? refused.stderr.trim().slice(0, 200)
          : 'it names more files than the server reads'
        : `it contains the path '${showHiddenInLine(path)}', which git never writes`;
    throw new UnreadableRecord(
      `The branch '${RECORD_BRANCH}' of the remote cannot be continued: ${why}. Push a commit to it that removes what no server of yours wrote`,
      { cause: error },
    );
  }
}

const REFUSED = /^error: invalid path '(?<path>[^\n]*)'$/m;

/** Moves the local branch to a commit that contains the remote's branch, the local one's files, and what is wanted. */
async function commitOnTop(
  place: GitPlace,
  refs: RecordRefs,
  { edits, commits, message, keep, foreign }: Wanted,
): Promise<string> {
  const [local, remote] = await Promise.all([refs.localHead(), refs.remoteHead()]);
  const common = local !== null && remote !== null ? await refs.commonRecord(local, remote) : null;
  // Builds on the remote's branch unless this mirror's branch contains it already.
  const parent = remote === null || (local !== null && common === remote) ? local : remote;
  const baseTree = parent === null ? EMPTY_TREE : await refs.treeOf(parent);
  if (parent !== null && parent === remote && parent !== local) await assertReadable(place, baseTree);
  const isRewritten = local !== null && parent !== local;
  const own = isRewritten ? await changesOf(place, refs, local, common) : [];
  const gathered = isRewritten ? await refs.gatheredSince(local, common) : [];
  const isAhead = local !== null && remote !== null && local !== remote && !isRewritten;
  const undoing = isAhead ? await diffTrees(place, baseTree, await refs.treeOf(remote)) : [];
  const notOwn = local === null ? undefined : await foreign?.(local, [...own, ...undoing].map(pathOf));
  const isForeign = (edit: TreeEdit): boolean => notOwn?.has(pathOf(edit)) === true;
  const changes = [...own.filter((edit) => !isForeign(edit)), ...edits];
  const kept =
    keep !== undefined && parent !== null ? await keep(parent, local, changes.map(pathOf)) : new Set<string>();
  const tree = await editTree(place, baseTree, [
    ...undoing.filter(isForeign),
    ...changes.filter((edit) => !kept.has(pathOf(edit))),
  ]);
  // Commits of runs that only the mirror's record leads to stay within reach.
  const beside = await unreached(refs, parent, [...gathered, ...commits]);
  const isSame = parent !== null && tree === baseTree && beside.length === 0;
  const commit = isSame
    ? parent
    : await refs.commitTree(tree, [...(parent === null ? [] : [parent]), ...beside], message);
  if (commit !== local) await refs.moveLocal(commit, local);
  return commit;
}

/** Those of these commits that the parent does not lead to, each once. */
async function unreached(refs: RecordRefs, parent: string | null, commits: readonly string[]): Promise<string[]> {
  const beside: string[] = [];
  for (const commit of new Set(commits))
    if (parent === null || !(await refs.isAncestor(commit, parent))) beside.push(commit);
  return beside;
}

function pathOf({ path }: TreeEdit): string {
  return typeof path === 'string' ? path : path.toString('utf8');
}

/**
 * Gives paths of the mirror's own record what a commit of the remote's has there, which may be nothing.
 * @param paths files, or folders with all that is in them
 * @param from `null`: the remote has no record
 */
export async function restoreRecord(
  place: GitPlace,
  refs: RecordRefs,
  paths: readonly string[],
  from: string | null,
): Promise<void> {
  const local = await refs.localHead();
  if (local === null) return;
  const own = await refs.treeOf(local);
  const theirs = from === null ? EMPTY_TREE : await refs.treeOf(from);
  const isNamed = atOrUnderAny(paths);
  const edits = (await diffTrees(place, own, theirs)).filter((edit) => isNamed(pathOf(edit)));
  if (edits.length === 0) return;
  const tree = await editTree(place, own, edits);
  await refs.moveLocal(await refs.commitTree(tree, [local], 'As on the remote'), local);
}

/** Changes of this mirror's branch since its last common commit with the remote's. */
async function changesOf(place: GitPlace, refs: RecordRefs, local: string, common: string | null): Promise<TreeEdit[]> {
  return diffTrees(place, common === null ? EMPTY_TREE : await refs.treeOf(common), await refs.treeOf(local));
}
