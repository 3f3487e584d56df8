/**
 * The process that holds a data folder, as it notes itself there: `server.json`, which only its owner can read. The lock decides who
 * may have the folder; the note tells commands where to ask.
 */
import { rmSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const holderSchema = z.object({
  pid: z.int().positive(),
  /** Address of its API; `null`: it takes no requests, as a server that is still starting or a command. */
  url: z.url({ protocol: /^https?$/ }).nullable(),
});
export type FolderHolder = Readonly<z.infer<typeof holderSchema>>;

const noteIn = (folder: string): string => path.join(folder, 'server.json');

/** The process that holds the folder; `null`: none does, or the one that noted itself has ended. */
export async function findHolder(folder: string): Promise<FolderHolder | null> {
  const text = await readFile(noteIn(folder), 'utf8').catch(() => '');
  const holder = parseNote(text);
  return holder !== null && isAlive(holder.pid) ? holder : null;
}

/** Only the process with the folder's lock calls it. On a full disk there is no note, and commands need AUTONOMOUS_TOKEN to ask at the configured port. */
export async function noteHolder(folder: string, url: string | null): Promise<void> {
  const draft = `${noteIn(folder)}.${process.pid}`;
  try {
    await writeFile(draft, `${JSON.stringify({ pid: process.pid, url } satisfies FolderHolder)}\n`, { mode: 0o600 });
    await rename(draft, noteIn(folder));
  } catch {
    rmSync(draft, { force: true });
  }
}

/** Only the process with the folder's lock calls it. */
export function removeHolder(folder: string): void {
  rmSync(noteIn(folder), { force: true });
}

function parseNote(text: string): FolderHolder | null {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
