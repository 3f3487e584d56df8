/** Asks git about a folder of this machine. Only for questions: the server's own git is `repository/`. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
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

/** Number of commits of a branch that its origin did not have when it was last fetched; 0 also where git cannot tell. */
export async function countUnpushed(top: string, branch: string): Promise<number> {
  const answer = await askGit(top, 'rev-list', '--count', `refs/remotes/origin/${branch}..refs/heads/${branch}`);
  return answer.ok ? Number(answer.output) : 0;
}

/** Folder of the repository in which a folder lies; `null`: it lies in none. */
export async function topOf(folder: string): Promise<string | null> {
  const answer = await askGit(folder, 'rev-parse', '--show-toplevel');
  return answer.ok ? answer.output : null;
}
