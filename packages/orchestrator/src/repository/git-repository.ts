/**
 * The repository port over the machine's own git: one bare mirror per project, in which the remote's branches are
 * `refs/remotes/origin/*` and the server's own are `refs/heads/*`. Written by plumbing alone.
 */
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Conflict, InvalidRequest, NotFound, Unprocessable } from '@autonomous/shared';
import { checkoutTree } from './folder-checkout.ts';
import { importFolderTree } from './folder-import.ts';
import { beyondGitBounds } from './git-bounds.ts';
import { GitFailure, type GitPlace, gitText, type Patience, runGit } from './git.ts';
import { readDiff } from './git-diff.ts';
import { changesOfTrees, newHistory, readBlobs, symlinksOf, treeChanges } from './git-outgoing.ts';
import {
  asUnprocessable,
  fetchBranches,
  hasUncommittedChanges,
  listRemote,
  pushCommit,
  type RemoteAccess,
  type RemoteRefs,
} from './git-remote.ts';
import {
  editTree,
  FILE_MODE,
  isFileMode,
  listTree,
  SUBMODULE_MODE,
  SYMLINK_MODE,
  makeCodeTree,
  mergeCommits,
  readTexts,
  scratchOf,
  withoutLarge,
  type TreeEdit,
  type TreeEntry,
  withScratch,
  writeBlobs,
} from './git-trees.ts';
import { packMirror } from './mirror-packing.ts';
import { RecentAnswers } from './recent-answers.ts';
import { recordFiles } from './record-branch.ts';
import { SOURCE_AS_TEXT } from './text-files.ts';
import { parseRemoteAddress, type RemoteAddress } from './remote-url.ts';
import {
  type BranchCommit,
  type CommitRequest,
  type PushResult,
  RECORD_BRANCH,
  type RemoteProject,
  type Repository,
} from './repository.ts';
import {
  assertBranchName,
  assertFilePath,
  assertObjectId,
  assertProjectId,
  atOrUnderAny,
  isBranchName,
  isObjectId,
  resolveTreeish,
} from './repository-paths.ts';

export interface GitRepositoryOptions {
  /** Absolute folder in which the mirrors lie; made when it is absent. */
  readonly folder: string;
  /** Sent to http(s) remotes of `tokenHost` and to no other. */
  readonly token?: string;
  /** Host of the token, with its port where that is not the scheme's own; default `github.com`. */
  readonly tokenHost?: string;
  /** Author and committer of every commit. */
  readonly author: { readonly name: string; readonly email: string };
  /** Date of the record's commits; the others bring their own. */
  readonly now?: () => Date;
}

/** Largest file that is read as text. */
const MAX_TEXT_BYTES = 10 * 1024 * 1024;
/** A repetition comes soon after its first try: commits further back are not searched for an effect key. */
const SEARCHED_COMMITS = 200;
/** Tries to move one ref while others get in the way, and the wait after the first; it grows with each. */
const MAX_REF_TRIES = 6;
const REF_RETRY_MS = 30;
const EFFECT_KEY = 'Effect-Key: ';
/** Trees of commits that are known without asking git. */
const ANSWERS_KEPT = 2_000;
/** Characters of diffs that are cached: people who look at a result request the same diff again and again. */
const DIFFS_KEPT = 24 * 1024 * 1024;
/** Files of the tree lists that are cached: a step of a run reads from the same tree again and again. */
const LISTED_FILES_KEPT = 60_000;
/** Characters that one file in the list of a diff counts for. */
const LISTED_FILE = 300;
/** Longest wait for a remote that a person has just named, since that person waits for the answer. */
const INSPECTION_LIMIT_MS = 15_000;
/** Branches that an error message names. */
const BRANCHES_NAMED = 10;
/** Files are written as they are stored: no line endings, no keywords, no filters, no encodings. Source code is text in diffs. */
const MIRROR_ATTRIBUTES = `* -text -ident -filter !eol !crlf !working-tree-encoding !diff !merge\n${SOURCE_AS_TEXT}`;

