/**
 * Settings that people gave this server beside its environment, in files of the data folder that only their owner can read: keys of
 * providers in `keys.json`, default models in `default-models.json`.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Unavailable } from '@autonomous/shared';
import { z } from 'zod';
import { startCommand } from '../server/start-command.ts';

const keysSchema = z.strictObject({
  version: z.literal(1),
  providers: z.record(
    z.string().max(64),
    z.strictObject({
      key: z.string().max(4_000).optional(),
      baseUrl: z.string().max(2_000).optional(),
      models: z.array(z.string().min(1).max(200)).max(50).optional(),
    }),
  ),
});
/** The only provider whose address is given here. */
const WITH_ADDRESS = 'openai-compatible';
const modelsSchema = z.strictObject({
  version: z.literal(1),
  models: z.record(z.string().max(64), z.string().min(1).max(200)),
});

export interface StoredKey {
  /** Absent: the server takes none. */
  readonly key?: string | undefined;
  /** Absent: the provider's own address. */
  readonly baseUrl?: string | undefined;
  /** Models of a server of one's own, as it listed them when the key was given. */
  readonly models?: readonly string[] | undefined;
}
export type StoredKeys = Readonly<Record<string, StoredKey>>;
export type StoredModels = Readonly<Record<string, string>>;

const MAX_BYTES = 256 * 1024;

export const keysFile = (dataFolder: string): string => path.join(dataFolder, 'keys.json');
export const modelsFile = (dataFolder: string): string => path.join(dataFolder, 'default-models.json');

/**
 * @throws {Unavailable} naming the file, when it is no regular file, others can read it, it belongs to another user, its content is
 * damaged, or it holds an address that nothing uses
 */
export async function readKeys(dataFolder: string): Promise<StoredKeys> {
  const file = keysFile(dataFolder);
  const read = await readOwn(file, keysSchema, `give the keys again with: ${startCommand().program} keys set PROVIDER`);
  const providers = read?.providers ?? {};
  if (Object.entries(providers).some(([id, { baseUrl }]) => id !== WITH_ADDRESS && baseUrl !== undefined))
    throw new Unavailable(
      `The file ${file} has an address (baseUrl) at a provider other than ${WITH_ADDRESS}, where it is not used. Take it out; addresses of other providers are set in the server's environment.`,
    );
  return providers;
}

/** @throws {Unavailable} as `readKeys` does */
export async function readModels(dataFolder: string): Promise<StoredModels> {
  return (await readOwn(modelsFile(dataFolder), modelsSchema, 'choose the default models again'))?.models ?? {};
}

/** Replaces the file at once, so that a crash leaves the old one or the new one. @throws {Unavailable} */
export async function writeKeys(dataFolder: string, providers: StoredKeys): Promise<void> {
  await writeOwn(keysFile(dataFolder), { version: 1, providers });
}

/** @throws {Unavailable} */
export async function writeModels(dataFolder: string, models: StoredModels): Promise<void> {
  await writeOwn(modelsFile(dataFolder), { version: 1, models });
}

/** `null` where there is no file. */
async function readOwn<Content>(file: string, schema: z.ZodType<Content>, again: string): Promise<Content | null> {
  let text: string;
  try {
    // A link could lead to a file of somebody else, and a named pipe would be waited for without end.
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat();
      const { mode, uid, size } = stats;
      if (!stats.isFile())
        throw new Unavailable(
          `${file} is ${stats.isDirectory() ? 'a folder' : 'not a regular file'}, and the server keeps its settings in a file of this name. Move it away, and ${again}`,
        );
      const me = process.getuid?.();
      if (me !== undefined && uid !== me)
        throw new Unavailable(
          `The file ${file} belongs to user ${uid}, and the server runs as user ${me}. Run: sudo chown ${me} '${file}'`,
        );
      if ((mode & 0o077) !== 0 && process.platform !== 'win32')
        throw new Unavailable(
          `Others can read or write the file ${file} (mode ${(mode & 0o777).toString(8).padStart(4, '0')}). Run: chmod 600 '${file}'`,
        );
      if (size > MAX_BYTES)
        throw new Unavailable(`The file ${file} has ${size} bytes, more than it can have. Delete it, and ${again}`);
      text = await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof Unavailable) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP')
      throw new Unavailable(`The file ${file} is a symbolic link, which is not followed. Put the file itself there.`);
    throw new Unavailable(
      `The file ${file} cannot be read (${code ?? String(error)}). Correct its permissions, or delete it, and ${again}`,
      { cause: error },
    );
  }
  const parsed = schema.safeParse(parseJson(text));
  // The parser's message would quote the file, which holds keys.
  if (!parsed.success)
    throw new Unavailable(
      `The file ${file} is damaged: its content is not what the server wrote. Delete it, and ${again}`,
    );
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function writeOwn(file: string, content: object): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new Unavailable(
      `The file ${file} cannot be written (${code}). Nothing was changed: make room or fix the permissions of its folder, then try again.`,
      { cause: error },
    );
  }
}
