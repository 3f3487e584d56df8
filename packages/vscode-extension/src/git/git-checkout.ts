/**
 * Reads and moves the repositories of the open folders with git itself. No program that a repository names is started: hooks
 * and pagers are switched off, and a repository whose own settings name another one is not used.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { assertCheckout, assertNoPrograms, RefusedRepository } from './git-repository-guard.ts';

const run = promisify(execFile);
/** A file that is larger is shown from the server's diff instead. */
const MAX_FILE_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
const MAX_WORDS = 300;

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
export async function fileAt(folder: string, commit: string, file: string): Promise<string | null> {
  return git(folder, 'show', '--no-textconv', `${commit}:${file}`).catch(() => null);
}

export interface Fetched {
  readonly folder: string;
  readonly remote: string;
}

/**
 * Brings a branch into one of these folders' repositories.
 * @returns `null` where no remote of theirs has it
 * @throws {Error} naming the remote where one could not be asked and no other has it
 */
export async function fetchBranch(folders: readonly string[], branch: string): Promise<Fetched | null> {
  let fault: Error | null = null;
  for (const folder of folders) {
    const remotes = await git(folder, 'remote').catch((error: unknown) => {
      if (error instanceof RefusedRepository) fault ??= error;
      return '';
    });
    for (const remote of remotes.split('\n').filter((name) => name !== '')) {
      try {
        await fetchFrom({ folder, remote }, branch);
        return { folder, remote };
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        if (words.includes("couldn't find remote ref")) continue;
        fault ??= new Error(`${branch} cannot be fetched from ${remote}: ${words}`, { cause: error });
      }
    }
  }
  if (fault !== null) throw fault;
  return null;
}

async function fetchFrom({ folder, remote }: Fetched, branch: string): Promise<void> {
  const reference = `+refs/heads/${branch}:refs/remotes/${remote}/${branch}`;
  await git(folder, 'fetch', '--quiet', '--no-tags', '--no-recurse-submodules', '--', remote, reference);
}

/** Paths with uncommitted changes, which prevent a switch to another branch. */
export async function uncommitted(folder: string): Promise<readonly string[]> {
  const status = await git(folder, 'status', '--porcelain', '--untracked-files=no', '--ignore-submodules=all');
  return status.split('\n').flatMap((line) => (line === '' ? [] : [line.slice(3)]));
}

/** Switches to the fetched branch; a local one of this name is brought forward, never thrown away. @throws {Error} where something of the person's own is in the way */
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
  await git(folder, 'merge', '--ff-only', '--quiet', `${remote}/${branch}`).catch((error: unknown) => {
    const words = `${branch} is checked out as it is here: it has commits that ${remote} does not have, or another history.`;
    throw new Error(words, { cause: error });
  });
}

/**
 * Switches to the fetched branch and merges the base of the same remote into it, as far as git can. The conflicts are left as
 * git leaves them, with markers in the files and the merge under way. Where there are none, or the merge cannot begin, the
 * folder is as it was before.
 * @returns absolute paths of the files with conflicts
 * @throws {Error} where there are uncommitted changes, or something else of the person's own is in the way
 */
