/**
 * Decides which repositories git may be used in. A folder can hold a repository that nobody cloned, but that an agent
 * or a download left there. Its settings can name programs that git starts.
 */
import { lstat } from 'node:fs/promises';
import path from 'node:path';

/** git is not used in a folder; the message says why and the way out. */
export class RefusedRepository extends Error {
  override readonly name = 'RefusedRepository';
}

/**
 * Refuses a folder in which git would use something that merely looks like a repository. A folder belongs to the
 * nearest `.git` above it. git also accepts a folder with the shape of a repository; versions before 2.38 do so
 * regardless of their settings.
 * @throws {RefusedRepository} for a folder in one of those
 */
export async function assertCheckout(folder: string): Promise<void> {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if (await exists(path.join(at, '.git'))) return;
    const parts = await Promise.all(['HEAD', 'objects', 'refs'].map((name) => exists(path.join(at, name))));
    if (parts.every(Boolean)) {
      throw new RefusedRepository(
        `${at} looks like a bare git repository and is not a checkout. Open the folder that contains its '.git'.`,
      );
    }
    if (path.dirname(at) === at) return;
  }
}

function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  );
}

/**
 * Settings that name a program which fetching, switching or reading starts and which cannot be switched off without taking it
 * from people who have it in their own settings. From git's documentation of `git config`.
 */
const PROGRAMS: readonly RegExp[] = [
  /^core\.(?:sshcommand|gitproxy)$/,
  /^credential\.(?:.*\.)?helper$/,
  /^remote\..*\.(?:uploadpack|receivepack|vcs|promisor|partialclonefilter)$/,
  /^extensions\.partialclone$/,
  /^protocol\./,
  /^url\..*\.(?:insteadof|pushinsteadof)$/,
  /^filter\..*\.(?:clean|smudge|process)$/,
  /^merge\..*\.driver$/,
  /^diff\.external$/,
  /^diff\..*\.(?:command|textconv)$/,
  /^gpg\.(?:.*\.)?(?:program|defaultkeycommand)$/,
  /^hook\./,
  /^submodule\..*\.update$/,
  /^core\.worktree$/,
];

/**
 * @param folder names the repository in the message
 * @param listed what `git config --list --show-scope --name-only -z` prints: scope and name in turn
 * @throws {RefusedRepository} when a setting of the repository's own names a program
 */
export function assertNoPrograms(folder: string, listed: string): void {
  const parts = listed.split('\0');
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [scope, name = ''] = [parts[index], parts[index + 1]];
    if (scope !== 'local' && scope !== 'worktree') continue;
    if (!PROGRAMS.some((pattern) => pattern.test(name.toLowerCase()))) continue;
    throw new RefusedRepository(
      `The repository of ${folder} sets '${name}' itself, and no program that a repository names is started here. Use git in a terminal, or move the setting to your own git settings.`,
    );
  }
}
