/**
 * Port to git: one bare mirror per project, changed by plumbing commands only. A run's folder contains plain files without
 * `.git`. Repeated writes are recognised: commits carry their effect key, refs move by compare-and-swap.
 */
import { type AllowedFiles, type FileChange, NeedsHuman, type RunDiff } from '@autonomous/shared';

/** The branch of a project's mirror and remote on which its open runs are recorded. */
export const RECORD_BRANCH = 'autonomous/record';

/** The branch with the record of runs that ended in a year and were moved out of the way. */
export function recordBranchOf(year: string): string {
  return `${RECORD_BRANCH}-${year}`;
}

/** Whether a branch is the record or that of a year. */
export function isRecordBranch(branch: string): boolean {
  return /^autonomous\/record(?:-\d{4})?$/.test(branch);
}

export interface RemoteProject {
  readonly id: string;
  /** Absolute path or URL, without credentials. */
  readonly repository: string;
  readonly baseBranch: string;
  /** Paths and patterns of engine-owned files of the run for which the project is used. Absent: none. */
  readonly ownedFiles?: readonly string[];
  /** Files that agents of this run may change: each of the lists has to allow a path. Absent: all files. */
  readonly allowedFiles?: readonly AllowedFiles[];
}

export interface CommitRequest {
  /** Short branch name in the mirror, such as `autonomous/abc123-def456-login-flow`. */
  readonly branch: string;
  readonly tree: string;
  /** Commit from which `tree` was made. The branch must be at it, or not exist yet. */
  readonly parent: string;
  /** Expected head of the branch if it is not `parent`: a left-over of an earlier attempt that the commit replaces. */
  readonly replaces?: string;
  /** A second parent, for a merge. */
  readonly secondParent?: string;
  readonly message: string;
  /** Identifies the commit when it is repeated; written as the trailer `Effect-Key:`. */
  readonly effectKey: string;
  /** ISO 8601; author and committer date, so that a repetition gives the same hash. */
  readonly at: string;
}

/** A commit of a branch of the mirror. */
export interface BranchCommit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  /** Effect key; `null` for a commit that the server did not make. */
  readonly effectKey: string | null;
}

export interface ImportRequest {
  /** Absolute host folder. Links in it are not followed. */
  readonly folder: string;
  /** Tree that the folder was checked out from. */
  readonly baseTree: string;
  /** gitignore patterns of files that agents neither see nor change. */
  readonly excludePaths: readonly string[];
  /** Text that names what was to be made, such as a plan: by-products of tools that it names are imported. Default: none. */
  readonly asked?: string;
}

export interface ImportResult {
  readonly tree: string;
  readonly files: readonly FileChange[];
  /**
   * Files that were not imported, with reasons: by-products of tools (one of each tool, which names the others), symlinks that lead out of the folder, special files, oversized files, files under
   * `.autonomous/`, engine-owned files, files that the run may not change, nested `.git`.
   */
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
}

/** Part of a tree that a checkout does not have as git would have it. */
export interface LeftOut {
  readonly path: string;
  readonly kind: 'symlink' | 'submodule' | 'lfs';
  /** To be read after the path. */
  readonly reason: string;
}

/** File or submodule that differs between two trees; `null` on the side that does not have it. */
export interface TreeChange {
  readonly path: string;
  readonly before: { readonly mode: string; readonly oid: string } | null;
  readonly after: { readonly mode: string; readonly oid: string } | null;
}

/** The remote's record has a tree that cannot be continued. What was to be recorded is in the mirror's own. */
export class UnreadableRecord extends Error {
  constructor(message: string, options: ErrorOptions) {
    super(message, options);
    this.name = 'UnreadableRecord';
  }
}

/** The remote takes no push from this server until somebody there, or who gave the server its rights, changes that. */
export class PushForbidden extends NeedsHuman {
  constructor(message: string) {
    super('push_rejected', message);
  }
}

/** A file in a commit of the record. */
export interface RecordedFile {
  readonly oid: string;
  readonly bytes: number;
}

/** Part of a commit's history that no branch of the remote has. */
export interface NewHistory {
  /** Newest first. */
  readonly commits: readonly { readonly id: string; readonly message: string }[];
  /** Paths that these commits change. */
  readonly paths: readonly string[];
  /** Contents, each with one of its paths. */
  readonly blobs: readonly { readonly oid: string; readonly path: string; readonly bytes: number }[];
}