/** A repository over local git (2.38 or newer); nothing is read or written before its first call. */
export function createGitRepository(options: GitRepositoryOptions): Repository {
  const home = join(options.folder, '.home');
  const mirrors = new Map<string, Promise<GitPlace>>();
  const locks = new Map<string, Promise<unknown>>();
  const treeOf = rememberById(readTreeOf);
  const codeTreeOf = rememberById(makeCodeTree);
  const diffs = new RecentAnswers<Awaited<ReturnType<typeof readDiff>>>(
    DIFFS_KEPT,
    ({ files, patch }) => 1 + patch.length + LISTED_FILE * files.length,
  );

  const lists = new RecentAnswers<readonly TreeEntry[]>(LISTED_FILES_KEPT, (entries) => 1 + entries.length);

  async function listOf(place: GitPlace, tree: string): Promise<readonly TreeEntry[]> {
    const key = `${place.gitDir} ${tree}`;
    const known = lists.get(key);
    if (known !== undefined) return known;
    const entries = await listTree(place, tree);
    lists.keep(key, entries);
    return entries;
  }

  /** One at a time per name, in the order of the calls. */
  function inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (locks.get(name) ?? Promise.resolve()).then(work, work);
    locks.set(name, turn);
    const clear = (): void => {
      if (locks.get(name) === turn) locks.delete(name);
    };
    turn.then(clear, clear);
    return turn;
  }

  /** The project's mirror, made when it is absent; making it again changes nothing. */
  function mirrorOf(project: RemoteProject): Promise<GitPlace> {
    const gitDir = join(options.folder, `${assertProjectId(project.id)}.git`);
    const known = mirrors.get(gitDir);
    if (known !== undefined) return known;
    const made = beyondGitBounds(() => makeMirror({ gitDir, home }));
    mirrors.set(gitDir, made);
    made.catch(() => mirrors.delete(gitDir));
    return made;
  }

  function accessTo(address: RemoteAddress, patience: Patience): RemoteAccess {
    return { address, token: options.token, tokenHost: options.tokenHost ?? 'github.com', ...patience };
  }

  async function onRemote(
    project: RemoteProject,
    signal?: AbortSignal,
  ): Promise<{ readonly place: GitPlace; readonly access: RemoteAccess }> {
    const access = accessTo(parseRemoteAddress(project.repository), { signal });
    return { place: await mirrorOf(project), access };
  }

  async function push(
    project: RemoteProject,
    branch: string,
    commit: string,
    expected: string | null,
    signal?: AbortSignal,
  ): Promise<PushResult> {
    assertBranchName(branch);
    assertObjectId(commit);
    const { place, access } = await onRemote(project, signal);
    await assertCommit(place, commit);
    if (expected !== null && !(await isAncestor(place, assertObjectId(expected), commit))) {
      throw new Conflict(
        `${commit} does not contain ${expected}, where ${branch} is expected to be; a push only adds to a branch`,
      );
    }
    const tracking = `refs/remotes/origin/${branch}`;
    const before = await readRef(place, tracking);
    const pushed = await pushCommit(place, access, branch, commit, expected);
    if (pushed.outcome === 'moved') return { ok: false, remoteCommit: pushed.remoteCommit };
    // Update the tracking ref without fetching. When a concurrent fetch has already moved it, its value stays.
    await moveRef(place, tracking, commit, before).catch(ignoreConflict);
    return { ok: true };
  }

  function commitTree(
    place: GitPlace,
    tree: string,
    parents: readonly string[],
    message: string,
    at: Date,
  ): Promise<string> {
    const date = `@${Math.floor(at.getTime() / 1000)} +0000`;
    const { name, email } = options.author;
    return gitText(place, {
      args: ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent])],
      input: message.replaceAll('\0', ''),
      env: {
        GIT_AUTHOR_NAME: name,
        GIT_AUTHOR_EMAIL: email,
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_NAME: name,
        GIT_COMMITTER_EMAIL: email,
        GIT_COMMITTER_DATE: date,
      },
    });
  }

  async function commit(project: RemoteProject, request: CommitRequest): Promise<string> {
    const ref = `refs/heads/${assertBranchName(request.branch)}`;
    const parents = [request.parent, ...(request.secondParent === undefined ? [] : [request.secondParent])].map(
      assertObjectId,
    );
    const trailer = effectTrailer(request.effectKey);
    const at = new Date(request.at);
    if (Number.isNaN(at.getTime())) throw new InvalidRequest(`'${request.at}' is not an ISO 8601 date`);
    const place = await mirrorOf(project);
    const known = await readBranch(place, ref);
    const isSame = (other: BranchCommit): boolean =>
      other.effectKey === request.effectKey &&
      other.tree === request.tree &&
      other.parents.join(' ') === parents.join(' ');
    const found = known.find(isSame);
    if (found !== undefined) return found.id;
    const head = known[0]?.id ?? null;
    if (head !== null && head !== (request.replaces ?? request.parent)) {
      throw new Conflict(`Branch ${request.branch} is at ${head}, not at ${request.parent} where the commit was to go`);
    }
    const made = await commitTree(
      place,
      assertObjectId(request.tree),
      parents,
      withTrailer(request.message, trailer),
      at,
    );
    try {
      await moveRef(place, ref, made, head);
    } catch (error) {
      // Somebody was quicker: either this same commit, or another.
      if (error instanceof Conflict && (await readBranch(place, ref)).some(isSame)) return made;
      throw error;
    }
    return made;
  }

  return {
    async inspectRemote(repository, baseBranch) {
      const address = parseRemoteAddress(repository);
      if (baseBranch !== undefined) assertBranchName(baseBranch);
      if (address.kind === 'local') await assertFolder(address.path);
      await mkdir(home, { recursive: true });
      const refs = await withScratch({ home }, async (gitDir) => {
        await initBare({ gitDir, home });
        return listRemote({ gitDir, home }, accessTo(address, { limitMs: INSPECTION_LIMIT_MS }));
      }).catch((error: unknown) => {
        throw asUnprocessable(error);
      });
      const chosen = chooseBaseBranch(address.url, refs, baseBranch);
      const isDirty =
        address.kind === 'local' &&
        refs.headCommit !== null &&
        (await hasUncommittedChanges(address.path, refs.headCommit, home));
      const notice = `${address.url} has changes that are in no commit; runs start from the last commit and do not see them`;
      return { baseBranch: chosen, notices: isDirty ? [notice] : [] };
    },

    async fetch(project, signal) {
      const { place, access } = await onRemote(project, signal);
      // Another fetch may be before it for minutes.
      await orAborted(signal, () => inTurn(`fetch ${project.id}`, () => fetchBranches(place, access)));
    },

    async pack(project, keep) {
      const place = await mirrorOf(project);
      return inTurn(`pack ${project.id}`, () => packMirror(place, keep));
    },

    async removeLeftovers() {
      await rm(scratchOf({ home }), { recursive: true, force: true });
    },

    async remoteHead(project, branch) {
      const ref = `refs/remotes/origin/${assertBranchName(branch)}`;
      return readRef(await mirrorOf(project), ref);
    },

    async branchHead(project, branch) {
      const ref = `refs/heads/${assertBranchName(branch)}`;
      return readRef(await mirrorOf(project), ref);
    },

    async missingCommits(project, commits) {
      if (commits.length === 0) return new Set();
      const known = await gitText(await mirrorOf(project), {
        args: ['cat-file', '--batch-check=%(objectname) %(objecttype)'],
        input: commits.map((commit) => `${assertObjectId(commit)}\n`).join(''),
      });
      const present = new Set(known.split('\n').flatMap((line) => /^(\S+) commit$/.exec(line)?.[1] ?? []));
      return new Set(commits.filter((commit) => !present.has(commit)));
    },

    async createBranch(project, branch, commitId) {
      const ref = `refs/heads/${assertBranchName(branch)}`;
      const place = await mirrorOf(project);
      await assertCommit(place, commitId);
      if ((await readRef(place, ref)) === null) await moveRef(place, ref, commitId, null).catch(ignoreConflict);
      const head = await readRef(place, ref);
      if (head === null || !(await isAncestor(place, commitId, head))) {
        throw new Conflict(`Branch ${branch} is already at ${head}, which does not contain ${commitId}`);
      }
    },

    async treeOf(project, treeish) {
      return treeOf(await mirrorOf(project), treeish);
    },

    async codeTree(project, treeish) {
      const place = await mirrorOf(project);
      return codeTreeOf(place, await treeOf(place, treeish));
    },

    async listFiles(project, treeish) {
      const place = await mirrorOf(project);
      const entries = await listOf(place, await treeOf(place, treeish));
      return entries
        .filter(({ mode }) => mode !== '160000')
        .map(({ path }) => path)
        .sort();
    },

    async readFile(project, treeish, path) {
      assertFilePath(path);
      const place = await mirrorOf(project);
      return readTextFile(place, await treeOf(place, treeish), path);
    },

    async readFiles(project, treeish, paths, maxBytes, maxTotalBytes) {
      for (const path of paths) assertFilePath(path);
      const place = await mirrorOf(project);
      const wanted = new Set(paths);
      const entries = await listOf(place, await treeOf(place, treeish));
      const files = entries.filter(({ path, mode }) => wanted.has(path) && isFileMode(mode));
      return readTexts(
        place,
        maxBytes === undefined ? files : await withoutLarge(place, files, maxBytes, maxTotalBytes),
      );
    },

    async writeFiles(project, tree, files) {
      const paths = Object.keys(files).map(assertFilePath);
      const place = await mirrorOf(project);
      const written = paths.filter((path) => files[path] !== null);
      const contents = written.map((path) => files[path] ?? '');
      const [before, oids] = await Promise.all([treeOf(place, tree), writeBlobs(place, contents)]);
      const oidOf = new Map(written.map((path, index) => [path, oids[index]]));
      const edits = paths.map((path): TreeEdit => ({ path, mode: FILE_MODE, oid: oidOf.get(path) ?? null }));
      return editTree(place, before, edits);
    },

    async restorePaths(project, tree, from, paths) {
      const place = await mirrorOf(project);
      const [now, then] = await Promise.all([treeOf(place, tree), treeOf(place, from)]);
      const [entries, sources] = await Promise.all([listOf(place, now), listOf(place, then)]);
      const isNamed = atOrUnderAny(paths);
      const removed = entries
        .filter(({ path }) => isNamed(path))
        .map(({ rawPath, mode }): TreeEdit => ({ path: rawPath, mode, oid: null }));
      const restored = sources
        .filter(({ path }) => isNamed(path))
        .map(({ rawPath, mode, oid }): TreeEdit => ({ path: rawPath, mode, oid }));
      return editTree(place, now, [...removed, ...restored]);
    },

    async checkout(project, treeish, folder, excludePaths) {
      const place = await mirrorOf(project);
      return checkoutTree(place, await treeOf(place, treeish), folder, excludePaths);
    },

    async leftOut(project, treeish) {
      const place = await mirrorOf(project);
      const entries = await listOf(place, await treeOf(place, treeish));
      const pathsOf = (wanted: string) => entries.filter(({ mode }) => mode === wanted).map(({ path }) => path);
      return { symlinks: pathsOf(SYMLINK_MODE), submodules: pathsOf(SUBMODULE_MODE) };
    },

    async importFolder(project, request) {
      const place = await mirrorOf(project);
      return importFolderTree(place, { ...request, baseTree: await treeOf(place, request.baseTree) });
    },

    commit,

    async commitsAfter(project, branch, commitId) {
      assertObjectId(commitId);
      const commits = await readBranch(await mirrorOf(project), `refs/heads/${assertBranchName(branch)}`);
      const index = commits.findIndex(({ id }) => id === commitId);
      return index === -1 ? null : commits.slice(0, index);
    },

    async commitsBetween(project, base, head) {
      const place = await mirrorOf(project);
      await Promise.all([assertCommit(place, base), assertCommit(place, head)]);
      return readCommits(place, ['--first-parent', head, `^${base}`]);
    },

    async isAncestor(project, ancestor, descendant) {
      return isAncestor(await mirrorOf(project), assertObjectId(ancestor), assertObjectId(descendant));
    },

    async diff(project, from, to, options = {}) {
      const place = await mirrorOf(project);
      const [before, after] = await Promise.all([treeOf(place, from), treeOf(place, to)]);
      const key = JSON.stringify([place.gitDir, before, after, options.leaveOut ?? [], options.maxBytes ?? null]);
      // A second request for the same diff waits for the first one and takes its cached result.
      return inTurn(`diff ${key}`, async () => {
        const known = diffs.get(key);
        if (known !== undefined) return { from, to, ...known };
        const read = await readDiff(place, before, after, options);
        diffs.keep(key, read);
        return { from, to, ...read };
      });
    },

    async changes(project, from, to) {
      const place = await mirrorOf(project);
      const [before, after] = await Promise.all([treeOf(place, from), treeOf(place, to)]);
      return before === after ? [] : treeChanges(place, before, after);
    },

    async changesOfTrees(project, pairs) {
      const place = await mirrorOf(project);
      return changesOfTrees(
        place,
        pairs.map(([from, to]) => [assertObjectId(from), assertObjectId(to)]),
      );
    },

    async symlinks(project, treeish) {
      const place = await mirrorOf(project);
      return symlinksOf(place, await treeOf(place, treeish));
    },

    async newHistory(project, commitId) {
      return newHistory(await mirrorOf(project), assertObjectId(commitId));
    },

    async readBlobs(project, oids, maxBytes) {
      return readBlobs(await mirrorOf(project), oids.map(assertObjectId), maxBytes);
    },

    async mergeTrees(project, ours, theirs) {
      const place = await mirrorOf(project);
      await Promise.all([assertCommit(place, ours), assertCommit(place, theirs)]);
      return mergeCommits(place, ours, theirs);
    },

    push,

    async fetchRecord(project, signal) {
      const { place, access } = await onRemote(project, signal);
      const commit = (await listRemote(place, access)).branches.get(RECORD_BRANCH) ?? null;
      const tracking = `refs/remotes/origin/${RECORD_BRANCH}`;
      if (commit === null) await runGit(place, { args: ['update-ref', '-d', tracking] });
      else if ((await readRef(place, tracking)) !== commit)
        await orAborted(signal, () => inTurn(`fetch ${project.id}`, () => fetchBranches(place, access, RECORD_BRANCH)));
      return commit;
    },

    async record(project, files, message, keep, signal) {
      for (const path of Object.keys(files)) assertFilePath(path);
      const { place, access } = await onRemote(project, signal);
      const local = `refs/heads/${RECORD_BRANCH}`;
      const tracking = `refs/remotes/origin/${RECORD_BRANCH}`;
      const at = options.now?.() ?? new Date();
      return inTurn(`record ${project.id}`, () =>
        recordFiles(
          place,
          {
            localHead: () => readRef(place, local),
            remoteHead: () => readRef(place, tracking),
            treeOf: (commitId) => treeOf(place, commitId),
            mergeBase: (a, b) => mergeBase(place, a, b),
            commitTree: (tree, parent, text) =>
              commitTree(place, tree, parent === null ? [] : [parent], `${text.trimEnd()}\n`, at),
            moveLocal: (commitId, before) => moveRef(place, local, commitId, before),
            push: (commitId, expected) => push(project, RECORD_BRANCH, commitId, expected, signal),
            refresh: async (remoteCommit) => {
              if (remoteCommit === null) await runGit(place, { args: ['update-ref', '-d', tracking] });
              else await inTurn(`fetch ${project.id}`, () => fetchBranches(place, access, RECORD_BRANCH));
            },
          },
          files,
          message,
          keep,
        ),
      );
    },
  };
}

