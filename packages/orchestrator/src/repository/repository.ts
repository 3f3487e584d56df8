/**
 * The port to git: one bare mirror per project, changed by plumbing alone; a run's folder is plain files without `.git`.
 * Every write is recognisable when it is repeated: commits carry their effect key, refs move by compare-and-swap.
 */
import type { FileChange, RunDiff } from '@autonomous/shared';

/** The branch of a project's mirror and remote on which its open runs are recorded. */
export const RECORD_BRANCH = 'autonomous/record';

export interface RemoteProject {
  readonly id: string;
  /** Absolute path or URL, without credentials. */
  readonly repository: string;
  readonly baseBranch: string;
}

export interface CommitRequest {
  /** Short branch name in the mirror, such as `autonomous/abc123-def456-login-flow`. */
  readonly branch: string;
  readonly tree: string;
  /** The commit that `tree` was made from. The branch is expected to be at it, or not to exist yet. */
  readonly parent: string;
  /** Head of the branch that gives way to the new commit, where it is not `parent`: a left-over of an earlier attempt. */
  readonly replaces?: string;
  /** A second parent, for a merge. */
  readonly secondParent?: string;
  readonly message: string;
  /** Same key, same commit: written as the trailer `Effect-Key:`. */
  readonly effectKey: string;
  /** ISO 8601; author and committer date, so that a repetition gives the same hash. */
  readonly at: string;
}

/** A commit of a branch of the mirror. */
export interface BranchCommit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  /** Key of the effect that it is; `null` for a commit that the server did not make. */
  readonly effectKey: string | null;
}

export interface ImportRequest {
  /** Absolute host folder; read without following anything. */
  readonly folder: string;
  /** Tree that the folder was checked out from. */
  readonly baseTree: string;
  /** gitignore patterns that are neither shown to agents nor taken from them. */
  readonly excludePaths: readonly string[];
}

export interface ImportResult {
  readonly tree: string;
  readonly files: readonly FileChange[];
  /**
   * Files that were found and not imported: symlinks, special files, oversized files,
   * anything under `.autonomous/`, nested `.git`.
   */
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
}

/** A file or submodule that differs between two trees; `null` where it is not there. */
export interface TreeChange {
  readonly path: string;
  readonly before: { readonly mode: string; readonly oid: string } | null;
  readonly after: { readonly mode: string; readonly oid: string } | null;
}

/** The part of a commit's history that no branch of the remote has. */
export interface NewHistory {
  /** Newest first. */
  readonly commits: readonly { readonly id: string; readonly message: string }[];
  /** Paths that these commits change. */
  readonly paths: readonly string[];
  /** Contents, each under one of the paths that it has. */
  readonly blobs: readonly { readonly oid: string; readonly path: string; readonly bytes: number }[];
}

export interface DiffOptions {
  /** Folders of the project that are not part of the answer. */
  readonly leaveOut?: readonly string[];
  /** Most bytes of the patch (default 1 MB), shared among the files. A line counts for at least 10 bytes. */
  readonly maxBytes?: number;
}

export type MergeResult =
  | { readonly ok: true; readonly tree: string }
  | { readonly ok: false; readonly conflicts: readonly string[] };

export type PushResult = { readonly ok: true } | { readonly ok: false; readonly remoteCommit: string | null };

export interface Repository {
  /**
   * Checks that the remote can be reached, has commits and has the base branch. Makes no mirror: `fetch` does. A remote that
   * has not answered after 15 seconds cannot be reached.
   * @returns the base branch (the remote's HEAD where none was asked for), and what the person should know about this remote
   * @throws {Unprocessable} naming what is wrong and the way out
   * @throws {InvalidRequest} for an address that is never used, such as one with credentials in it
   */
  inspectRemote(
    repository: string,
    baseBranch?: string,
  ): Promise<{ readonly baseBranch: string; readonly notices: readonly string[] }>;

  /**
   * Brings the mirror up to date with the remote. A remote is away when git says nothing for three minutes, or when nothing
   * comes over its connection for 30 seconds (HTTP and ssh).
   * @param signal ends the wait and the git process; what it was aborted with is thrown
   * @throws {NeedsHuman} `remote_unavailable` or `auth_expired`
   */
  fetch(project: RemoteProject, signal?: AbortSignal): Promise<void>;

