/** Checks a remote that a person has just named: it can be reached, has commits, and has the base branch. */
import { lstat, mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Unprocessable } from '@autonomous/shared';
import { type GitMirrors, initBare } from './git-mirrors.ts';
import { asUnprocessable, hasUncommittedChanges, listRemote, type RemoteRefs } from './git-remote.ts';
import { withScratch } from './git-trees.ts';
import { parseRemoteAddress, type RemoteAddress } from './remote-url.ts';
import { assertBranchName, isBranchName } from './repository-paths.ts';

/** Longest wait for a remote that a person has just named, since that person waits for the answer. */
const INSPECTION_LIMIT_MS = 15_000;
/** Branches that an error message names. */
const BRANCHES_NAMED = 10;

/**
 * Makes no mirror.
 * @param baseBranch default: the remote's HEAD, or its only branch
 * @throws {Unprocessable} naming what is wrong and the way out
 * @throws {InvalidRequest} for an address that is never used, such as one with credentials in it
 */
export async function inspectRemote(
  mirrors: GitMirrors,
  repository: string,
  baseBranch?: string,
): Promise<{ readonly baseBranch: string; readonly notices: readonly string[] }> {
  const address = parseRemoteAddress(repository);
  if (baseBranch !== undefined) assertBranchName(baseBranch);
  if (address.kind === 'local') {
    await assertFolder(address.path);
    await assertWholeRepository(address.path);
  }
  const refs = await listBranches(mirrors, address);
  const chosen = chooseBaseBranch(address.url, refs, baseBranch);
  const isDirty =
    address.kind === 'local' &&
    refs.headCommit !== null &&
    (await hasUncommittedChanges(address.path, refs.headCommit, mirrors.home));
  const notice = `${address.url} has changes that are in no commit; runs start from the last commit and do not see them`;
  return { baseBranch: chosen, notices: isDirty ? [notice] : [] };
}

/** Lists the remote's branches from an empty repository that is removed afterwards. */
async function listBranches(mirrors: GitMirrors, address: RemoteAddress): Promise<RemoteRefs> {
  const { home } = mirrors;
  await mkdir(home, { recursive: true });
  try {
    return await withScratch({ home }, async (gitDir) => {
      await initBare({ gitDir, home });
      return listRemote({ gitDir, home }, mirrors.accessTo(address, { limitMs: INSPECTION_LIMIT_MS }));
    });
  } catch (error) {
    throw asUnprocessable(error);
  }
}

/** @throws {Unprocessable} when a local path is no folder */
async function assertFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => null);
  if (found === null)
    throw new Unprocessable(
      `There is no folder ${folder} on the server's machine; give the absolute path or the URL of a git repository`,
    );
  if (!found.isDirectory()) throw new Unprocessable(`${folder} is a file; give the folder of a git repository`);
}

/**
 * Nothing is said of a folder without a repository: git does that.
 * @throws {Unprocessable} for a folder below the root of a repository, and for a shallow clone
 */
async function assertWholeRepository(folder: string): Promise<void> {
  const gitFolder = await gitFolderOf(folder);
  if (gitFolder === null) {
    const root = await rootAbove(folder);
    if (root !== null)
      throw new Unprocessable(`${folder} is a folder inside the repository ${root}; give ${root} as the project`);
    return;
  }
  if (await exists(path.join(gitFolder, 'shallow')))
    throw new Unprocessable(
      `${folder} is a shallow clone, which lacks commits that runs need; complete it with "git -C ${folder} fetch --unshallow", then try again`,
    );
}

/** The folder with git's data; `null` where the folder itself is no repository. */
async function gitFolderOf(folder: string): Promise<string | null> {
  const dotGit = path.join(folder, '.git');
  const found = await stat(dotGit).catch(() => null);
  if (found?.isDirectory()) return dotGit;
  if (found?.isFile()) {
    // A worktree or a submodule names its data in a file.
    const [, named] = /^gitdir: (.+)$/m.exec(await readFile(dotGit, 'utf8').catch(() => '')) ?? [];
    return named === undefined ? dotGit : path.resolve(folder, named);
  }
  const isBare = (await exists(path.join(folder, 'HEAD'))) && (await exists(path.join(folder, 'objects')));
  return isBare ? folder : null;
}

async function rootAbove(folder: string): Promise<string | null> {
  for (let above = path.dirname(folder); ; above = path.dirname(above)) {
    if (await exists(path.join(above, '.git'))) return above;
    if (above === path.dirname(above)) return null;
  }
}

function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  );
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
