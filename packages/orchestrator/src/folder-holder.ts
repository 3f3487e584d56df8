/**
 * The process that holds a data folder. Its lock decides who that is; the note in the folder, `server.json`, which only its owner can
 * read, tells commands where to ask.
 */
import { rmSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const noteSchema = z.object({
  pid: z.int().positive(),
  /** Address of its API; `null`: it takes no requests, as a server that is still starting or a command. */
  url: z.url({ protocol: /^https?$/ }).nullable(),
});
type Note = Readonly<z.infer<typeof noteSchema>>;

export interface FolderHolder extends Pick<Note, 'url'> {
  /** `null`: on a full disk it could not note its id. */
  readonly pid: number | null;
}

const noteIn = (folder: string): string => path.join(folder, 'server.json');
/** The file whose lock the one process has that may use the folder. */
export const lockIn = (folder: string): string => path.join(folder, 'data-folder.lock');

/**
 * The process that holds the folder's lock; `null`: none does. The note of another process, which was killed, does not count: its id
 * may be another program's by now, and its port as well.
 */
export async function findHolder(folder: string): Promise<FolderHolder | null> {
  // Loaded here: what commands need at their start does not wait for SQLite.
  const { findLockHolder } = await import('./event-store/sqlite/database-lock.ts');
  const pid = findLockHolder(lockIn(folder));
  if (pid === null) return null;
  const note = await readNote(folder);
  if (note?.pid === pid) return note;
  // On a full disk the lock has the id of a process before.
  return { pid: isAlive(pid) ? pid : null, url: null };
}

/**
 * Address that the last server of a folder noted, for texts: it may be another program's by now. `null`: none is noted, as after an
 * orderly stop.
 */
export async function lastAddressOf(folder: string): Promise<string | null> {
  return (await readNote(folder))?.url ?? null;
}

/** Only the process with the folder's lock calls it. On a full disk there is no note, and commands need AUTONOMOUS_TOKEN to ask at the configured port. */
export async function noteHolder(folder: string, url: string | null): Promise<void> {
  const draft = `${noteIn(folder)}.${process.pid}`;
  try {
    await writeFile(draft, `${JSON.stringify({ pid: process.pid, url } satisfies Note)}\n`, { mode: 0o600 });
    await rename(draft, noteIn(folder));
  } catch {
    rmSync(draft, { force: true });
    removeHolder(folder);
  }
}

/** Only the process with the folder's lock calls it. */
export function removeHolder(folder: string): void {
  rmSync(noteIn(folder), { force: true, recursive: true });
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** For texts: `process 1234`. */
export function processOf({ pid }: FolderHolder): string {
  return pid === null ? 'another process' : `process ${pid}`;
}

async function readNote(folder: string): Promise<Note | null> {
  try {
    return noteSchema.parse(JSON.parse(await readFile(noteIn(folder), 'utf8')));
  } catch {
    return null;
  }
}
