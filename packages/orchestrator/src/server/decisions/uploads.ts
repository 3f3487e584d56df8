/** Files that people give with an answer: stored once by content, never changed. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidRequest, PayloadTooLarge, StorageFull, type Upload } from '@autonomous/shared';

const MAX_BYTES = 10 * 1024 * 1024;

export interface StoredUpload extends Upload {
  /** The file itself, readable and not writable. */
  readonly path: string;
}

export interface Uploads {
  /**
   * Stores a file; the same content gives the same id, under the name given last.
   * @throws {InvalidRequest} when it is empty or its name is no file name
   * @throws {PayloadTooLarge} above 10 MB
   * @throws {StorageFull} nothing of it is kept then
   */
  put(name: string, content: Uint8Array): Promise<Upload>;
  /** @returns `null` when there is no such upload */
  get(id: string): Promise<StoredUpload | null>;
}

/** @param folder made when it is missing */
export async function openUploads(folder: string): Promise<Uploads> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const contentPath = (id: string) => join(folder, id);
  const namePath = (id: string) => join(folder, `${id}.name`);

  return {
    async put(given, content) {
      const name = fileName(given);
      if (content.byteLength === 0) throw new InvalidRequest(`The upload '${name}' is empty.`);
      if (content.byteLength > MAX_BYTES) {
        throw new PayloadTooLarge(
          `The upload '${name}' has ${content.byteLength} bytes; at most ${MAX_BYTES} are accepted.`,
        );
      }
      const id = createHash('sha256').update(content).digest('hex');
      await writeAtomically(folder, namePath(id), Buffer.from(name), 0o600);
      if (!(await exists(contentPath(id)))) await writeAtomically(folder, contentPath(id), content, 0o444);
      return { id, name, bytes: content.byteLength };
    },

    async get(id) {
      if (!/^[0-9a-f]{64}$/.test(id) || !(await exists(contentPath(id)))) return null;
      const [{ size }, name] = await Promise.all([stat(contentPath(id)), readFile(namePath(id), 'utf8')]);
      return { id, name, bytes: size, path: contentPath(id) };
    },
  };
}

/** The last part of a path, as some browsers send one. The name later becomes a file in a sandbox. */
function fileName(given: string): string {
  const name = (given.split(/[/\\]/).at(-1) ?? '').trim();
  if (
    name === '' ||
    name === '.' ||
    name === '..' ||
    /[\u0000-\u001f\u007f]/.test(name) ||
    Buffer.byteLength(name) > 255
  ) {
    throw new InvalidRequest(
      `'${given.slice(0, 100)}' is not a valid file name. Use 1 to 255 bytes without control characters.`,
    );
  }
  return name;
}

/** Either the whole file is there under its name or nothing is, also after a crash. */
async function writeAtomically(folder: string, path: string, content: Uint8Array, mode: number): Promise<void> {
  const draft = join(folder, `.${randomUUID()}`);
  try {
    const handle = await open(draft, 'wx', mode);
    try {
      await handle.writeFile(content);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
    throw new StorageFull(
      `The disk that holds ${folder} is full, and the upload was not kept. Free some space, then send it again.`,
      {
        cause: error,
      },
    );
  } finally {
    await rm(draft, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
