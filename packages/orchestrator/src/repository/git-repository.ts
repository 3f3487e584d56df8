/**
 * The repository port over the machine's own git (2.38 or newer), written by plumbing alone. Each method checks its
 * arguments, resolves the project's mirror and calls the file of its concern: `git-mirrors`, `git-inspection`, `git-sync`,
 * `git-refs`, `git-commits`, `git-files`, `git-outgoing` or `git-trees`.
 */
import { rm } from 'node:fs/promises';
import { allowedPaths } from '../path-rules/allowed-files.ts';
import { ownedPaths } from '../documents/owned-files.ts';
import { checkoutTree, type LfsFile, linksLeftOut } from './checkout/folder-checkout.ts';
import { importFolderTree } from './checkout/folder-import.ts';
import { type Author, checkCommit, commitOnBranch, commitsAfter, commitsBetween } from './git/git-commits.ts';
import { readFileBytes, readTextFile, readTextFiles, restoreFrom, writeTextFiles } from './git/git-files.ts';
import { inspectClone, inspectRemote } from './git/git-inspection.ts';
import { gatherObjects } from './git/gathered-objects.ts';
import { GitMirrors, type MirrorOptions } from './git/git-mirrors.ts';
import { changesOfTrees, newHistory, readBlobs, symlinksOf, treeChanges } from './git/git-outgoing.ts';
import {
  assertCommit,
  createBranch,
  forwardBranch,
  isAncestor,
  mergeBase,
  localRef,
  kindsOf,
  missingCommits,
  readRef,
  trackingRef,
} from './git/git-refs.ts';
import { fetchCopy, fetchInTurn, fetchRecord, pushBranch, recordRefs, yearRefs } from './git/git-sync.ts';
import type { GitPlace } from './git/git.ts';
import { findConflicts, mergeCommits, scratchOf } from './git/git-trees.ts';
import { KnownDiffs } from './git/known-diffs.ts';
import { KnownTrees } from './git/known-trees.ts';
import { LfsObjects } from './checkout/lfs-objects.ts';
import { lfsPointersOf } from './checkout/lfs-pointers.ts';
import { packMirror } from './git/mirror-packing.ts';
import { recordFiles, restoreRecord } from './git/record-branch.ts';
import { listFilesAt, listRecordedFiles, listRunFiles } from './git/record-listing.ts';
import { listRecordHeads, moveRecord } from './git/record-years.ts';
import type { LeftOut, RemoteProject, Repository } from './repository.ts';
import { assertRunBranch, listRunBranches, removeRunBranch } from './git/run-branches.ts';
import { type Submodule, Submodules } from './checkout/submodules.ts';
import { assertBranchName, assertFilePath, assertObjectId } from './repository-paths.ts';

export interface GitRepositoryOptions extends MirrorOptions {
  /** Author and committer of every commit. */
  readonly author: Author;
  /** Date of the record's commits; the others bring their own. */
  readonly now?: () => Date;
}

/** A repository over local git; nothing is read or written before its first call. */
export function createGitRepository(options: GitRepositoryOptions): Repository {
  const mirrors = new GitMirrors(options);
  const trees = new KnownTrees();
  return {
    ...remoteMethods(mirrors, trees, options),
    ...historyMethods(mirrors, options.author),
    ...treeMethods(mirrors, trees),
    ...folderMethods(mirrors, trees),
  };
}

type RemoteMethods = Pick<
  Repository,
  | 'inspectRemote'
  | 'inspectClone'
  | 'removeMirror'
  | 'fetch'
  | 'push'
  | 'removeRunBranch'
  | 'fetchRecord'
  | 'fetchCopy'
  | 'gather'
  | 'record'
  | 'moveRecord'
  | 'restoreRecord'
>;

