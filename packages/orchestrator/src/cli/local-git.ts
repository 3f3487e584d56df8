/** Asks git about a folder of this machine. Only for questions: the server's own git is `repository/`. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { shellWord } from '@autonomous/shared/presentation';
import { UsageError } from './exit.ts';

/** Output without the newline at its end, or the first line of git's complaint. */
export type GitAnswer =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly message: string };

/** @param folder an existing folder, absolute */
export async function askGit(folder: string, ...args: readonly string[]): Promise<GitAnswer> {
  // Loaded with the first question: most commands ask git nothing.
  const { simpleGit } = await import('simple-git');
  try {
    // A folder's own settings must not name a program that the question starts; nothing is locked for it either.
    const harmless = ['--no-optional-locks', '-c', 'core.fsmonitor=false'];
    const output = await simpleGit({ baseDir: folder, unsafe: { allowUnsafeFsMonitor: true } }).raw(
      ...harmless,
      ...args,
    );
    return { ok: true, output: output.trimEnd() };
  } catch (error) {
    const message = error instanceof Error ? error.message.trim() : String(error);
    return { ok: false, message: message.split('\n')[0] ?? '' };
  }
}

/**
 * The documented commands run in the clone of this program, which is hardly ever the project that somebody means.
 * @param top folder of the repository in which a person stands
 * @throws {UsageError} when it is that clone
 */
export async function refuseOwnClone(top: string): Promise<void> {
  const manifest = await readFile(path.join(top, 'package.json'), 'utf8').catch(() => '');
  if (!/"name": "autonomous-workspace"/.test(manifest)) return;
  throw new UsageError(
    `You stand in the clone of Autonomous itself (${top}). Name your project with --project, or go to its folder; --project . takes the clone.`,
  );
}

/** Something of a clone that a run does not see. */
export interface Unseen {
  readonly what: string;
  /** What a person does so that the next run sees it, in this order. */
  readonly steps: readonly string[];
  /** The option of a launch that belongs to it; empty where there is none. */
  readonly option: string;
}

/**
 * What a clone has and a run does not see, which starts from a branch of the clone's origin, as it was last fetched.
 * @param top folder of the clone
 * @param isNamed a person has named the branch, and knows whether another one is checked out
 */
export async function findUnseen(top: string, baseBranch: string, isNamed: boolean): Promise<readonly Unseen[]> {
  const head = await askGit(top, 'symbolic-ref', '--short', 'HEAD');
  const branch = head.ok ? head.output : null;
  if (isNamed && branch !== baseBranch) return [];
  const name = shellWord(branch ?? 'NAME');
  const option = branch === baseBranch ? '' : `--base ${name}`;
  const named = branch === null ? ['make a branch with git switch -c NAME'] : [];
  const pushed = `push the branch with git push origin ${name}`;
  const commits = (await countMissing(top, baseBranch)) ?? 0;
  const changes = await askGit(top, 'status', '--porcelain', '--ignore-submodules');
  const unseen: Unseen[] = [];
  if (commits > 0) {
    const where = branch === null ? `${top}, where no branch is checked out,` : `Branch ${branch} of ${top}`;
    const lacking = branch === baseBranch ? 'origin' : `branch ${baseBranch} of origin`;
    const isPushed = branch !== null && (await countMissing(top, branch)) === 0;
    const what = `${where} has commits that ${lacking} does not have (${commits})`;
    unseen.push({ what, steps: isPushed ? [] : [...named, pushed], option });
  }
  if (changes.ok && changes.output !== '') {
    const what = `${top} has changes that are in no commit`;
    unseen.push({ what, steps: [...named, 'commit the changes', pushed], option });
  }
  return unseen;
}

/** Number of commits of what is checked out that a branch of origin does not have; `null` where git knows no such branch. */
async function countMissing(top: string, branch: string): Promise<number | null> {
  const answer = await askGit(top, 'rev-list', '--count', `refs/remotes/origin/${branch}..HEAD`);
  return answer.ok ? Number(answer.output) : null;
}

/** Steps as one sentence part: "a, b and c". */
export function inOneLine(steps: readonly string[]): string {
  return steps.join(', ').replace(/, (?=[^,]*$)/, ' and ');
}

/** Folder of the repository in which a folder lies; `null`: it lies in none. */
export async function topOf(folder: string): Promise<string | null> {
  const answer = await askGit(folder, 'rev-parse', '--show-toplevel');
  return answer.ok ? answer.output : null;
}
