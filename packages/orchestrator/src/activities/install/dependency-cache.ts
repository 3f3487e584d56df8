/**
 * Caches the output of install steps, keyed by their inputs: one folder per entry under the server's data. An entry is
 * written atomically and never changed; users copy it. The least recently used entries are removed to make room.
 *
 * Only one process may use a cache folder: it tracks in memory which entries are being written or copied.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import type { Logger } from 'pino';
import { runProgram } from '../../processes/program.ts';

export interface InstalledDependencies {
  /** Absolute folder of what was made beside the project's files. */
  readonly folder: string;
  /** Absolute folder of what was left in HOME: the stores of package managers. */
  readonly home: string;
  /** Top-level content of `folder`, as gitignore patterns. */
  readonly installed: readonly string[];
}

export interface DependencyCacheOptions {
  /** Absolute; made when it does not exist. */
  readonly folder: string;
  /** Bytes on disk, all entries together; the one that was used last always stays. */
  readonly maxBytes: number;
  /** Logs folders that could not be removed and only take disk space. Absent: not logged. */
  readonly log?: Pick<Logger, 'warn'>;
}

interface Manifest {
  readonly installed: readonly string[];
  readonly bytes: number;
}

const MANIFEST = 'manifest.json';
const UNFINISHED = '.unfinished-';

export class DependencyCache {
  readonly #options: DependencyCacheOptions;
  readonly #making = new Map<string, Promise<void>>();
  /** How often each entry is being copied right now. */
  readonly #inUse = new Map<string, number>();
  #tidied: Promise<void> | undefined;

  constructor(options: DependencyCacheOptions) {
    this.#options = options;
  }