export async function startMerge(fetched: Fetched, branch: string, base: string): Promise<readonly string[]> {
  const { folder, remote } = fetched;
  const changed = await uncommitted(folder);
  if (changed.length > 0 || (await isMerging(folder))) throw new Error(inTheWay(changed));
  await fetchFrom(fetched, base).catch((error: unknown) => {
    throw new Error(
      `${base} cannot be fetched from ${remote}: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  });
  const goBack = await placeToReturnTo(folder);
  try {
    await switchTo(fetched, branch);
    const args = ['--quiet', '--no-commit', '--no-ff', '--no-rerere-autoupdate', `${remote}/${base}`];
    const fault = await git(folder, ...NAMED, 'merge', ...args).then(
      () => null,
      (error: unknown) => new Error(error instanceof Error ? error.message : String(error), { cause: error }),
    );
    const conflicts = await conflictsIn(folder);
    if (conflicts.length > 0) return conflicts;
    if (await isMerging(folder)) await git(folder, 'merge', '--abort');
    if (fault !== null) throw fault;
  } catch (error) {
    await goBack();
    throw error;
  }
  await goBack();
  return [];
}

/** Git asks for a name before it merges, and uses none as nothing is committed. The person's own settings are for their commit. */
const NAMED = ['-c', 'user.name=Autonomous', '-c', 'user.email=autonomous@localhost'];

/** Says which uncommitted changes keep a branch from being checked out. */
export function inTheWay(changed: readonly string[]): string {
  if (changed.length === 0) return 'A merge is under way in this folder. Commit it, or end it with: git merge --abort';
  return `Commit or stash your changes first: ${changed.slice(0, 3).join(', ')}${changed.length > 3 ? ' …' : ''}`;
}

async function isMerging(folder: string): Promise<boolean> {
  return git(folder, 'rev-parse', '--verify', '--quiet', 'MERGE_HEAD').then(
    () => true,
    () => false,
  );
}

/** @returns a function that switches to the branch, or the commit, that is checked out now */
async function placeToReturnTo(folder: string): Promise<() => Promise<void>> {
  const branch = (await git(folder, 'branch', '--show-current')).trim();
  const place = branch === '' ? ['--detach', (await git(folder, 'rev-parse', 'HEAD')).trim()] : [branch];
  return async () => {
    await git(folder, 'switch', '--quiet', ...place);
  };
}

async function conflictsIn(folder: string): Promise<readonly string[]> {
  const root = (await git(folder, 'rev-parse', '--show-toplevel')).replace(/\n$/, '');
  const listed = await git(folder, 'ls-files', '--unmerged', '-z', '--full-name', '--', ':/');
  const paths = listed.split('\0').flatMap((entry) => (entry === '' ? [] : [entry.slice(entry.indexOf('\t') + 1)]));
  return [...new Set(paths)].map((name) => path.join(root, name));
}

/** The address of the remote that the folder was cloned from; `null` where there is none. */
export async function remoteUrl(folder: string): Promise<string | null> {
  return git(folder, 'remote', 'get-url', 'origin').then(
    (url) => url.trim() || null,
    () => null,
  );
}

/** Overrides of settings that a repository may contain. The overrides do no harm. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.askPass=',
  'core.alternateRefsCommand=true',
  'safe.bareRepository=explicit',
  'protocol.ext.allow=never',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'diff.ignoreSubmodules=all',
  'merge.verifySignatures=false',
  'gc.auto=0',
  'maintenance.auto=false',
];

/**
 * Output of a git command in a folder.
 * @throws {RefusedRepository} for a folder whose repository could start a program
 * @throws {Error} with git's own words
 */
export async function git(folder: string, ...args: readonly string[]): Promise<string> {
  await assertCheckout(folder);
  const settings = await execute(folder, ['config', '--list', '--includes', '--show-scope', '--name-only', '-z']);
  assertNoPrograms(folder, settings);
  return execute(folder, args);
}

async function execute(folder: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('git', [...SETTINGS.flatMap((setting) => ['-c', setting]), ...args], {
      cwd: folder,
      maxBuffer: MAX_FILE_BYTES,
      timeout: TIMEOUT_MS,
      // Its complaints are read here: in the words of one language.
      env: {
        ...process.env,
        GIT_TERMINAL_PROMPT: '0',
        GIT_OPTIONAL_LOCKS: '0',
        GIT_NO_LAZY_FETCH: '1',
        GIT_PAGER: 'cat',
        GIT_EDITOR: 'true',
        LC_ALL: 'C',
      },
    });
    return stdout;
  } catch (error) {
    const { stderr } = error as { readonly stderr?: string };
    throw new Error(wordsOf(stderr ?? '') || String(error), { cause: error });
  }
}

/** Returns git's complaint on one line. Files that are in the way are between its first and its last line. */
function wordsOf(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim().replace(/^(?:error|fatal): /, ''));
  const words = lines.filter((line) => line !== '' && line !== 'Aborting' && !line.startsWith('hint:')).join(' ');
  return words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS - 1)}…` : words;
}
