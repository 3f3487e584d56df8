/** JSON files in a folder, one an entry, each written once and whole. The entries that were not used for longest make room for new ones. */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';

const MAX_ENTRIES = 300;

export class KeptEntries<Value> {
  readonly #folder: string;

  /** @param folder absolute; made when it does not exist */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @param key hexadecimal digest @returns `null` where there is no entry */
  async read(key: string): Promise<Value | null> {
    const file = this.#file(key);
    try {
      const known = JSON.parse(await readFile(file, 'utf8')) as Value;
      await utimes(file, new Date(), new Date());
      return known;
    } catch {
      // It is not there, or a full disk cut it: it is made anew.
      return null;
    }
  }

  async write(key: string, known: Value): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const unfinished = path.join(this.#folder, `.${randomUUID()}`);
    await writeFile(unfinished, JSON.stringify(known));
    await rename(unfinished, this.#file(key));
    await this.#makeRoom();
  }

  async #makeRoom(): Promise<void> {
    const names = await readdir(this.#folder);
    if (names.length <= MAX_ENTRIES) return;
    const aged = await Promise.all(
      names.map(async (name) => {
        const file = path.join(this.#folder, name);
        return { file, usedAt: (await stat(file).catch(() => null))?.mtimeMs ?? 0 };
      }),
    );
    aged.sort((a, b) => a.usedAt - b.usedAt);
    for (const { file } of aged.slice(0, aged.length - MAX_ENTRIES)) await rm(file, { force: true });
  }

  #file(key: string): string {
    return path.join(this.#folder, `${key}.json`);
  }
}
