/** Finds the repository of a folder. */
import { lstat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Asks the file system instead of git, which would refuse a repository of another user.
 * @returns `null` when no folder above has a `.git`
 */
export async function repositoryOf(folder: string): Promise<string | null> {
  const found = await lstat(path.join(folder, '.git')).catch(() => null);
  if (found !== null) return folder;
  const above = path.dirname(folder);
  return above === folder ? null : repositoryOf(above);
}