/** @throws what the signal was aborted with */
async function orAborted<Value>(signal: AbortSignal | undefined, work: () => Promise<Value>): Promise<Value> {
  if (signal === undefined) return work();
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function makeMirror(place: GitPlace): Promise<GitPlace> {
  await mkdir(place.home, { recursive: true });
  await mkdir(place.gitDir, { recursive: true });
  await initBare(place);
  await mkdir(join(place.gitDir, 'info'), { recursive: true });
  await writeFile(join(place.gitDir, 'info', 'attributes'), MIRROR_ATTRIBUTES);
  return place;
}

async function initBare(place: GitPlace): Promise<void> {
  await runGit(place, { args: ['init', '--quiet', '--bare', '--template=', '--initial-branch=main'] });
}

/** @throws {Unprocessable} when a local path is no folder */
async function assertFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found === null)
    throw new Unprocessable(
      `There is no folder ${path} on the server's machine; give the absolute path or the URL of a git repository`,
    );
  if (!found.isDirectory()) throw new Unprocessable(`${path} is a file; give the folder of a git repository`);
}

/** @throws {Unprocessable} when there is nothing to start from */
function chooseBaseBranch(url: string, refs: RemoteRefs, asked: string | undefined): string {
  if (refs.branches.size === 0) {
    throw new Unprocessable(
      `${url} has no commits yet; make a first commit there (git add -A && git commit), then try again`,
    );
  }
  const names = [...refs.branches.keys()];
  const shown =
    names.length > BRANCHES_NAMED
      ? `${names.slice(0, BRANCHES_NAMED).join(', ')} and ${names.length - BRANCHES_NAMED} more`
      : names.join(', ');
  if (asked !== undefined) {
    if (refs.branches.has(asked)) return asked;
    throw new Unprocessable(`${url} has no branch '${asked}'; it has ${shown}`);
  }
  const chosen = refs.headBranch ?? (names.length === 1 ? names[0] : undefined);
  if (chosen === undefined)
    throw new Unprocessable(`${url} has no default branch. Name the base branch, one of ${shown}`);
  if (!isBranchName(chosen))
    throw new Unprocessable(
      `The main branch of ${url} has a name that is not used here; name another base branch, one of ${shown}`,
    );
  return chosen;
}

