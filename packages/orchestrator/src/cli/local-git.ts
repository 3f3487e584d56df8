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

/** Commits or changes of a folder that a run does not have. */
export interface Unseen {
  readonly what: string;
  /** Actions, in order, after which the next run has it. */
  readonly steps: readonly string[];
  /** The option of a launch that belongs to it; empty where there is none. */
  readonly option: string;
}

/** The branch from which a run starts. */
export interface Start {
  readonly branch: string;
  /** Head of the branch, where it is known. */
  readonly commit?: string | undefined;
  /** A person has named the branch, and knows whether another one is checked out. */
  readonly isNamed: boolean;
  /** The folder itself is the project, and not its origin. */
  readonly isOwn: boolean;
}

/** A repository on this machine, seen from the folder in which a person stands. */
export interface LocalFolder {
  /** Absolute. */
  readonly top: string;
  readonly cwd: string;
}

/** Lists the commits and changes of a folder that a run does not have. A clone's origin counts as it was last fetched. */
export async function findUnseen({ top, cwd }: LocalFolder, start: Start): Promise<readonly Unseen[]> {
  const head = await askGit(top, 'symbolic-ref', '--short', 'HEAD');
  const branch = head.ok ? head.output : null;
  const isBase = branch === start.branch;
  if (start.isNamed && !isBase) return [];
  const git = gitAt({ top, cwd });
  const name = shellWord(branch ?? 'NAME');
  const option = isBase ? '' : `--base ${name}`;
  const named = branch === null ? [`make a branch with ${git} switch -c NAME`] : [];
  const pushed = start.isOwn ? [] : [`push the branch with ${git} push origin ${name}`];
  const missing = await countMissing(top, start);
  const unseen: Unseen[] = [];
  if (missing !== 0 && !(isBase && missing === null)) {
    const where = branch === null ? `${top}, where no branch is checked out,` : `Branch ${branch} of ${top}`;
    const ofOrigin = isBase ? 'origin' : `branch ${start.branch} of origin`;
    const lacking = start.isOwn ? `branch ${start.branch}` : ofOrigin;
    const isPushed = branch !== null && (await countMissing(top, { ...start, branch, commit: undefined })) === 0;
    const what =
      missing === null
        ? `${where} may have commits that ${lacking}, which was never fetched there, does not have`
        : `${where} has commits that ${lacking} does not have (${missing})`;
    unseen.push({ what, steps: isPushed ? [] : [...named, ...pushed], option });
  }
  const changes = await askGit(top, 'status', '--porcelain', '--ignore-submodules');
  if (!start.isOwn && changes.ok && changes.output !== '') {
    const what = `${top} has changes that are in no commit`;
    unseen.push({ what, steps: [...named, 'commit the changes', ...pushed], option });
  }
  return unseen;
}

/** The sentence about a branch of a clone that its origin does not have, with the way to bring it there; `null`: it is none. */
export async function whyNoBranch({ top, cwd }: LocalFolder, branch: string): Promise<string | null> {
  const has = async (ref: string): Promise<boolean> => (await askGit(top, 'rev-parse', '--verify', ref)).ok;
  if (!(await has(`refs/heads/${branch}`)) || (await has(`refs/remotes/origin/${branch}`))) return null;
  return `${top} has a branch ${branch}, which its origin does not have. Push it with ${gitAt({ top, cwd })} push origin ${shellWord(branch)}.`;
}

/** Git as a person calls it from where they stand. */
function gitAt({ top, cwd }: LocalFolder): string {
  const isInside = cwd === top || cwd.startsWith(`${top}${path.sep}`);
  return isInside ? 'git' : `git -C ${shellWord(top)}`;
}

/**
 * Number of commits of what is checked out that a branch does not have, as it was last fetched. None are missing where the
 * branch has all that they changed, as after a squash.
 * @returns `null` where git knows no such branch
 */
async function countMissing(top: string, { branch, commit, isOwn }: Omit<Start, 'isNamed'>): Promise<number | null> {
  const ref = isOwn ? `refs/heads/${branch}` : `refs/remotes/origin/${branch}`;
  for (const base of [...(commit === undefined ? [] : [commit]), ref]) {
    const answer = await askGit(top, 'rev-list', '--count', `${base}..HEAD`);
    if (!answer.ok) continue;
    return answer.output === '0' || (await hasAllChanges(top, base)) ? 0 : Number(answer.output);
  }
  return null;
}

/** Compares the files that HEAD changed. @returns true when `base` has the same contents */
async function hasAllChanges(top: string, base: string): Promise<boolean> {
  const common = await askGit(top, 'merge-base', base, 'HEAD');
  if (!common.ok) return false;
  const [changed, other] = await Promise.all(
    [common.output, base].map((from) => askGit(top, 'diff-tree', '-r', '-z', '--name-only', from, 'HEAD')),
  );
  if (!changed?.ok || !other?.ok) return false;
  const differing = new Set(other.output.split('\0'));
  const files = changed.output.split('\0').filter((file) => file !== '');
  return files.length > 0 && files.every((file) => !differing.has(file));
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