  /**
   * Packs the mirror where it has grown, and removes objects that nothing has led to for 30 days. Others may use it meanwhile.
   * @param keep gives ids of commits and trees that stay whether a branch leads to them or not
   * @returns whether there was anything to pack
   */
  pack(project: RemoteProject, keep: () => Promise<Iterable<string>>): Promise<boolean>;
  /** Removes temporary files that earlier processes left. To be called before anything else. */
  removeLeftovers(): Promise<void>;

  /** Latest commit of a remote branch as last fetched; `null` when there is none. */
  remoteHead(project: RemoteProject, branch: string): Promise<string | null>;
  /** Head of a local branch of the mirror; `null` when there is none. */
  branchHead(project: RemoteProject, branch: string): Promise<string | null>;
  /** Those of these commits that the mirror does not have. Asks no remote. */
  missingCommits(project: RemoteProject, commits: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Creates a branch; nothing happens when it is already there at this commit or a descendant of it.
   * @throws {Conflict} when it is elsewhere
   */
  createBranch(project: RemoteProject, branch: string, commit: string): Promise<void>;

  /**
   * A treeish, here and below, is the id of a commit or tree, or the short name of a branch of the mirror.
   * @throws {NotFound} when the mirror has no such commit, tree or branch
   */
  treeOf(project: RemoteProject, treeish: string): Promise<string>;
  /** The tree without `.autonomous/runs/` and `.autonomous/memory.md`: what evidence and approvals bind to. */
  codeTree(project: RemoteProject, treeish: string): Promise<string>;
  /** Paths of all files, sorted. */
  listFiles(project: RemoteProject, treeish: string): Promise<readonly string[]>;
  /** UTF-8 text; `null` when there is no such file. */
  readFile(project: RemoteProject, treeish: string, path: string): Promise<string | null>;
  /**
   * The same of many files in few processes, by path; files that are not there, are no files (symlinks), or have more than
   * `maxBytes` are left out, and so are those that would make it more than `maxTotalBytes` together.
   */
  readFiles(
    project: RemoteProject,
    treeish: string,
    paths: readonly string[],
    maxBytes?: number,
    maxTotalBytes?: number,
  ): Promise<ReadonlyMap<string, string>>;
  /** A new tree with these files written (`null` removes one). */
  writeFiles(project: RemoteProject, tree: string, files: Readonly<Record<string, string | null>>): Promise<string>;
  /** A new tree where `paths` are as in `from`: present with its content there, or absent when they are absent there. */
  restorePaths(project: RemoteProject, tree: string, from: string, paths: readonly string[]): Promise<string>;

  /** Writes a tree's files into an empty or absent folder, without `.git`, without `excludePaths`. Symlinks are left out and returned. */
  checkout(
    project: RemoteProject,
    treeish: string,
    folder: string,
    excludePaths: readonly string[],
  ): Promise<{ readonly leftOut: readonly string[] }>;
  /** Paths of a tree that no checkout has, excluded ones included. */
  leftOut(
    project: RemoteProject,
    treeish: string,
  ): Promise<{ readonly symlinks: readonly string[]; readonly submodules: readonly string[] }>;
  /**
   * Takes regular files inside the folder and nothing else; what git ignores, excluded paths and what the checkout left out stay as in the base tree.
   * @throws {NeedsHuman} `agent_failed` when the folder holds more than is ever taken; `storage_full`
   */
  importFolder(project: RemoteProject, request: ImportRequest): Promise<ImportResult>;

  /**
   * Commits a tree on a branch by compare-and-swap. A commit with this effect key, tree and parents that is already on the
   * branch is given again, and the branch stays as it is.
   * @throws {Conflict} when the branch is elsewhere
   */
  commit(project: RemoteProject, request: CommitRequest): Promise<string>;
  /**
   * The first-parent commits of a branch of the mirror after `commit`, newest first: empty when the branch is at it.
   * @returns `null` when there is no such branch, or `commit` is not among its newest 200 first-parent commits
   */
  commitsAfter(project: RemoteProject, branch: string, commit: string): Promise<readonly BranchCommit[] | null>;
  /**
   * The first-parent commits that lead to `head` and are not contained in `base`, newest first.
   * @throws {NotFound} when the mirror lacks one of the commits
   */
  commitsBetween(project: RemoteProject, base: string, head: string): Promise<readonly BranchCommit[]>;
  isAncestor(project: RemoteProject, ancestor: string, descendant: string): Promise<boolean>;
  /**
   * Difference between two commits or trees as people and reviewers see it, with its patch. `changes` gives only the list
   * and costs much less. The latest answers are cached.
   */
  diff(project: RemoteProject, from: string, to: string, options?: DiffOptions): Promise<RunDiff>;
  /** Changes between two commits or trees, by mode and content. A rename is a removal and an addition. */
  changes(project: RemoteProject, from: string, to: string): Promise<readonly TreeChange[]>;
  /**
   * The same for pairs of trees, in one process.
   * @param pairs full ids of trees
   */
  changesOfTrees(
    project: RemoteProject,
    pairs: readonly (readonly [from: string, to: string])[],
  ): Promise<readonly (readonly TreeChange[])[]>;
  /** Symbolic links of a tree: their targets as git has them, by path. A target of more than 4,096 bytes is left out. */
  symlinks(project: RemoteProject, treeish: string): Promise<ReadonlyMap<string, string>>;
  /** Commits, paths and contents that a push of this commit would add to the remote, as last fetched. */
  newHistory(project: RemoteProject, commit: string): Promise<NewHistory>;
  /** Contents by their ids; those with more than `maxBytes` are left out. */
  readBlobs(project: RemoteProject, oids: readonly string[], maxBytes: number): Promise<ReadonlyMap<string, Buffer>>;
  /**
   * Merges two commits without touching any ref. A file under `.autonomous/` that both have changed is taken from `theirs`,
   * and no renames are guessed there.
   */
  mergeTrees(project: RemoteProject, ours: string, theirs: string): Promise<MergeResult>;

  /**
   * Pushes a commit to a branch of the remote by compare-and-swap, never by force over unknown work.
   * @param expected what the remote branch must be at; `null` when it must not exist
   * @returns not ok, with the remote's commit, when the branch is elsewhere; ok when it is already at `commit`
   * @throws {Conflict} when `commit` does not contain `expected`: a push only ever adds to a branch
   * @throws {NeedsHuman} `auth_expired`, `push_rejected` or `remote_unavailable`
   */
  push(
    project: RemoteProject,
    branch: string,
    commit: string,
    expected: string | null,
    signal?: AbortSignal,
  ): Promise<PushResult>;

  /**
   * Brings what the mirror knows of the remote's branch `autonomous/record` up to date.
   * @param signal ends the wait and the git process; what it was aborted with is thrown
   * @returns the branch's commit; `null` when the remote has no such branch
   * @throws {NeedsHuman} `remote_unavailable` or `auth_expired`
   */
  fetchRecord(project: RemoteProject, signal?: AbortSignal): Promise<string | null>;
  /**
   * Writes files onto the orphan branch `autonomous/record` (in one commit, by compare-and-swap, retried when it moved) and pushes it.
   * Files that are not named stay. Nothing is committed when nothing changes.
   * @param keep asked before anything is written over a remote's record that this mirror did not know of
   * @returns `pushed: false` while the remote is away; the next call pushes what was left
   * @throws {NeedsHuman} `auth_expired`, `push_rejected` or `storage_full`; the commit is in the mirror then too
   */
  record(
    project: RemoteProject,
    files: Readonly<Record<string, string>>,
    message: string,
    keep?: RecordKeeper,
    signal?: AbortSignal,
  ): Promise<{ readonly commit: string; readonly pushed: boolean }>;
}

/**
 * Decides what stays in the record as the remote has it.
 * @param remote commit of the remote's record
 * @param local commit of the mirror's own record; `null` when there is none
 * @param paths files that are about to be written over those of `remote`
 * @returns those of `paths` that must stay as they are in `remote`
 */
export type RecordKeeper = (
  remote: string,
  local: string | null,
  paths: readonly string[],
) => Promise<ReadonlySet<string>>;