export interface DiffOptions {
  /** Folders to leave out. Default: none. */
  readonly leaveOut?: readonly string[];
  /** Paths and patterns of files that the server wrote: they have no warnings. Default: none. */
  readonly engineWritten?: readonly string[];
  /** Maximum size of the patch in bytes (default 1 MB), shared among the files. A line counts as at least 10 bytes. */
  readonly maxBytes?: number;
}

export type MergeResult =
  | { readonly ok: true; readonly tree: string }
  /** `tree` has both sides with git's markers in the conflicted files; of a binary file it has the one of `ours`. */
  | { readonly ok: false; readonly conflicts: readonly string[]; readonly tree: string };

/** A branch of a run, such as `autonomous/abc123-def456-login-flow`, with the commits that it is at; `null` where it is not. */
export interface RunBranch {
  readonly name: string;
  readonly mirror: string | null;
  /** As last fetched. */
  readonly remote: string | null;
}

export type PushResult = { readonly ok: true } | { readonly ok: false; readonly remoteCommit: string | null };

export interface Repository {
  /**
   * Checks that the remote can be reached within 15 seconds, has commits and has the base branch. Does not create a mirror;
   * `fetch` does.
   * @returns the base branch (default: the remote's HEAD), and notices about this remote for a person
   * @throws {Unprocessable} naming the fault and the way out
   * @throws {InvalidRequest} for an address that is not allowed, such as one with credentials
   */
  inspectRemote(
    repository: string,
    baseBranch?: string,
  ): Promise<{ readonly baseBranch: string; readonly notices: readonly string[] }>;

  /**
   * Updates the mirror from the remote, and creates it if needed. A remote counts as unavailable when git prints nothing for
   * three minutes, or when its connection transfers nothing for 30 seconds (HTTP and ssh).
   * @param signal ends the git process; its reason is thrown
   * @throws {NeedsHuman} `remote_unavailable` or `auth_expired`
   */
  fetch(project: RemoteProject, signal?: AbortSignal): Promise<void>;

  /**
   * Packs the mirror if it has grown, and removes objects that were unreachable for 30 days. May run while others use it.
   * @param keep returns ids of commits and trees to keep even if no branch reaches them
   * @returns whether the mirror was packed
   */
  pack(project: RemoteProject, keep: () => Promise<Iterable<string>>): Promise<boolean>;
  /** Removes the mirror of a project that was never stored. Does nothing if there is none. */
  removeMirror(project: Pick<RemoteProject, 'id'>): Promise<void>;
  /** Removes temporary files of earlier processes. Must be called before all other methods. */
  removeLeftovers(): Promise<void>;

