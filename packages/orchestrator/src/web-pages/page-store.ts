/** Texts of pages in files below the data folder, by their hash: `<first two digits>/<hash>.txt`. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { StorageFull } from '@autonomous/shared';

const HASH = /^[0-9a-f]{64}$/;
/** Below the folder of pages, so that a draft moves within one disk. */
const DRAFTS = 'drafts';

export class PageStore {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes the folder, and removes what a server left there that was killed while it wrote. */
  static async open(folder: string): Promise<PageStore> {
    const drafts = path.join(folder, DRAFTS);
    await rm(drafts, { recursive: true, force: true });
    await mkdir(drafts, { recursive: true, mode: 0o700 });
    return new PageStore(folder);
  }

  /**
   * Keeps a text. A text that is there is not written again; a damaged file is replaced.
   * @returns its hash
   * @throws {StorageFull}
   */
  async keep(text: string): Promise<string> {
    const hash = hashOf(text);
    if ((await this.read(hash)) === null) await this.#write(hash, text);
    return hash;
  }

  /** `null` when there is no text with this hash. */
  async read(hash: string): Promise<string | null> {
    if (!HASH.test(hash)) return null;
    const text = await readFile(this.#fileOf(hash), 'utf8').catch(() => null);
    return text !== null && hashOf(text) === hash ? text : null;
  }

  /** Either the whole file is there under its name or nothing is, also after a crash. */
  async #write(hash: string, text: string): Promise<void> {
    const file = this.#fileOf(hash);
    const draft = path.join(this.#folder, DRAFTS, randomUUID());
    try {
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
      const handle = await open(draft, 'wx', 0o600);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
      throw new StorageFull(
        `The disk that holds ${this.#folder} is full, and a fetched page was not kept. Free some space, then retry.`,
        { cause: error },
      );
    } finally {
      await rm(draft, { force: true });
    }
  }

  #fileOf(hash: string): string {
    return path.join(this.#folder, hash.slice(0, 2), `${hash}.txt`);
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
