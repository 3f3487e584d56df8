/**
 * Files of the hooks and of own repositories in the state folder of this user (`XDG_STATE_HOME`, else `~/.local/state`): they belong to no
 * repository, so that no agent finds them among its files and nobody brings them along with a folder, and to no server.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { z } from 'zod';
import type { CliIo } from '../io.ts';
import { readBounded } from './bounded-file.ts';

const MAX_STATE = 1_000_000;
/** Sessions that were refused nothing for so long are forgotten. */
const FORGOTTEN_AFTER_MS = 7 * 24 * 60 * 60 * 1_000;
const SESSION = 'session-';

export type StateKind = 'session' | 'installed' | 'own';

/** @param name any text; the id of a session or of an own repository, or the path of a settings file */
export function stateFileOf(io: Pick<CliIo, 'env'>, kind: StateKind, name: string): string {
  const given = io.env['XDG_STATE_HOME'];
  const home = io.env['HOME'] ?? homedir();
  const folder = given !== undefined && path.isAbsolute(given) ? given : path.join(home, '.local', 'state');
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 32);
  return path.join(folder, 'autonomous', 'hooks', `${kind}-${digest}.json`);
}

/** @returns `null` for what is not there, cannot be read or has another form */
export async function readState<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
): Promise<z.infer<Schema> | null> {
  const read = await readBounded(file, MAX_STATE);
  if (read.kind !== 'read') return null;
  try {
    return schema.safeParse(JSON.parse(read.text)).data ?? null;
  } catch {
    return null;
  }
}

/** @throws when the folder cannot be written */
export async function writeState(file: string, value: object): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, JSON.stringify(value), { flag: 'wx', mode: 0o600 });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  await forgetOldSessions(folder);
}

async function forgetOldSessions(folder: string): Promise<void> {
  const oldest = Date.now() - FORGOTTEN_AFTER_MS;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(SESSION)) continue;
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && found.mtimeMs < oldest) await rm(file, { force: true });
  }
}