  /** Returns the head of a remote branch as last fetched; `null` if there is none. */
  remoteHead(project: RemoteProject, branch: string): Promise<string | null>;
  /** Returns the head of a branch of the mirror; `null` if there is none. */
  branchHead(project: RemoteProject, branch: string): Promise<string | null>;
  /** Returns the commits and trees among these ids that the mirror has. Does not call the remote. */
  kindsOf(project: RemoteProject, ids: readonly string[]): Promise<ReadonlyMap<string, 'commit' | 'tree'>>;
  /** Returns the given commits that the mirror does not have. Does not call the remote. */
  missingCommits(project: RemoteProject, commits: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Creates a branch. Does nothing if it exists at this commit or a descendant of it.
   * @throws {Conflict} when it exists at another commit
   */
  createBranch(project: RemoteProject, branch: string, commit: string): Promise<void>;

  /** Moves a branch of the mirror to a descendant of its head, or creates it there. One that is elsewhere stays. */
  forwardBranch(project: RemoteProject, branch: string, commit: string): Promise<void>;

  /**
   * Returns the id of a tree. A treeish, here and below, is the id of a commit or tree, or a short branch name of the mirror.
   * @throws {NotFound} when the mirror has no such commit, tree or branch
   */
  treeOf(project: RemoteProject, treeish: string): Promise<string>;
  /**
   * Returns the code tree: without `.autonomous/runs/`, `.autonomous/memory.md` and engine-owned files. Evidence and approvals
   * name it.
   */
  codeTree(project: RemoteProject, treeish: string): Promise<string>;
  /** Lists the paths of all files, sorted. */
  listFiles(project: RemoteProject, treeish: string): Promise<readonly string[]>;
  /**
   * Reads a file as UTF-8 text; `null` if there is no such file.
   * @param beginning bytes of a longer file that are read
   * @throws {Unprocessable} without `beginning`, for a file of more than 10 MB
   */
  readFile(project: RemoteProject, treeish: string, path: string, beginning?: number): Promise<string | null>;
  /**
   * Reads a file as it is; `null` if there is no such file.
   * @throws {Unprocessable} when it has more than `maxBytes`
   */
  readBytes(project: RemoteProject, treeish: string, path: string, maxBytes: number): Promise<Uint8Array | null>;
  /**
   * Reads many files in few processes. Leaves out missing paths, symlinks, files of more than `maxBytes`, and files beyond
   * `maxTotalBytes` together.
   * @returns texts by path
   */
  readFiles(
    project: RemoteProject,
    treeish: string,
    paths: readonly string[],
    maxBytes?: number,
    maxTotalBytes?: number,
  ): Promise<ReadonlyMap<string, string>>;
  /** Makes a new tree with these files written (`null` removes one) and returns its id. */
  writeFiles(
    project: RemoteProject,
    tree: string,
    files: Readonly<Record<string, string | Uint8Array | null>>,
  ): Promise<string>;
  /** Makes a new tree whose `paths` are as in `from`, also if they are absent there, and returns its id. */
  restorePaths(project: RemoteProject, tree: string, from: string, paths: readonly string[]): Promise<string>;

  /**
   * Writes a tree's files, its submodules and those symlinks that stay within it into an empty or absent folder, without `.git` and
   * `excludePaths`. Writes git's index of the files to `FOLDER.index`, and what submodules have to `FOLDER.submodules.json`: with these
   * `importFolder` knows what is unchanged.
   * @returns what was left out, except excluded paths
   */
  checkout(
    project: RemoteProject,
    treeish: string,
    folder: string,
    excludePaths: readonly string[],
  ): Promise<{ readonly leftOut: readonly LeftOut[] }>;
  /**
   * Lists the paths of a tree that a checkout does not have as git would have them, including those under excluded paths. Fetches
   * submodules that are missing.
   */
  leftOut(project: RemoteProject, treeish: string): Promise<readonly LeftOut[]>;
  /**
   * Imports the files of a folder, and its symlinks that stay within it, into a new tree. New files that are ignored, excluded
   * paths and paths that the checkout left out stay as in the base tree. New by-products of tools, such as caches, are left out.
   * @throws {NeedsHuman} `agent_failed` when the folder exceeds the limits; `storage_full`
   */
  importFolder(project: RemoteProject, request: ImportRequest): Promise<ImportResult>;

  /**
   * Commits a tree to a branch by compare-and-swap. If the branch already has a commit with this effect key, tree and parents,
   * returns that one and changes nothing.
   * @throws {Conflict} when the branch is at another commit
   */
  commit(project: RemoteProject, request: CommitRequest): Promise<string>;
  /**
   * Lists the first-parent commits of a branch of the mirror after `commit`, newest first; empty if the branch is at it.
   * @returns `null` if there is no such branch, or `commit` is not among its newest 200 first-parent commits
   */
  commitsAfter(project: RemoteProject, branch: string, commit: string): Promise<readonly BranchCommit[] | null>;
  /**
   * Lists the first-parent commits of `head` that `base` does not contain, newest first.
   * @throws {NotFound} when the mirror lacks one of the commits
   */
  commitsBetween(project: RemoteProject, base: string, head: string): Promise<readonly BranchCommit[]>;
  isAncestor(project: RemoteProject, ancestor: string, descendant: string): Promise<boolean>;
  /** Returns a best common ancestor of two commits; `null` where they have none. */
  mergeBase(project: RemoteProject, one: string, other: string): Promise<string | null>;
  /**
   * Returns the difference between two commits or trees with its patch, for people and reviewers. `changes` returns only the
   * list and costs much less. Recent results are cached.
   */
  diff(project: RemoteProject, from: string, to: string, options?: DiffOptions): Promise<RunDiff>;
  /** Lists the changes between two commits or trees, by mode and content. A rename is a removal and an addition. */
  changes(project: RemoteProject, from: string, to: string): Promise<readonly TreeChange[]>;
  /**
   * Lists the changes of several pairs of trees, in one process.
   * @param pairs full ids of trees
   */
  changesOfTrees(
    project: RemoteProject,
    pairs: readonly (readonly [from: string, to: string])[],
  ): Promise<readonly (readonly TreeChange[])[]>;
  /** Lists the symbolic links of a tree: their stored targets by path. Leaves out targets of more than 4,096 bytes. */
  symlinks(project: RemoteProject, treeish: string): Promise<ReadonlyMap<string, string>>;
  /**
   * Lists the commits, paths and contents that a push of this commit would add to the remote, as last fetched.
   * @param beside `record`: what the remote's record leads to is not new, and no paths are listed. Default: the record does not count
   */
  newHistory(project: RemoteProject, commit: string, beside?: 'record'): Promise<NewHistory>;
  /** Reads contents by their ids. Leaves out those of more than `maxBytes`. */
  readBlobs(project: RemoteProject, oids: readonly string[], maxBytes: number): Promise<ReadonlyMap<string, Buffer>>;
  /**
   * Merges two commits without moving any ref. A file under `.autonomous/` that both changed is taken from `theirs`, and
   * renames are not detected there. An engine-owned file is taken from `theirs` where both changed the same lines.
   */
  mergeTrees(project: RemoteProject, ours: string, theirs: string): Promise<MergeResult>;
  /**
   * Lists the files in which merges of these pairs of commits would conflict, as `mergeTrees` names them. Costs much less than
   * merging each pair, and keeps nothing.
   * @param signal ends the git process; its reason is thrown
   * @returns for each pair its files, sorted; `null` where git cannot merge it, such as for a commit that the mirror lacks
   */
  findConflicts(
    project: RemoteProject,
    pairs: readonly (readonly [ours: string, theirs: string])[],
    signal?: AbortSignal,
  ): Promise<readonly (readonly string[] | null)[]>;

  /**
   * Pushes a commit to a branch of the remote by compare-and-swap, never by force over unknown work.
   * @param expected commit at which the remote branch must be; `null` if it must not exist
   * @returns not ok, with the remote's commit, if the branch is at another commit; ok if it is already at `commit`
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

  /** Lists the branches of runs, without those of the record. */
  runBranches(project: RemoteProject): Promise<readonly RunBranch[]>;
  /**
   * Removes a branch of a run from the remote and the mirror by compare-and-swap.
   * @returns false if the remote has another commit there; nothing is removed then
   * @throws {NeedsHuman} `auth_expired`, `push_rejected` or `remote_unavailable`
   */
  removeRunBranch(project: RemoteProject, branch: RunBranch, signal?: AbortSignal): Promise<boolean>;

  /**
   * Lists the commits of the record that the mirror knows, each once: its own, the remote's as last fetched, then those of
   * years, the newest year first. Of a run that several have, the first is the newest.
   */
  recordHeads(project: RemoteProject): Promise<readonly string[]>;
  /** Finds those of these paths of a commit of the record that are files, by path. */
  recordedAt(
    project: RemoteProject,
    commit: string,
    paths: readonly string[],
  ): Promise<ReadonlyMap<string, RecordedFile>>;
  /**
   * Finds a file of each run in a commit of the record, without listing what else the runs have. Leaves out runs without it.
   * @returns files by the name of the run's folder
   * @throws {NeedsHuman} `setup_failed` where the commit has too many folders of runs
   */
  recordedRuns(project: RemoteProject, commit: string, name: string): Promise<ReadonlyMap<string, RecordedFile>>;
  /**
   * Lists the files of projects and runs in a commit of the record, without symlinks.
   * @returns object ids by path
   * @throws {NeedsHuman} `setup_failed` where there are too many
   */
  recordedFiles(project: RemoteProject, commit: string): Promise<ReadonlyMap<string, string>>;
  /**
   * Fetches the remote's branch `autonomous/record` and those of years into the mirror.
   * @param signal ends the git process; its reason is thrown
   * @returns the branch's commit; `null` if the remote has no such branch
   * @throws {NeedsHuman} `remote_unavailable` or `auth_expired`
   */
  fetchRecord(project: RemoteProject, signal?: AbortSignal): Promise<string | null>;
  /**
   * Brings what a copy of the project's remote has into the mirror, as if it was fetched from the remote: of a clone its remote
   * branches, of a bare repository or a URL its branches. The mirror's own record is moved forward to the one of the copy.
   * @param from absolute folder or URL
   * @returns the commit of the record; `null` if the copy has none
   * @throws {InvalidRequest} when the address is not allowed @throws {NeedsHuman} `remote_unavailable` or `auth_expired`
   */
  fetchCopy(project: Pick<RemoteProject, 'id'>, from: string): Promise<string | null>;
  /**
   * Checks that a folder is a whole repository.
   * @param folder absolute
   * @returns the address of its project, without credentials: of a bare repository its own, of a clone or mirror that of its
   *   `origin`; `null` if it has none that can be used
   * @throws {Unprocessable} when it is no repository or a shallow clone, naming the way out
   */
  inspectClone(folder: string): Promise<{ readonly address: string | null }>;
  /**
   * Makes a commit that leads to those of these commits and trees that the mirror has, so that a branch can bring them along. The
   * same objects give the same commit; no ref is moved.
   * @param ids object ids of any kind; others than commits and trees are passed over
   * @returns `null` when none of them is there
   */
  gather(project: RemoteProject, ids: readonly string[]): Promise<string | null>;
  /**
   * Writes files to the orphan branch `autonomous/record` and pushes it: in one commit, by compare-and-swap, retried when the
   * branch moved. Other files stay. Commits nothing if nothing changes.
   * @returns `pushed: false` while the remote is unavailable, with why, and for `mirror`; the next call to `remote` pushes the rest
   * @throws {NeedsHuman} `auth_expired`, `push_rejected` or `storage_full`; the commit is in the mirror then too
   */
  record(project: RemoteProject, contents: RecordContents, options?: RecordOptions): Promise<RecordedCommit>;

  /**
   * Moves folders of the record to the branches of their years: first these get them, then the record loses them. Both
   * branches only grow, and those of years lead to all that the record led to. Other files of `keep` are copied.
   * @returns false when the remote's branches are not as last fetched, or the mirror's record is not pushed: nothing is lost
   *   then, and a later call goes on
   * @throws {NeedsHuman} `auth_expired`, `push_rejected` or `remote_unavailable`
   */
  moveRecord(
    project: RemoteProject,
    moves: readonly RecordMove[],
    keep: readonly string[],
    signal?: AbortSignal,
  ): Promise<boolean>;
  /**
   * Gives files and folders of the mirror's own record what a commit of the remote's record has there, which may be nothing.
   * Pushes nothing.
   * @param from as `fetchRecord` returns it
   */
  restoreRecord(project: RemoteProject, paths: readonly string[], from: string | null): Promise<void>;
}

export interface RecordContents {
  /** By path. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Commits that the branch leads to from then on. Default: none. */
  readonly commits?: readonly string[];
  readonly message: string;
}

export interface RecordedCommit {
  readonly commit: string;
  readonly pushed: boolean;
  /** Why the remote could not be reached. Absent: it was, or was not to be. */
  readonly why?: string;
}

export interface RecordOptions {
  /** Called before files of the record are overwritten, the mirror's own too. Absent: they are. */
  readonly keep?: RecordKeeper | undefined;
  /**
   * Finds those of these paths that another format has in a commit of the mirror's record: they came from the remote, and what it has
   * there now takes their place. Absent: none are.
   */
  readonly foreign?: ((commit: string, paths: readonly string[]) => Promise<ReadonlySet<string>>) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** `mirror`: nothing is pushed. Default: `remote`. */
  readonly to?: 'remote' | 'mirror';
}

/** Folders of the record to be moved to the branch of a year. */
export interface RecordMove {
  /** Four digits. */
  readonly year: string;
  /** Paths in the record, such as `.autonomous/runs/abc123-def456`. */
  readonly folders: readonly string[];
}

/**
 * Decides which files of the record are kept.
 * @param base commit that the new one continues: of the remote's record, or `local`
 * @param local commit of the mirror's own record; `null` if there is none
 * @param paths files that are about to overwrite those of `base`
 * @returns those of `paths` that must stay as they are in `base`
 */
export type RecordKeeper = (
  base: string,
  local: string | null,
  paths: readonly string[],
) => Promise<ReadonlySet<string>>;
