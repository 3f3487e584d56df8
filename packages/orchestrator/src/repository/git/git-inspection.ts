/** Checks a remote that a person has just named: it can be reached, has commits, and has the base branch. */
import { constants } from 'node:fs';
import { access, lstat, mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Unprocessable } from '@autonomous/shared';
import { type GitPlace, gitText } from './git.ts';
import { type GitMirrors, initBare } from './git-mirrors.ts';
import {
  asUnprocessable,
  besideWhichNone,
  exclusion,
  hasUncommittedChanges,
  listRemote,
  type RemoteRefs,
} from './git-remote.ts';
import { withScratch } from './git-trees.ts';
import { RECORD_BRANCH } from '../repository.ts';
import { parseRemoteAddress, type RemoteAddress, withoutCredentials } from '../remote-url.ts';
import { isBranchName, isOwnBranch } from '../../path-rules/branch-names.ts';
import { assertBranchName } from '../repository-paths.ts';
import { OWN_BRANCHES } from './run-branches.ts';

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
    const place = await assertWholeRepository(address.path, mirrors.home);
    if (place !== null) await assertWritable(address.path, place);
  }
  const refs = await listBranches(mirrors, address);
  const other = besideWhichNone(RECORD_BRANCH, refs.branches.keys());
  if (other !== undefined) throw new Unprocessable(`${exclusion(address, other, RECORD_BRANCH)}, then try again`);
  const chosen = chooseBaseBranch(address.url, refs, baseBranch);
  const isDirty =
    address.kind === 'local' &&
    refs.headCommit !== null &&
    (await hasUncommittedChanges(address.path, refs.headCommit, mirrors.home));
  const notice = `${address.url} has changes that are in no commit; runs start from the last commit of ${chosen} and do not see them`;
  return { baseBranch: chosen, notices: isDirty ? [notice] : [] };
}

/**
 * Checks that a folder is a whole repository; it need not be writable.
 * @returns where its projects are: a bare repository is a remote itself, a clone or mirror has `origin`; `null` where that has no
 *   address that may be a project
 * @throws {Unprocessable} naming what is wrong and the way out
 */
export async function inspectClone(mirrors: GitMirrors, folder: string): Promise<{ readonly address: string | null }> {
  await mkdir(mirrors.home, { recursive: true });
  await assertFolder(folder);
  const gitDir = await gitFolderOf(folder);
  if (gitDir === null)
    throw new Unprocessable(
      `${folder} is not a git repository. Give the folder of a clone, which holds .git, or the URL of the repository`,
    );
  const place = { gitDir, home: mirrors.home };
  if (await isShallow(place))
    throw new Unprocessable(
      `${folder} is a shallow clone, which lacks commits. Complete it with "git -C ${folder} fetch --unshallow", or give a complete clone`,
    );
  const isMirror = (await ask(place, 'config', '--get', 'remote.origin.mirror')) === 'true';
  const isRemote = gitDir === folder && !isMirror;
  return { address: isRemote ? parseRemoteAddress(folder).url : await addressOf(place, 'origin') };
}

