/** Repositories of their own, for topics that are researched without a project. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from './exit.ts';
import { askGit } from './local-git.ts';

const run = promisify(execFile);

/** Branch of a new repository. */
const BRANCH = 'main';

export interface OwnRepository {
  /** Absolute path. */
  readonly folder: string;
  /** False: it was there before, with what an earlier run wrote. */
  readonly isNew: boolean;
  /** Removes what was made; a repository that was there stays. */
  discard(): Promise<void>;
}

/**
 * The repository in a folder, made where the folder is empty or not there. A push to its branch shows the files in the
 * folder, as long as nobody has changed them there.
 * @param folder absolute path
 * @param about its first file: what the topic and the question are
 * @throws {UsageError} when the folder has other files
 */
export async function ownRepository(folder: string, about: { topic: string; request: string }): Promise<OwnRepository> {
  const there = await namesIn(folder);
  if (there !== null && there.length > 0) {
    if (await isRepository(folder)) return { folder, isNew: false, discard: async () => {} };
    throw new UsageError(
      `${folder} has files and is no git repository. Name an empty or new folder with --out, or a repository with --project.`,
    );
  }
  await mkdir(folder, { recursive: true });
  const discard = async () => {
    if (there === null) return rm(folder, { recursive: true, force: true });
    for (const name of ['.git', 'README.md']) await rm(path.join(folder, name), { recursive: true, force: true });
  };
  try {
    await begin(folder, about);
  } catch (error) {
    await discard();
    throw error;
  }
  return { folder, isNew: true, discard };
}

/** @returns null: there is no such folder. @throws {UsageError} when it is a file or cannot be read */
async function namesIn(folder: string): Promise<readonly string[] | null> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new UsageError(
      `${folder} ${code === 'ENOTDIR' ? 'is a file' : `cannot be read (${code ?? String(error)})`}; name a folder with --out.`,
      { cause: error },
    );
  }
}

/** A folder below a repository is none itself. */
async function isRepository(folder: string): Promise<boolean> {
  const top = await askGit(folder, 'rev-parse', '--show-toplevel');
  return top.ok && (await realpath(top.output)) === (await realpath(folder));
}

async function begin(folder: string, { topic, request }: { topic: string; request: string }): Promise<void> {
  const git = (...args: readonly string[]) => run('git', ['-C', folder, ...args]);
  await git('init', '--quiet', `--initial-branch=${BRANCH}`);
  await git('config', 'receive.denyCurrentBranch', 'updateInstead');
  await writeFile(path.join(folder, 'README.md'), `# ${topic}\n\n${request}\n`);
  await git('add', 'README.md');
  const { ok: isNamed } = await askGit(folder, 'var', 'GIT_COMMITTER_IDENT');
  const identity = isNamed ? [] : ['-c', 'user.name=Autonomous', '-c', 'user.email=autonomous@localhost'];
  await git(...identity, '-c', 'commit.gpgSign=false', 'commit', '--quiet', '--message', `Begin: ${topic}`);
}
