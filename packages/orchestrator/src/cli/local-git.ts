/** Asks git about a folder of this machine. Only for questions: the server's own git is `repository/`. */

/** Output without the newline at its end, or the first line of git's complaint. */
export type GitAnswer =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly message: string };

/** @param folder an existing folder, absolute */
export async function askGit(folder: string, ...args: readonly string[]): Promise<GitAnswer> {
  // Loaded with the first question: most commands ask git nothing.
  const { simpleGit } = await import('simple-git');
  try {
    const output = await simpleGit({ baseDir: folder }).raw(...args);
    return { ok: true, output: output.trimEnd() };
  } catch (error) {
    const message = error instanceof Error ? error.message.trim() : String(error);
    return { ok: false, message: message.split('\n')[0] ?? '' };
  }
}

/** Folder of the repository in which a folder lies; `null`: it lies in none. */
export async function topOf(folder: string): Promise<string | null> {
  const answer = await askGit(folder, 'rev-parse', '--show-toplevel');
  return answer.ok ? answer.output : null;
}