/** Methods that speak with the project's remote. */
function remoteMethods(
  mirrors: GitMirrors,
  trees: KnownTrees,
  { author, now = () => new Date() }: GitRepositoryOptions,
): RemoteMethods {
  return {
    inspectRemote: (repository, baseBranch) => inspectRemote(mirrors, repository, baseBranch),
    removeMirror: ({ id }) => mirrors.remove(id),

    async fetch(project, signal) {
      await fetchInTurn(mirrors, project, await mirrors.withRemote(project, signal), undefined, signal);
    },

    async push(project, branch, commit, expected, signal) {
      assertBranchName(branch);
      assertObjectId(commit);
      return pushBranch(await mirrors.withRemote(project, signal), branch, commit, expected);
    },

    async removeRunBranch(project, branch, signal) {
      assertRunBranch(branch.name);
      return removeRunBranch(await mirrors.withRemote(project, signal), branch);
    },

    fetchRecord: (project, signal) => fetchRecord(mirrors, project, signal),
    fetchCopy: (project, from) => fetchCopy(mirrors, project, from),
    inspectClone: (folder) => inspectClone(mirrors, folder),

    async gather(project, ids) {
      return gatherObjects(await mirrors.of(project), author, ids.map(assertObjectId));
    },

    async record(project, contents, { signal, ...options } = {}) {
      for (const path of Object.keys(contents.files)) assertFilePath(path);
      contents.commits?.forEach(assertObjectId);
      const remote = await mirrors.withRemote(project, signal);
      const refs = recordRefs(mirrors, project, remote, trees, { author, at: now() });
      return mirrors.turns.take(`record ${project.id}`, () => recordFiles(remote.place, refs, contents, options));
    },

    async restoreRecord(project, paths, from) {
      const remote = await mirrors.withRemote(project);
      const refs = recordRefs(mirrors, project, remote, trees, { author, at: now() });
      return mirrors.turns.take(`record ${project.id}`, () => restoreRecord(remote.place, refs, paths, from));
    },

    async moveRecord(project, moves, keep, signal) {
      const remote = await mirrors.withRemote(project, signal);
      const refs = yearRefs(remote, trees, { author, at: now() });
      return mirrors.turns.take(`record ${project.id}`, () => moveRecord(remote.place, refs, moves, keep));
    },
  };
}

type HistoryMethods = Pick<
  Repository,
  | 'pack'
  | 'removeLeftovers'
  | 'remoteHead'
  | 'branchHead'
  | 'runBranches'
  | 'recordHeads'
  | 'kindsOf'
  | 'missingCommits'
  | 'createBranch'
  | 'forwardBranch'
  | 'commit'
  | 'commitsAfter'
  | 'commitsBetween'
  | 'isAncestor'
  | 'mergeBase'
  | 'newHistory'
  | 'mergeTrees'
  | 'findConflicts'
>;

/** Methods about the mirror's branches and commits. */
function historyMethods(mirrors: GitMirrors, author: Author): HistoryMethods {
  return {
    async pack(project, keep) {
      const place = await mirrors.of(project);
      return mirrors.turns.take(`pack ${project.id}`, () => packMirror(place, keep));
    },

    async removeLeftovers() {
      await rm(scratchOf(mirrors), { recursive: true, force: true });
    },

    async remoteHead(project, branch) {
      const ref = trackingRef(branch);
      return readRef(await mirrors.of(project), ref);
    },

    async branchHead(project, branch) {
      const ref = localRef(branch);
      return readRef(await mirrors.of(project), ref);
    },

    async recordHeads(project) {
      return listRecordHeads(await mirrors.of(project));
    },

    async runBranches(project) {
      return listRunBranches(await mirrors.of(project));
    },

    async kindsOf(project, ids) {
      return ids.length === 0 ? new Map() : kindsOf(await mirrors.of(project), ids);
    },

    async missingCommits(project, commits) {
      if (commits.length === 0) return new Set();
      return missingCommits(await mirrors.of(project), commits);
    },

    async createBranch(project, branch, commit) {
      assertRunBranch(branch);
      await createBranch(await mirrors.of(project), branch, commit);
    },

    async forwardBranch(project, branch, commit) {
      assertRunBranch(branch);
      await forwardBranch(await mirrors.of(project), branch, assertObjectId(commit));
    },

    async commit(project, request) {
      const checked = checkCommit(request);
      return commitOnBranch(await mirrors.of(project), author, checked);
    },

    async commitsAfter(project, branch, commit) {
      assertObjectId(commit);
      return commitsAfter(await mirrors.of(project), branch, commit);
    },

    async commitsBetween(project, base, head) {
      return commitsBetween(await mirrors.of(project), base, head);
    },

    async isAncestor(project, ancestor, descendant) {
      return isAncestor(await mirrors.of(project), assertObjectId(ancestor), assertObjectId(descendant));
    },

    async mergeBase(project, one, other) {
      return mergeBase(await mirrors.of(project), assertObjectId(one), assertObjectId(other));
    },

    async newHistory(project, commit, beside) {
      return newHistory(await mirrors.of(project), assertObjectId(commit), beside);
    },

    async mergeTrees(project, ours, theirs) {
      const place = await mirrors.of(project);
      await Promise.all([assertCommit(place, ours), assertCommit(place, theirs)]);
      return mergeCommits(place, ours, theirs, ownedPaths(project.ownedFiles));
    },

    async findConflicts(project, pairs, signal) {
      const checked = pairs.map(([ours, theirs]) => [assertObjectId(ours), assertObjectId(theirs)] as const);
      return findConflicts(await mirrors.of(project), checked, ownedPaths(project.ownedFiles), signal);
    },
  };
}