  /**
   * Gives an entry to `use`, and makes it before where there is none. Of several that want the same one at once, the first makes
   * it and the others wait.
   * @param key hexadecimal hash of all that decides about the content
   * @param make fills `folder` and `home`, which are empty, and returns what is in `folder` as gitignore patterns
   * @param use may copy the entry; it is not removed before that has ended
   * @param onWait told when another one makes it
   */
  async use<Result>(
    key: string,
    make: (entry: Omit<InstalledDependencies, 'installed'>) => Promise<readonly string[]>,
    use: (entry: InstalledDependencies) => Promise<Result>,
    { signal, onWait }: { readonly signal: AbortSignal; readonly onWait?: (() => void) | undefined },
  ): Promise<Result> {
    this.#tidied ??= this.#removeUnfinished().catch((error: unknown) => {
      // The next one tries again.
      this.#tidied = undefined;
      throw error;
    });
    await this.#tidied;
    this.#inUse.set(key, (this.#inUse.get(key) ?? 0) + 1);
    try {
      const entry = await this.#entry(key, make, signal, onWait);
      const result = await use(entry);
      return result;
    } finally {
      const others = (this.#inUse.get(key) ?? 1) - 1;
      if (others > 0) this.#inUse.set(key, others);
      else this.#inUse.delete(key);
    }
  }

  async #entry(
    key: string,
    make: (entry: Omit<InstalledDependencies, 'installed'>) => Promise<readonly string[]>,
    signal: AbortSignal,
    onWait: (() => void) | undefined,
  ): Promise<InstalledDependencies> {
    for (;;) {
      signal.throwIfAborted();
      const other = this.#making.get(key);
      if (other === undefined) {
        const found = await this.#read(key);
        if (found !== null) return found;
        // Between the look and here nobody else may have begun: reading gave others their turn.
        if (this.#making.has(key)) continue;
        const making = this.#make(key, make);
        this.#making.set(key, making);
        await making.finally(() => this.#making.delete(key));
        continue;
      }
      onWait?.();
      await Promise.race([other, aborted(signal)]).catch((error: unknown) => {
        // A failure of the step itself counts for all runs that wait for it. The cancellation of another run does not.
        if (error instanceof NeedsHuman) throw error;
      });
    }
  }

  async #make(
    key: string,
    make: (entry: Omit<InstalledDependencies, 'installed'>) => Promise<readonly string[]>,
  ): Promise<void> {
    const work = path.join(this.#options.folder, `${UNFINISHED}${randomUUID()}`);
    const entry = { folder: path.join(work, 'project'), home: path.join(work, 'home') };
    await mkdir(entry.folder, { recursive: true });
    await mkdir(entry.home, { recursive: true });
    try {
      const installed = await make(entry);
      const manifest: Manifest = { installed, bytes: await bytesIn(work) };
      await writeFile(path.join(work, MANIFEST), JSON.stringify(manifest));
      await removeTree(this.#folderOf(key));
      await rename(work, this.#folderOf(key));
    } catch (error) {
      await this.#tryRemove(work);
      throw error;
    }
    await this.#makeRoom();
  }

  async #read(key: string): Promise<InstalledDependencies | null> {
    const folder = this.#folderOf(key);
    const manifest = await readManifest(folder);
    if (manifest === null) return null;
    const now = new Date();
    // The time of its last use, by which entries make room.
    await utimes(path.join(folder, MANIFEST), now, now);
    return { folder: path.join(folder, 'project'), home: path.join(folder, 'home'), installed: manifest.installed };
  }

  async #makeRoom(): Promise<void> {
    const entries = [];
    for (const key of await readdir(this.#options.folder)) {
      if (key.startsWith('.')) continue;
      const folder = this.#folderOf(key);
      const [manifest, used] = await Promise.all([
        readManifest(folder),
        stat(path.join(folder, MANIFEST)).catch(() => null),
      ]);
      entries.push({ key, bytes: manifest?.bytes ?? 0, usedAt: used?.mtimeMs ?? 0 });
    }
    entries.sort((a, b) => b.usedAt - a.usedAt);
    let bytes = 0;
    for (const [index, entry] of entries.entries()) {
      bytes += entry.bytes;
      if (index === 0 || bytes <= this.#options.maxBytes || this.#inUse.has(entry.key)) continue;
      bytes -= entry.bytes;
      await this.#remove(this.#folderOf(entry.key));
    }
  }

  /** Renamed first: half an entry would be taken for a whole one. */
  async #remove(folder: string): Promise<void> {
    const removed = path.join(this.#options.folder, `${UNFINISHED}${randomUUID()}`);
    await rename(folder, removed);
    await this.#tryRemove(removed);
  }

  /** Of a process that was killed. */
  async #removeUnfinished(): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true });
    for (const name of await readdir(this.#options.folder)) {
      if (name.startsWith(UNFINISHED)) await this.#tryRemove(path.join(this.#options.folder, name));
    }
  }

  /** Removes a folder that is not an entry. If that fails, the next process tries again. */
  async #tryRemove(folder: string): Promise<void> {
    await removeTree(folder).catch((error: unknown) =>
      this.#options.log?.warn({ err: error, folder }, 'a folder of installed dependencies could not be removed'),
    );
  }

  #folderOf(key: string): string {
    return path.join(this.#options.folder, key);
  }
}

async function readManifest(folder: string): Promise<Manifest | null> {
  const text = await readFile(path.join(folder, MANIFEST), 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as Manifest);
}

async function bytesIn(folder: string): Promise<number> {
  const { stdout } = await runProgram('du', ['-sk', '--', folder]);
  return Number(/^\d+/.exec(stdout)?.[0] ?? 0) * 1024;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/**
 * Removes folders with all that is in them, and files, whatever a sandbox has made of them. Nothing happens to those that are gone
 * already.
 */
export async function removeTree(...entries: readonly string[]): Promise<void> {
  // A process costs more than the removal of a file.
  const folders = (await Promise.all(entries.map(isFolder))).flatMap((is, index) => (is ? (entries[index] ?? []) : []));
  // Node's own removal holds the process for seconds over 300,000 files. It does what is left, as an activity that is just being ended
  // may still write a file or two.
  const remove = async (): Promise<void> => {
    if (folders.length > 0) await runProgram('rm', ['-rf', '--', ...folders]).catch(() => {});
    for (const entry of entries) await rm(entry, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  await remove().catch(async (error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENAMETOOLONG') throw error;
    // Package managers leave read-only folders, Go's among them: nothing can be removed from those. And folders may be nested
    // deeper than a path may be long. This one descends folder by folder; what it leaves, the last line says.
    await runProgram('chmod', ['-Rf', 'u+rwX', '--', ...folders]).catch(() => {});
    await remove();
  });
}

/** Whether it is a folder, or nobody can tell. */
async function isFolder(entry: string): Promise<boolean> {
  try {
    return (await lstat(entry)).isDirectory();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}