async function readRef(place: GitPlace, ref: string): Promise<string | null> {
  const { exitCode, stdout } = await runGit(place, { args: ['rev-parse', '--verify', '--quiet', ref], accept: [0, 1] });
  return exitCode === 0 ? stdout.toString('utf8').trim() : null;
}

/**
 * Moves a ref by compare-and-swap. Where others move it at the same moment git may fail although the ref is still where it
 * was (a lock, a folder that is being made): that is tried again.
 * @throws {Conflict} when the ref is not at `before` (`null`: absent)
 */
async function moveRef(place: GitPlace, ref: string, commit: string, before: string | null): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await runGit(place, { args: ['update-ref', ref, commit, before ?? '0'.repeat(40)] });
      return;
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      const now = await readRef(place, ref);
      if (now !== before || /exists; cannot create/.test(error.stderr)) {
        throw new Conflict(
          `${ref} is at ${now ?? 'no commit'}, not at ${before ?? 'no commit'} where it was expected`,
          {
            cause: error,
          },
        );
      }
      if (tries === MAX_REF_TRIES) throw error;
      await sleep(REF_RETRY_MS * tries);
    }
  }
}

function ignoreConflict(error: unknown): void {
  if (!(error instanceof Conflict)) throw error;
}

/** Caches answers by object id, which always names the same content. Answers for branches are not cached. */
function rememberById(
  ask: (place: GitPlace, treeish: string) => Promise<string>,
): (place: GitPlace, treeish: string) => Promise<string> {
  const answers = new Map<string, string>();
  return async (place, treeish) => {
    if (!isObjectId(treeish)) return ask(place, treeish);
    const key = `${place.gitDir} ${treeish}`;
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = await ask(place, treeish);
    const [oldest] = answers.keys();
    if (oldest !== undefined && answers.size >= ANSWERS_KEPT) answers.delete(oldest);
    answers.set(key, answer);
    return answer;
  };
}

