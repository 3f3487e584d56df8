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
  /** The branch's expected head; the branch is created when it does not exist and is expected to be at this commit. */
  readonly parent: string;
  /** A second parent, for a merge. */
  readonly secondParent?: string;
  readonly message: string;
  /** Same key, same commit: written as the trailer `Effect-Key:`. */
  readonly effectKey: string;
  /** ISO 8601; author and committer date, so that a repetition gives the same hash. */
  readonly at: string;
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
  /** What was found and not taken: symlinks, special files, oversized files, anything under `.autonomous/`, nested `.git`. */
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
}

export type MergeResult =
  | { readonly ok: true; readonly tree: string }
  | { readonly ok: false; readonly conflicts: readonly string[] };

export type PushResult = { readonly ok: true } | { readonly ok: false; readonly remoteCommit: string | null };

export interface Repository {
  /**
   * Checks that the remote can be reached, has commits and has the base branch. Makes no mirror: `fetch` does.
   * @returns the base branch (the remote's HEAD where none was asked for), and what the person should know about this remote
   * @throws {Unprocessable} naming what is wrong and the way out
   * @throws {InvalidRequest} for an address that is never used, such as one with credentials in it
   */
  inspectRemote(
    repository: string,
    baseBranch?: string,
  ): Promise<{ readonly baseBranch: string; readonly notices: readonly string[] }>;

  /**
   * Brings the mirror up to date with the remote.
   * @throws {NeedsHuman} `remote_unavailable` or `auth_expired`
   */
  fetch(project: RemoteProject): Promise<void>;

  /** Latest commit of a remote branch as last fetched; `null` when there is none. */
  remoteHead(project: RemoteProject, branch: string): Promise<string | null>;
  /** Head of a local branch of the mirror; `null` when there is none. */
  branchHead(project: RemoteProject, branch: string): Promise<string | null>;
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
   * `maxBytes` are left out.
   */
  readFiles(
    project: RemoteProject,
    treeish: string,
    paths: readonly string[],
    maxBytes?: number,
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
  /**
   * Takes regular files inside the folder and nothing else; what git ignores, excluded paths and what the checkout left out stay as in the base tree.
   * @throws {NeedsHuman} `agent_failed` when the folder holds more than is ever taken; `storage_full`
   */
  importFolder(project: RemoteProject, request: ImportRequest): Promise<ImportResult>;

  /**
   * Commits a tree on a branch. Repeating a commit whose effect key is already on the branch gives that commit again.
   * @throws {Conflict} when the branch is elsewhere
   */
  commit(project: RemoteProject, request: CommitRequest): Promise<string>;
  /** The commit on the branch with this effect key; `null` when there is none. */
  findCommit(project: RemoteProject, branch: string, effectKey: string): Promise<string | null>;
  isAncestor(project: RemoteProject, ancestor: string, descendant: string): Promise<boolean>;
  diff(project: RemoteProject, from: string, to: string): Promise<RunDiff>;
  /** Merges two commits without touching any ref. */
  mergeTrees(project: RemoteProject, ours: string, theirs: string): Promise<MergeResult>;

  /**
   * Pushes a commit to a branch of the remote by compare-and-swap, never by force over unknown work.
   * @param expected what the remote branch must be at; `null` when it must not exist
   * @returns not ok, with the remote's commit, when the branch is elsewhere; ok when it is already at `commit`
   * @throws {Conflict} when `commit` does not contain `expected`: a push only ever adds to a branch
   * @throws {NeedsHuman} `auth_expired`, `push_rejected` or `remote_unavailable`
   */
  push(project: RemoteProject, branch: string, commit: string, expected: string | null): Promise<PushResult>;

  /**
   * Writes files onto the orphan branch `autonomous/record` (in one commit, by compare-and-swap, retried when it moved) and pushes it.
   * Files that are not named stay. Nothing is committed when nothing changes.
   * @returns `pushed: false` while the remote is away; the next call pushes what was left
   * @throws {NeedsHuman} `auth_expired`, `push_rejected` or `storage_full`; the commit is in the mirror then too
   */
  record(
    project: RemoteProject,
    files: Readonly<Record<string, string>>,
    message: string,
  ): Promise<{ readonly commit: string; readonly pushed: boolean }>;
}
