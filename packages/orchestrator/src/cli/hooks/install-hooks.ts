/** Puts the hooks into the settings that a repository has for Claude Code, and takes them away again. */
import { createHash, randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { linkIn, MAX_FILE, textOf } from '../clone-files.ts';
import { CommandFailure, EXIT, UsageError } from '../exit.ts';
import { type CliIo, note, say } from '../io.ts';
import { topOf } from '../local-git.ts';
import { HOOK_NAMES, HOOKS } from './claude-hooks.ts';
import {
  EMPTY_SETTINGS,
  findHooks,
  type FoundHook,
  SETTINGS_PATH,
  withHooks,
  withoutHooks,
} from './claude-settings.ts';
import { hookCommands, type HookProgram } from './hook-command.ts';
import { readState, stateFileOf, writeState } from './hook-state.ts';

interface ProjectOptions {
  /** `undefined`: the folder in which the person stands. */
  readonly project: string | undefined;
}

export interface InstallOptions extends ProjectOptions {
  /** Refusals of a stop in a row, at most; `undefined`: the default of the hook. */
  readonly maxBlocks: number | undefined;
}

/** By which the settings become again as they were before the hooks were installed. Without a record, only the hooks are taken out. */
const recordSchema = z.object({
  madeFile: z.boolean(),
  madeFolder: z.boolean(),
  /** Of the text with the hooks: a text of another digest was edited since. */
  digest: z.string(),
  /** The part that the hooks changed: `length` characters from `offset` on were `was`. */
  offset: z.number().int().min(0),
  length: z.number().int().min(0),
  was: z.string(),
});
type InstallRecord = z.infer<typeof recordSchema>;

interface SettingsFile {
  readonly folder: string;
  readonly path: string;
  /** Without a byte order mark; `null`: there is no file. */
  readonly text: string | null;
  readonly mark: string;
  readonly found: readonly FoundHook[];
  readonly recordFile: string;
}

const BYTE_ORDER_MARK = '\ufeff';

/**
 * @param program starts the hooks
 * @throws {UsageError} outside a repository
 * @throws {CommandFailure} where the settings cannot be edited
 */
export async function installHooks(
  io: CliIo,
  program: HookProgram,
  { project, maxBlocks }: InstallOptions,
): Promise<number> {
  const file = await settingsOf(io, project);
  const commands = hookCommands(program, maxBlocks ?? null);
  const isThere = file.found.length > 0;
  if (HOOKS.every(({ event }) => file.found.find((hook) => hook.event === event)?.command === commands[event])) {
    say(io, `${file.path} has the hooks ${HOOK_NAMES} already. Nothing was changed.`);
    return EXIT.done;
  }
  const earlier = isThere ? await readState(file.recordFile, recordSchema) : null;
  const now = file.text ?? EMPTY_SETTINGS;
  const after = withHooks(now, commands);
  const made = await write(file, after);
  const record: InstallRecord = {
    ...changeBetween(isThere ? takenOut(now, earlier) : now, after),
    madeFile: earlier?.madeFile ?? file.text === null,
    madeFolder: earlier?.madeFolder ?? made === 'folder',
  };
  await writeState(file.recordFile, record).catch(() =>
    note(io, `${file.recordFile} cannot be written: uninstall will take out the hooks, and may leave an empty file.`),
  );
  say(io, `${isThere ? 'changed' : 'installed'}: the hooks ${HOOK_NAMES} in ${file.path}`);
  for (const { event } of HOOKS) say(io, `${event}: ${commands[event]}`);
  say(io, 'Claude Code reads them when a session starts.');
  if (!isPlainJson(after))
    note(
      io,
      `${file.path} has comments or commas after last entries, and Claude Code ignores such a file. Take them out.`,
    );
  if (program.checkout !== null)
    note(io, `The commands name files of this machine: commit ${SETTINGS_PATH} only where everybody has them.`);
  return EXIT.done;
}

/** @throws as `installHooks` does */
export async function uninstallHooks(io: CliIo, { project }: ProjectOptions): Promise<number> {
  const file = await settingsOf(io, project);
  if (file.text === null || file.found.length === 0) {
    say(io, `${file.path} has no hook of this program. Nothing was changed.`);
    return EXIT.done;
  }
  const record = await readState(file.recordFile, recordSchema);
  const text = takenOut(file.text, record);
  if (record?.madeFile === true && text.trim() === EMPTY_SETTINGS.trim()) await remove(file, record);
  else await write(file, text);
  await rm(file.recordFile, { force: true });
  say(io, `taken away: the hooks of this program in ${file.path}`);
  return EXIT.done;
}

async function settingsOf(io: CliIo, project: string | undefined): Promise<SettingsFile> {
  const given = resolve(io.cwd, project ?? '.');
  const folder = await topOf(given).catch(() => null);
  if (folder === null)
    throw new UsageError(`${given} is in no git repository. Name one with --project, or run "git init" there.`);
  const path = join(folder, SETTINGS_PATH);
  const link = await linkIn(folder, SETTINGS_PATH);
  if (link !== null)
    throw new CommandFailure(
      `${join(folder, link)} is a symbolic link, and only files of the repository itself are changed. Put a ${link} of its own there.`,
    );
  const content = await textOf(path);
  if (content === null && (await lstat(path).catch(() => null)) !== null)
    throw new CommandFailure(`${path} is no file of at most ${MAX_FILE / 1_000_000} MB. Move it away.`);
  const mark = content?.startsWith(BYTE_ORDER_MARK) === true ? BYTE_ORDER_MARK : '';
  const text = content?.slice(mark.length) ?? null;
  const read = findHooks(text ?? EMPTY_SETTINGS);
  if (!read.ok) throw new CommandFailure(`${path} ${read.fault}. Correct it; nothing was changed.`);
  return { folder, path, text, mark, found: read.found, recordFile: stateFileOf(io, 'installed', path) };
}

function isPlainJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The settings without the hooks: exactly as they were, where nobody edited them since. */
function takenOut(text: string, record: InstallRecord | null): string {
  if (record?.digest !== digestOf(text)) return withoutHooks(text);
  return text.slice(0, record.offset) + record.was + text.slice(record.offset + record.length);
}

function changeBetween(before: string, after: string): Pick<InstallRecord, 'digest' | 'offset' | 'length' | 'was'> {
  const shorter = Math.min(before.length, after.length);
  let offset = 0;
  while (offset < shorter && before[offset] === after[offset]) offset += 1;
  let same = 0;
  while (same < shorter - offset && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  return {
    digest: digestOf(after),
    offset,
    length: after.length - same - offset,
    was: before.slice(offset, before.length - same),
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Either the whole text is there or the file is as it was. @returns what had to be made for it */
async function write({ path, mark }: SettingsFile, text: string): Promise<'folder' | 'file' | null> {
  const before = await lstat(path).catch(() => null);
  const firstMade = await mkdir(dirname(path), { recursive: true });
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  try {
    await writeFile(draft, mark + text, { flag: 'wx' });
    if (before !== null) await chmod(draft, before.mode & 0o777);
    await rename(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // file systems throw no other error
    throw new CommandFailure(`${path} cannot be written (${code ?? String(error)}). Make it writable for this user.`);
  } finally {
    await rm(draft, { force: true });
  }
  if (firstMade !== undefined) return 'folder';
  return before === null ? 'file' : null;
}

async function remove({ path }: SettingsFile, { madeFolder }: InstallRecord): Promise<void> {
  await rm(path);
  // Other files may have come into the folder.
  if (madeFolder) await rmdir(dirname(path)).catch(() => {});
}