async function readTreeOf(place: GitPlace, treeish: string): Promise<string> {
  const { exitCode, stdout } = await runGit(place, {
    args: ['rev-parse', '--verify', '--quiet', `${resolveTreeish(treeish)}^{tree}`],
    accept: [0, 1, 128],
  });
  if (exitCode !== 0)
    throw new NotFound(`The mirror has no commit, tree or branch '${treeish}'; fetch the project, or choose another`);
  return stdout.toString('utf8').trim();
}

async function assertCommit(place: GitPlace, commit: string): Promise<void> {
  const { exitCode } = await runGit(place, {
    args: ['cat-file', '-e', `${assertObjectId(commit)}^{commit}`],
    accept: [0, 1, 128],
  });
  if (exitCode !== 0) throw new NotFound(`The mirror has no commit ${commit}; fetch the project, or choose another`);
}

async function isAncestor(place: GitPlace, ancestor: string, descendant: string): Promise<boolean> {
  const { exitCode } = await runGit(place, {
    args: ['merge-base', '--is-ancestor', ancestor, descendant],
    accept: [0, 1, 128],
  });
  if (exitCode <= 1) return exitCode === 0;
  await Promise.all([assertCommit(place, ancestor), assertCommit(place, descendant)]);
  throw new Error(`git cannot compare ${ancestor} with ${descendant}`);
}

