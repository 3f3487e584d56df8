/** Checks a remote that a person has just named: it can be reached, has commits, and has the base branch. */
import { mkdir, stat } from 'node:fs/promises';
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
  if (address.kind === 'local') await assertFolder(address.path);
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
