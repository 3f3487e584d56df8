/**
 * The repository port over the machine's own git (2.38 or newer), written by plumbing alone. Each method checks its
 * arguments, resolves the project's mirror and calls the file of its concern: `git-mirrors`, `git-inspection`, `git-sync`,
 * `git-refs`, `git-commits`, `git-files`, `git-outgoing` or `git-trees`.
 */
import { rm } from 'node:fs/promises';
import { checkoutTree } from './folder-checkout.ts';
import { importFolderTree } from './folder-import.ts';
import { type Author, checkCommit, commitOnBranch, commitsAfter, commitsBetween } from './git-commits.ts';
import { pathsLeftOut, pathsOfFiles, readTextFile, readTextFiles, restoreFrom, writeTextFiles } from './git-files.ts';
import { inspectRemote } from './git-inspection.ts';
import { GitMirrors, type MirrorOptions } from './git-mirrors.ts';
import { changesOfTrees, newHistory, readBlobs, symlinksOf, treeChanges } from './git-outgoing.ts';
import { assertCommit, createBranch, isAncestor, localRef, missingCommits, readRef, trackingRef } from './git-refs.ts';
import { fetchInTurn, fetchRecord, pushBranch, recordRefs } from './git-sync.ts';
import { mergeCommits, scratchOf } from './git-trees.ts';
import { KnownDiffs } from './known-diffs.ts';
import { KnownTrees } from './known-trees.ts';
import { packMirror } from './mirror-packing.ts';
import { recordFiles } from './record-branch.ts';
import type { Repository } from './repository.ts';
import { assertBranchName, assertFilePath, assertObjectId } from './repository-paths.ts';

export interface GitRepositoryOptions extends MirrorOptions {
  /** Author and committer of every commit. */
  readonly author: Author;
  /** Date of the record's commits; the others bring their own. */
  readonly now?: () => Date;
}

/** A repository over local git; nothing is read or written before its first call. */
export function createGitRepository(options: GitRepositoryOptions): Repository {
  const { author, now = () => new Date() } = options;
  const mirrors = new GitMirrors(options);
  const trees = new KnownTrees();
  const diffs = new KnownDiffs();

  return {
    inspectRemote: (repository, baseBranch) => inspectRemote(mirrors, repository, baseBranch),

    async fetch(project, signal) {
      await fetchInTurn(mirrors, project, await mirrors.withRemote(project, signal), undefined, signal);
    },

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

    async missingCommits(project, commits) {
      if (commits.length === 0) return new Set();
      return missingCommits(await mirrors.of(project), commits);
    },

    async createBranch(project, branch, commit) {
      assertBranchName(branch);
      await createBranch(await mirrors.of(project), branch, commit);
    },

    async treeOf(project, treeish) {
      return trees.treeOf(await mirrors.of(project), treeish);
    },

    async codeTree(project, treeish) {
      return trees.codeTree(await mirrors.of(project), treeish);
    },

    async listFiles(project, treeish) {
      return pathsOfFiles(await trees.entries(await mirrors.of(project), treeish));
    },

    async readFile(project, treeish, path) {
      assertFilePath(path);
      const place = await mirrors.of(project);
      return readTextFile(place, await trees.treeOf(place, treeish), path);
    },

    async readFiles(project, treeish, paths, maxBytes, maxTotalBytes) {
      for (const path of paths) assertFilePath(path);
      const place = await mirrors.of(project);
      return readTextFiles(place, await trees.entries(place, treeish), paths, maxBytes, maxTotalBytes);
    },

    async writeFiles(project, tree, files) {
      for (const path of Object.keys(files)) assertFilePath(path);
      const place = await mirrors.of(project);
      return writeTextFiles(place, await trees.treeOf(place, tree), files);
    },

    async restorePaths(project, treeish, from, paths) {
      const place = await mirrors.of(project);
      const tree = await trees.treeOf(place, treeish);
      const [entries, source] = await Promise.all([trees.entries(place, tree), trees.entries(place, from)]);
      return restoreFrom(place, { tree, entries }, source, paths);
    },

    async checkout(project, treeish, folder, excludePaths) {
      const place = await mirrors.of(project);
      return checkoutTree(place, await trees.treeOf(place, treeish), folder, excludePaths);
    },

    async leftOut(project, treeish) {
      return pathsLeftOut(await trees.entries(await mirrors.of(project), treeish));
    },

    async importFolder(project, request) {
      const place = await mirrors.of(project);
      return importFolderTree(place, { ...request, baseTree: await trees.treeOf(place, request.baseTree) });
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

    async changesOfTrees(project, pairs) {
      return changesOfTrees(
        await mirrors.of(project),
        pairs.map(([from, to]) => [assertObjectId(from), assertObjectId(to)]),
      );
    },

    async symlinks(project, treeish) {
      const place = await mirrors.of(project);
      return symlinksOf(place, await trees.treeOf(place, treeish));
    },

    async newHistory(project, commit) {
      return newHistory(await mirrors.of(project), assertObjectId(commit));
    },

    async readBlobs(project, oids, maxBytes) {
      return readBlobs(await mirrors.of(project), oids.map(assertObjectId), maxBytes);
    },

    async mergeTrees(project, ours, theirs) {
      const place = await mirrors.of(project);
      await Promise.all([assertCommit(place, ours), assertCommit(place, theirs)]);
      return mergeCommits(place, ours, theirs);
    },

    async push(project, branch, commit, expected, signal) {
      assertBranchName(branch);
      assertObjectId(commit);
      return pushBranch(await mirrors.withRemote(project, signal), branch, commit, expected);
    },

    fetchRecord: (project, signal) => fetchRecord(mirrors, project, signal),

    async record(project, files, message, keep, signal) {
      for (const path of Object.keys(files)) assertFilePath(path);
      const remote = await mirrors.withRemote(project, signal);
      const refs = recordRefs(mirrors, project, remote, trees, { author, at: now() });
      return mirrors.turns.take(`record ${project.id}`, () => recordFiles(remote.place, refs, files, message, keep));
    },
  };
}