/** Lists the remote's branches from an empty repository that is removed afterwards. */
async function listBranches(mirrors: GitMirrors, address: RemoteAddress): Promise<RemoteRefs> {
  const { home } = mirrors;
  await mkdir(home, { recursive: true });
  try {
    return await withScratch({ home }, async (gitDir) => {
      await initBare({ gitDir, home });
      return listRemote({ gitDir, home }, await mirrors.accessTo(address, { limitMs: INSPECTION_LIMIT_MS }));
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
 * A folder without a repository passes: git itself reports it.
 * @returns where git's data lies; `null` for such a folder
 * @throws {Unprocessable} for a folder below the root of a repository, and for a shallow clone
 */
async function assertWholeRepository(folder: string, home: string): Promise<GitPlace | null> {
  const gitFolder = await gitFolderOf(folder);
  if (gitFolder === null) {
    const root = await rootAbove(folder);
    if (root === null) return null;
    const below = path.relative(root, folder);
    throw new Unprocessable(
      `${folder} is a folder inside the repository ${root}, and runs work on whole repositories. Give ${root} as the project; name ${below} in the request, and set commands.test of the run to 'cd ${below} && …' if only its tests count`,
    );
  }
  const place = { gitDir: gitFolder, home };
  if (!(await isShallow(place))) return place;
  const command = `git -C ${folder} fetch --unshallow`;
  const remote = await clonedFrom(place);
  const waysOut =
    remote === null
      ? `It names no remote that has them: give a complete clone, or add the remote and complete it with "${command}", then try again`
      : `Complete it with "${command}" and try again, or give its remote ${remote} as the project`;
  throw new Unprocessable(`${folder} is a shallow clone, which lacks commits that runs need. ${waysOut}`);
}

/**
 * Runs push their branches and their record to the project, as the user of the server.
 * @throws {Unprocessable} for a repository on a read-only disk, or of which the server's user may only read
 */
async function assertWritable(folder: string, place: GitPlace): Promise<void> {
  const objects = await ask(place, 'rev-parse', '--git-path', 'objects');
  if (objects === null) return;
  try {
    await access(path.resolve(place.gitDir, objects), constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EROFS' && code !== 'EACCES') return;
    const why = code === 'EROFS' ? 'is on a read-only disk' : "cannot be written by the server's user";
    throw new Unprocessable(
      `${folder} ${why} (${code}), and runs push their branches there. Make it writable, or give a copy as the project: git clone --bare ${folder} COPY`,
      { cause: error },
    );
  }
}

/** Git itself is asked: a worktree has its own folder, and the list of missing commits is in the one of its clone. */
async function isShallow(place: GitPlace): Promise<boolean> {
  return (await ask(place, 'rev-parse', '--is-shallow-repository')) === 'true';
}

/**
 * Address of the remote that a clone came from: `origin`, else its first remote.
 * @returns an address that may be a project, without credentials; `null` where there is none
 */
async function clonedFrom(place: GitPlace): Promise<string | null> {
  const names = (await ask(place, 'remote'))?.split('\n').filter((name) => name !== '') ?? [];
  const name = names.includes('origin') ? 'origin' : names[0];
  return name === undefined ? null : addressOf(place, name);
}

/** @returns `null` where there is no such remote, or its address may not be a project */
async function addressOf(place: GitPlace, name: string): Promise<string | null> {
  const given = await ask(place, 'config', '--get', `remote.${name}.url`);
  if (given === null) return null;
  try {
    return parseRemoteAddress(/^https?:/i.test(given) ? withoutCredentials(given) : given).url;
  } catch {
    return null;
  }
}

/** Asks git about a person's repository by commands that start no program. @returns `null` where git does not answer */
function ask(place: GitPlace, ...args: readonly string[]): Promise<string | null> {
  return gitText(place, { args, timeoutMs: INSPECTION_LIMIT_MS }).catch(() => null);
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
  const names = [...refs.branches.keys()].filter((name) => !name.startsWith(OWN_BRANCHES));
  const shown =
    names.length > BRANCHES_NAMED
      ? `${names.slice(0, BRANCHES_NAMED).join(', ')} and ${names.length - BRANCHES_NAMED} more`
      : names.join(', ');
  if (asked !== undefined) {
    if (isOwnBranch(asked))
      throw new Unprocessable(
        `The branch '${asked}' of ${url} belongs to a run; name a branch of the project: ${shown}`,
      );
    if (refs.branches.has(asked)) return asked;
    throw new Unprocessable(`${url} has no branch '${asked}'; it has ${shown}`);
  }
  const chosen = refs.headBranch ?? (names.length === 1 ? names[0] : undefined);
  if (chosen === undefined)
    throw new Unprocessable(`${url} has no default branch. Name the base branch (--base), one of ${shown}`);
  if (!isBranchName(chosen))
    throw new Unprocessable(
      `The main branch of ${url} has a name that is not used here; name another base branch, one of ${shown}`,
    );
  return chosen;
}
