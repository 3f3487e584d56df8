/**
 * A file of a checkout as a server will find it. A run starts from a branch of the project's repository: what is only on this
 * machine is not there.
 */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { git } from '../git/git-checkout.ts';
import { RefusedRepository } from '../git/git-repository-guard.ts';

export interface RepositoryFile {
  /** Top folder of the checkout. */
  readonly root: string;
  /** From the top folder, with `/`. */
  readonly path: string;
}

/**
 * Finds the file in its repository.
 * @param file absolute path
 * @throws {RefusedRepository} for a repository that is not used
 * @throws {Error} in words for a person where the file lies in no repository, or has changes that are not committed
 */
export async function committedFile(file: string): Promise<RepositoryFile> {
  const name = path.basename(file);
  const folder = path.dirname(file);
  const lines = await git(folder, 'rev-parse', '--show-toplevel', '--show-prefix').catch((error: unknown) => {
    if (error instanceof RefusedRepository) throw error;
    throw new Error(
      `${name} lies in no git repository, and a run starts from a branch of one. Move it into the project's repository, commit and push it.`,
      { cause: error },
    );
  });
  const [root = '', prefix = ''] = lines.split('\n');
  const found = { root, path: `${prefix}${name}` };
  const changes = await git(folder, 'status', '--porcelain', '--ignored', '--untracked-files=all', '--', `./${name}`);
  if (changes.startsWith('!!'))
    throw new Error(`${found.path} is ignored by git, so that no branch has it. Choose a file that is committed.`);
  if (changes.startsWith('??')) throw new Error(`${found.path} is not committed yet. Commit and push it first.`);
  if (changes.trim() !== '')
    throw new Error(`${found.path} has changes that are not committed. Commit and push them first.`);
  return found;
}

/** Whether a branch of a project's repository has the committed file, as far as this checkout can tell. */
export type Reached =
  | { readonly kind: 'same' }
  /** No remote of the checkout is the project's repository, or it cannot be asked: the server will say. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** The text here is an earlier one of that branch, as after a run that keeps its items' states in the file. */
  | { readonly kind: 'newer'; readonly words: string }
  | { readonly kind: 'missing' | 'different'; readonly words: string };

/**
 * Compares the committed file with the one on a branch of the project's repository. Fetches that branch.
 * @param repository address or path of the project's repository
 */
export async function reachedAt(
  { root, path: name }: RepositoryFile,
  repository: string,
  branch: string,
): Promise<Reached> {
  const source = await sourceOf(root, repository);
  if (source === null) return { kind: 'unknown', why: `no remote of ${root} is ${repository}` };
  const local = `refs/heads/${branch}`;
  const reference = source.remote === null ? local : `refs/remotes/${source.remote}/${branch}`;
  const where = source.remote === null ? `branch ${branch}` : `branch ${branch} of ${source.remote}`;
  if (source.remote !== null) {
    const fault = await git(
      root,
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-recurse-submodules',
      '--',
      source.remote,
      `+${local}:${reference}`,
    ).then(
      () => null,
      (error: unknown) => String(error instanceof Error ? error.message : error),
    );
    if (fault?.includes("couldn't find remote ref") === true)
      return { kind: 'missing', words: `${source.remote} has no branch ${branch}. Push it, or choose another one.` };
    if (fault !== null) return { kind: 'unknown', why: fault };
  }
  const [here, there] = await Promise.all([blobAt(root, 'HEAD', name), blobAt(root, reference, name)]);
  if (there === null)
    return { kind: 'missing', words: `${name} is not in the ${where}. Push it there, or choose another base branch.` };
  if (here === there) return { kind: 'same' };
  const common = await git(root, 'merge-base', 'HEAD', reference).catch(() => null);
  if (common !== null && (await blobAt(root, common.trim(), name)) === here)
    return {
      kind: 'newer',
      words: `${name} is newer in the ${where} than in this checkout, and the server reads that branch. Pull to see the newer text here.`,
    };
  return {
    kind: 'different',
    words: `${name} has another text in the ${where}. Push yours there, or choose another base branch.`,
  };
}

/** Is the project's repository this checkout or one of its remotes? */
export async function isOf({ root }: RepositoryFile, repository: string): Promise<boolean> {
  return (await sourceOf(root, repository)) !== null;
}

/** The remote that is the repository; `null` for its name where the checkout itself is. */
async function sourceOf(root: string, repository: string): Promise<{ readonly remote: string | null } | null> {
  const wanted = await addressOf(root, repository);
  if ((await addressOf(root, root)) === wanted) return { remote: null };
  const remotes = await git(root, 'remote').catch(() => '');
  for (const remote of remotes.split('\n').filter((name) => name !== '')) {
    const url = await git(root, 'remote', 'get-url', remote).catch(() => '');
    if (url !== '' && (await addressOf(root, url.trim())) === wanted) return { remote };
  }
  return null;
}

/** The same for all spellings of an address: `git@host:a/b.git`, `https://host/a/b/`; the real path of a folder. */
async function addressOf(root: string, repository: string): Promise<string> {
  const trimmed = (text: string): string => text.replace(/(?<!\/)\/+$/, '').replace(/\.git$/, '');
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(repository) && URL.canParse(repository) ? new URL(repository) : null;
  if (url !== null && url.protocol !== 'file:') return `${url.hostname.toLowerCase()}${trimmed(url.pathname)}`;
  const scp = url === null ? /^(?:[^@/\s]+@)?([^:/\s]{2,}):(.+)$/.exec(repository) : null;
  if (scp !== null) return `${scp[1]?.toLowerCase()}/${trimmed(scp[2]?.replace(/^\/+/, '') ?? '')}`;
  const folder = path.resolve(root, url === null ? repository : decodeURIComponent(url.pathname));
  return trimmed(await realpath(folder).catch(() => folder));
}

async function blobAt(root: string, commit: string, name: string): Promise<string | null> {
  return git(root, 'rev-parse', '--verify', '--quiet', `${commit}:${name}`).then(
    (hash) => hash.trim(),
    () => null,
  );
}