async function mergeBase(place: GitPlace, a: string, b: string): Promise<string | null> {
  const { exitCode, stdout } = await runGit(place, { args: ['merge-base', a, b], accept: [0, 1] });
  return exitCode === 0 ? stdout.toString('utf8').trim() : null;
}

async function readTextFile(place: GitPlace, tree: string, path: string): Promise<string | null> {
  const line = await gitText(place, {
    args: ['ls-tree', '-z', '-l', '--full-tree', tree, '--', path],
    env: { GIT_LITERAL_PATHSPECS: '1' },
  });
  const [mode = '', , oid = '', size = ''] = line.split('\t', 1)[0]?.split(/ +/) ?? [];
  if (!isFileMode(mode)) return null;
  if (Number(size) > MAX_TEXT_BYTES)
    throw new Unprocessable(`${path} has ${size} bytes; files over ${MAX_TEXT_BYTES} bytes are not read as text`);
  return (await runGit(place, { args: ['cat-file', 'blob', oid] })).stdout.toString('utf8');
}

/** @throws {InvalidRequest} for a key that could not be found again in a commit's last line */
function effectTrailer(effectKey: string): string {
  if (!/^[\x21-\x7e]{1,500}$/.test(effectKey))
    throw new InvalidRequest('An effect key is 1 to 500 printable characters without spaces');
  return `${EFFECT_KEY}${effectKey}`;
}