type TreeMethods = Pick<
  Repository,
  | 'treeOf'
  | 'codeTree'
  | 'listFiles'
  | 'readFile'
  | 'readBytes'
  | 'readFiles'
  | 'writeFiles'
  | 'restorePaths'
  | 'symlinks'
  | 'readBlobs'
  | 'diff'
  | 'changes'
  | 'changesOfTrees'
  | 'recordedAt'
  | 'recordedRuns'
  | 'recordedFiles'
>;

/** Methods that read, compare and write trees of the mirror. */
function treeMethods(mirrors: GitMirrors, trees: KnownTrees): TreeMethods {
  const diffs = new KnownDiffs();
  return {
    async treeOf(project, treeish) {
      return trees.treeOf(await mirrors.of(project), treeish);
    },

    async codeTree(project, treeish) {
      return trees.codeTree(await mirrors.of(project), treeish, project.ownedFiles);
    },

    async listFiles(project, treeish) {
      return (await trees.listing(await mirrors.of(project), treeish)).sortedFiles();
    },

    async readFile(project, treeish, path, beginning) {
      assertFilePath(path);
      const place = await mirrors.of(project);
      return readTextFile(place, await trees.treeOf(place, treeish), path, beginning);
    },

    async readBytes(project, treeish, path, maxBytes) {
      assertFilePath(path);
      const place = await mirrors.of(project);
      return readFileBytes(place, await trees.treeOf(place, treeish), path, maxBytes);
    },

    async readFiles(project, treeish, paths, maxBytes, maxTotalBytes) {
      const place = await mirrors.of(project);
      return readTextFiles(place, await trees.listing(place, treeish), paths, maxBytes, maxTotalBytes);
    },

    async writeFiles(project, tree, files) {
      for (const path of Object.keys(files)) assertFilePath(path);
      const place = await mirrors.of(project);
      return writeTextFiles(place, await trees.treeOf(place, tree), files);
    },

    async restorePaths(project, treeish, from, paths) {
      const place = await mirrors.of(project);
      const tree = await trees.treeOf(place, treeish);
      const [listing, source] = await Promise.all([trees.listing(place, tree), trees.listing(place, from)]);
      return restoreFrom(place, { tree, listing }, source, paths);
    },

    async symlinks(project, treeish) {
      const place = await mirrors.of(project);
      return symlinksOf(place, await trees.listing(place, treeish));
    },

    async readBlobs(project, oids, maxBytes) {
      return readBlobs(await mirrors.of(project), oids.map(assertObjectId), maxBytes);
    },

    async diff(project, from, to, diffOptions = {}) {
      const place = await mirrors.of(project);
      const [before, after] = await Promise.all([trees.treeOf(place, from), trees.treeOf(place, to)]);
      return { from, to, ...(await diffs.read(place, before, after, diffOptions)) };
    },

    async changes(project, from, to) {
      const place = await mirrors.of(project);
      const [before, after] = await Promise.all([trees.treeOf(place, from), trees.treeOf(place, to)]);
      return before === after ? [] : treeChanges(place, before, after);
    },

    async recordedAt(project, commit, paths) {
      for (const path of paths) assertFilePath(path);
      return listFilesAt(await mirrors.of(project), assertObjectId(commit), paths);
    },

    async recordedRuns(project, commit, name) {
      const place = await mirrors.of(project);
      return listRunFiles(place, await trees.treeOf(place, commit), name);
    },

    async recordedFiles(project, commit) {
      const place = await mirrors.of(project);
      const entries = await listRecordedFiles(place, await trees.treeOf(place, commit));
      return new Map(entries.map(({ path, oid }) => [path, oid]));
    },

    async changesOfTrees(project, pairs) {
      return changesOfTrees(
        await mirrors.of(project),
        pairs.map(([from, to]) => [assertObjectId(from), assertObjectId(to)]),
      );
    },
  };
}

