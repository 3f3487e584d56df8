/** A throw-away bare repository with one branch, `main`, at the pinned commit. */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { InvalidRequest } from '@autonomous/shared';
import { MANY_FILES, manyFiles } from './many-files.ts';
import type { RealRepository } from './repositories.ts';

const execute = promisify(execFile);
const MAX_OUTPUT = 256 * 1024 * 1024;

/**
 * Makes the remote of one try.
 * @param from folder that holds the clone; it is only read
 * @param folder an existing empty one
 * @returns path of the remote and id of its commit
 * @throws {InvalidRequest} if the clone or its commit is not there
 */
export async function makeRemote(
  repository: RealRepository,
  from: string,
  folder: string,
): Promise<{ readonly remote: string; readonly commit: string }> {
  const remote = path.join(folder, 'remote.git');
  if (repository.url === null) {
    await git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', remote);
    return { remote, commit: await manyFiles(remote, MANY_FILES) };
  }
  const source = path.join(from, repository.name);
  if (!(await isFolder(source))) throw refused(`${source} is missing. Clone it: git clone ${repository.url} ${source}`);
  if (!(await hasCommit(source, repository.commit)))
    throw refused(
      `${source} has no commit ${repository.commit}. Fetch it: git -C ${source} fetch ${repository.url} ${repository.commit}`,
    );
  await git(folder, 'clone', '--quiet', '--bare', '--no-tags', '--', source, remote);
  const { stdout } = await git(remote, 'for-each-ref', '--format=%(refname)');
  await git(remote, 'update-ref', '--no-deref', 'HEAD', repository.commit);
  for (const ref of stdout.split('\n').filter((line) => line !== '')) await git(remote, 'update-ref', '-d', ref);
  await git(remote, 'update-ref', 'refs/heads/main', repository.commit);
  await git(remote, 'symbolic-ref', 'HEAD', 'refs/heads/main');
  return { remote, commit: repository.commit };
}

/** Text of a file at a commit; `null` if there is no such file. */
export async function fileAt(remote: string, commit: string, file: string): Promise<string | null> {
  try {
    return (await git(remote, 'show', `${commit}:${file}`)).stdout;
  } catch {
    return null;
  }
}

/** Paths that differ between two commits, without the server's own record. */
export async function changedPaths(remote: string, from: string, to: string): Promise<readonly string[]> {
  const { stdout } = await git(remote, 'diff', '--name-only', '--no-renames', '-z', from, to);
  return stdout.split('\0').filter((file) => file !== '' && !file.startsWith('.autonomous/'));
}

async function git(folder: string, ...args: readonly string[]): Promise<{ readonly stdout: string }> {
  return execute('git', ['-C', folder, ...args], { maxBuffer: MAX_OUTPUT });
}

async function isFolder(folder: string): Promise<boolean> {
  return stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function hasCommit(folder: string, commit: string): Promise<boolean> {
  return git(folder, 'cat-file', '-e', `${commit}^{commit}`).then(
    () => true,
    () => false,
  );
}

function refused(message: string): InvalidRequest {
  return new InvalidRequest(message);
}
