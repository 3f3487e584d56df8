/** Reads files of a clone. Others may have brought it along: none of its links is followed. */
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandFailure } from './exit.ts';

/** Bytes of a file of the project that are read. */
export const MAX_FILE = 2_000_000;

/** @returns the first part of a path of the clone that is a symbolic link; `null` where none is */
export async function linkIn(folder: string, path: string): Promise<string | null> {
  const parts = path.split('/');
  for (let length = 1; length <= parts.length; length += 1) {
    const part = parts.slice(0, length).join('/');
    const found = await lstat(join(folder, part)).catch(() => null);
    if (found === null) return null;
    if (found.isSymbolicLink()) return part;
  }
  return null;
}

/** @returns `null` for what is not there, is no regular file, or is too large */
export async function textOf(file: string): Promise<string | null> {
  try {
    // A pipe without a writer would be waited for.
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = await handle.stat();
      return found.isFile() && found.size <= MAX_FILE ? await handle.readFile('utf8') : null;
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ELOOP' || code === 'ENXIO')
      return null;
    throw new CommandFailure(`${file} cannot be read (${code ?? 'unknown'}). Make it readable for this user.`);
  }
}
