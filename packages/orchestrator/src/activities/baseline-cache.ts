/**
 * Results of the checks on code trees, kept under the server's data. Runs that start from the same tree in the same
 * environment share one result. An entry is written once and whole. The oldest entries make room for new ones.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CheckedBefore } from '../artifacts/failing-before.ts';

/** Names of tests are those of the report; empty where they are not known. */
export interface KnownBaseline extends CheckedBefore {
  /** Files that hold tests, from the project's root. */
  readonly files: readonly string[];
  /** Modules that Python finds outside of the project; absent where no runner of Python ran. */
  readonly installed?: readonly string[];
  /** Id of the run that made the entry; absent in entries of older versions. */
  readonly madeBy?: string;
}

const MAX_ENTRIES = 300;

export class BaselineCache {
  readonly #folder: string;
  readonly #making = new Map<string, Promise<KnownBaseline>>();

  /** @param folder absolute; made when it does not exist */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * The entry of a key; of several that want one that is not there, the first makes it and the others wait.
   * @param key hexadecimal digest of the tree and the environment
   * @param make is not kept where its baseline says why there is no outcome
   */
  async use(key: string, make: () => Promise<KnownBaseline>): Promise<KnownBaseline> {
    const found = await this.#read(key);
    if (found !== null) return found;
    const other = this.#making.get(key);
    // The run that makes it may be cancelled: then this one makes its own.
    if (other !== undefined) return other.catch(() => this.use(key, make));
    const making = this.#make(key, make);
    this.#making.set(key, making);
    return making.finally(() => this.#making.delete(key));
  }

  /** The entry of a key; `null` where there is none yet. */
  find(key: string): Promise<KnownBaseline | null> {
    return this.#read(key);
  }

  /** Keeps what was found out otherwise, unless there is an entry. */
  async keep(key: string, known: KnownBaseline): Promise<void> {
    if ((await this.#read(key)) === null) await this.#write(key, known);
  }

  async #make(key: string, make: () => Promise<KnownBaseline>): Promise<KnownBaseline> {
    const known = await make();
    if (known.baseline.failure === undefined) await this.#write(key, known);
    return known;
  }

  async #read(key: string): Promise<KnownBaseline | null> {
    const file = this.#file(key);
    try {
      const known = JSON.parse(await readFile(file, 'utf8')) as KnownBaseline;
      await utimes(file, new Date(), new Date());
      return known;
    } catch {
      // It is not there, or a full disk cut it: it is made anew.
      return null;
    }
  }

  async #write(key: string, known: KnownBaseline): Promise<void> {
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
