/** Reads and moves the repositories of the open folders with git itself. Nothing of a repository's own is run: no hooks, no pagers. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** A file that is larger is shown from the server's diff instead. */
const MAX_FILE_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** The first of these folders whose repository has this commit. */
export async function folderWithCommit(folders: readonly string[], commit: string): Promise<string | null> {
  for (const folder of folders) if (await hasCommit(folder, commit)) return folder;
  return null;
}

async function hasCommit(folder: string, commit: string): Promise<boolean> {
  if (!/^[0-9a-f]{40,64}$/.test(commit)) return false;
  return git(folder, 'cat-file', '-e', `${commit}^{commit}`).then(
    () => true,
    () => false,
  );
}

/** A file as it is in a commit; `null` where the commit has none at this path. */
export async function fileAt(folder: string, commit: string, path: string): Promise<string | null> {
  return git(folder, 'show', '--no-textconv', `${commit}:${path}`).catch(() => null);
}

export interface Fetched {
  readonly folder: string;
  readonly remote: string;
}

/**
 * Brings a branch into one of these folders' repositories.
 * @returns `null` where no remote of theirs has it
 */
export async function fetchBranch(folders: readonly string[], branch: string): Promise<Fetched | null> {
  for (const folder of folders) {
    const remotes = await git(folder, 'remote').catch(() => '');
    for (const remote of remotes.split('\n').filter((name) => name !== '')) {
      const reference = `+refs/heads/${branch}:refs/remotes/${remote}/${branch}`;
      const isThere = await git(folder, 'fetch', '--quiet', '--no-tags', remote, reference).then(
        () => true,
        () => false,
      );
      if (isThere) return { folder, remote };
    }
  }
  return null;
}

/** What stands in the way of another branch: paths that are changed and not committed. */
export async function uncommitted(folder: string): Promise<readonly string[]> {
  const status = await git(folder, 'status', '--porcelain', '--untracked-files=no');
  return status.split('\n').flatMap((line) => (line === '' ? [] : [line.slice(3)]));
}

/** Switches to the fetched branch; a local one of this name is brought forward, never thrown away. */
export async function switchTo({ folder, remote }: Fetched, branch: string): Promise<void> {
  const hasLocal = await git(folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`).then(
    () => true,
    () => false,
  );
  if (!hasLocal) {
    await git(folder, 'switch', '--create', branch, '--track', `${remote}/${branch}`);
    return;
  }
  await git(folder, 'switch', branch);
  await git(folder, 'merge', '--ff-only', '--quiet', `${remote}/${branch}`);
}

/** The address of the remote that the folder was cloned from; `null` where there is none. */
export async function remoteUrl(folder: string): Promise<string | null> {
  return git(folder, 'remote', 'get-url', 'origin').then(
    (url) => url.trim() || null,
    () => null,
  );
}

/** @throws {Error} with git's own last words */
async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const settings = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'protocol.ext.allow=never'];
  try {
    const { stdout } = await run('git', [...settings.flatMap((setting) => ['-c', setting]), ...args], {
      cwd: folder,
      maxBuffer: MAX_FILE_BYTES,
      timeout: TIMEOUT_MS,
      env: { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' },
    });
    return stdout;
  } catch (error) {
    const { stderr } = error as { readonly stderr?: string };
    throw new Error(stderr?.trim().split('\n').at(-1) || String(error), { cause: error });
  }
}