/** Puts the trailer last: beneath other trailers of the message, else as a paragraph of its own. */
function withTrailer(message: string, trailer: string): string {
  const text = message.trimEnd();
  const lastParagraph = /\n\n(?:[A-Za-z][A-Za-z-]*: \S[^\n]*(?:\n|$))+$/.test(text);
  return `${text}${lastParagraph ? '\n' : '\n\n'}${trailer}\n`;
}

/** The branch's newest first-parent commits, newest first; none when there is no such branch. */
async function readBranch(place: GitPlace, ref: string): Promise<readonly BranchCommit[]> {
  try {
    return await readCommits(place, ['--first-parent', `--max-count=${SEARCHED_COMMITS}`, ref]);
  } catch (error) {
    if (!(error instanceof GitFailure) || error.exitCode !== 128 || (await readRef(place, ref)) !== null) throw error;
    return [];
  }
}

async function readCommits(place: GitPlace, which: readonly string[]): Promise<readonly BranchCommit[]> {
  const { stdout } = await runGit(place, { args: ['log', '-z', '--format=%H %T %P%n%B', ...which, '--'] });
  return stdout
    .toString('utf8')
    .split('\0')
    .filter((text) => text !== '')
    .map(parseCommit);
}

function parseCommit(text: string): BranchCommit {
  const [ids = '', ...message] = text.trimEnd().split('\n');
  const [id = '', tree = '', ...parents] = ids.split(' ').filter((part) => part !== '');
  // Only the last line counts: it is written by this file, what stands above may come from an agent.
  const last = message.length > 1 ? (message.at(-1) ?? '') : '';
  return { id, tree, parents, effectKey: last.startsWith(EFFECT_KEY) ? last.slice(EFFECT_KEY.length) : null };
}