type FolderMethods = Pick<Repository, 'checkout' | 'leftOut' | 'importFolder'>;

/** Methods that bring trees into folders of this machine and back. */
function folderMethods(mirrors: GitMirrors, trees: KnownTrees): FolderMethods {
  const outsideContents = createOutsideContents(mirrors, trees);
  return {
    async checkout(project, treeish, folder, excludePaths) {
      const place = await mirrors.of(project);
      const tree = await trees.treeOf(place, treeish);
      const listing = await trees.listing(place, tree);
      const outside = await outsideContents(project, place, tree);
      const { leftOut } = await checkoutTree(
        place,
        tree,
        listing,
        folder,
        excludePaths,
        outside.submodules,
        outside.files,
      );
      return { leftOut: [...leftOut, ...outside.leftOut] };
    },

    async leftOut(project, treeish) {
      const place = await mirrors.of(project);
      const tree = await trees.treeOf(place, treeish);
      const listing = await trees.listing(place, tree);
      const outside = await outsideContents(project, place, tree);
      return [...(await linksLeftOut(place, listing)), ...outside.leftOut];
    },

    async importFolder(project, request) {
      const place = await mirrors.of(project);
      const baseTree = await trees.treeOf(place, request.baseTree);
      const listing = await trees.listing(place, baseTree);
      return importFolderTree(place, { ...request, baseTree }, listing, {
        owned: ownedPaths(project.ownedFiles),
        allowed: allowedPaths(project.allowedFiles),
      });
    },
  };
}

interface OutsideContents {
  readonly submodules: readonly Submodule[];
  readonly files: readonly LfsFile[];
  /** Contents that cannot be fetched. */
  readonly leftOut: readonly LeftOut[];
}

/** A reader of what a tree names and its own objects do not contain: submodules and LFS objects. */
function createOutsideContents(
  mirrors: GitMirrors,
  trees: KnownTrees,
): (project: RemoteProject, place: GitPlace, tree: string) => Promise<OutsideContents> {
  const submodules = new Submodules(mirrors, trees);
  const lfs = new LfsObjects(mirrors);
  return async ({ repository }, place, tree) => {
    const listing = await trees.listing(place, tree);
    const subs = await submodules.open(repository, place, tree, listing);
    const pointers = await lfsPointersOf(place, listing);
    const contents = await lfs.fetch(repository, place, pointers);
    const files = pointers.flatMap(({ path, oid }) => {
      const file = contents.files.get(oid);
      return file === undefined ? [] : [{ path, file }];
    });
    const leftOut = pointers.flatMap(({ path, oid }): readonly LeftOut[] => {
      const fault = contents.faults.get(oid);
      return fault === undefined ? [] : [{ path, kind: 'lfs', reason: fault }];
    });
    for (const sub of subs.found) {
      for (const { path } of await lfsPointersOf(sub.place, sub.listing))
        leftOut.push({ path: `${sub.path}/${path}`, kind: 'lfs', reason: 'Git LFS in submodules is not fetched' });
    }
    return { submodules: subs.found, files, leftOut: [...subs.leftOut, ...leftOut] };
  };
}
