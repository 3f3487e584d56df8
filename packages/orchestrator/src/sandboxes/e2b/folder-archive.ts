/**
 * A host folder as a tar archive, and the way back. What comes back is hostile: it was packed by a machine on which an agent
 * could do as it liked. Only the files that were asked for are taken, nothing is followed and nothing lands outside.
 */
import { once } from 'node:events';
import { constants, type Dirent } from 'node:fs';
import { lstat, mkdir, open, readdir, readlink, realpath, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RetryableFailure } from '@autonomous/shared';
import { create, Parser } from 'tar';

const LONGEST_PATH_BYTES = 4_000;
/** With its NUL, as Linux has it. */
const LONGEST_HOST_PATH_BYTES = 4_096;

/** First bytes of what the parser would decompress by itself (gzip, zstd). A path begins with neither: each with "./". */
const COMPRESSED: ReadonlySet<number> = new Set([0x1f, 0x28]);

/** Target of a link whose own target is forbidden. No file can have this name, and no import accepts it. */
export const DANGLING_LINK_TARGET = '/dev/null/not-taken-from-the-sandbox';

/**
 * Writes everything in a folder into a gzipped archive; links as links. Pipes, sockets, devices and names that are no UTF-8 are left out.
 * @param signal ends it with its reason; what there is of the archive then is of no use
 * @returns whether there is an archive: an empty folder has none
 */
export async function packFolder(folder: string, archive: string, signal?: AbortSignal): Promise<boolean> {
  const paths: string[] = [];
  await walk(folder, '.', paths, signal);
  if (paths.length === 0) return false;
  // Each path begins with "./": to tar, one that begins with "@" would name another archive.
  const options = { cwd: folder, file: archive, gzip: { level: 1 }, portable: true, noDirRecurse: true };
  // It cannot be ended otherwise than by passing over the rest.
  await create({ ...options, filter: () => signal?.aborted !== true }, paths);
  signal?.throwIfAborted();
  return true;
}

async function walk(root: string, folder: string, paths: string[], signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const entries: Dirent[] = await readdir(join(root, folder), { withFileTypes: true });
  for (const entry of entries) {
    if (entry.name.includes('\ufffd')) continue;
    const path = `${folder}/${entry.name}`;
    if (entry.isFile() || entry.isSymbolicLink() || entry.isDirectory()) paths.push(path);
    if (entry.isDirectory()) await walk(root, path, paths, signal);
  }
}

/** A file of the other side that is wanted. */
export interface WantedFile {
  readonly size: number;
  readonly executable: boolean;
}

/** Host side of a folder that mirrors one on another machine. It must not be changed by others meanwhile. */
export class FolderWriter {
  readonly #root: string;
  /** Folders on the way to a path that were seen to be folders, and no links to them; those above each are in here too. */
  readonly #real = new Set<string>();
  #realRoot: Promise<string> | undefined;

  /** @param root absolute; there */
  constructor(root: string) {
    this.#root = root;
  }

  /** Removes a file, a link or a whole folder, if it is there. */
  async remove(path: string): Promise<void> {
    if (!(await this.#isReal(dirname(path)))) return;
    this.#real.clear();
    await rm(join(this.#root, path), { recursive: true, force: true });
  }

  /** Makes a folder and those above it; what stands in its place and is none goes. */
  async makeFolder(path: string): Promise<void> {
    if (path === '.' || this.#real.has(path)) return;
    await this.makeFolder(dirname(path));
    const target = join(this.#root, path);
    const found = await kindOf(target);
    if (found !== 'folder') {
      await this.#assertReal(dirname(path));
      if (found !== 'nothing') await rm(target, { force: true });
      await mkdir(target);
    }
    this.#real.add(path);
  }

  /**
   * Makes a symlink. Of one that may lead out of the folder only a broken one is made, so that whoever takes the files on sees
   * that there is something which is not taken.
   */
  async link(path: string, wanted: string): Promise<void> {
    const target = leadsInside(path, wanted) ? wanted : DANGLING_LINK_TARGET;
    const place = await this.#place(path);
    if ((await readlink(place).catch(() => null)) === target) return;
    await this.#clear(path);
    await symlink(target, place);
  }

  /**
   * Takes the wanted files out of an archive.
   * @throws {RetryableFailure} when it holds anything else, or not all of them: it was cut, or somebody wrote to it meanwhile
   */
  async unpack(archive: AsyncIterable<Uint8Array>, wanted: ReadonlyMap<string, WantedFile>): Promise<void> {
    const missing = new Map(wanted);
    const { promise: failed, reject } = Promise.withResolvers<never>();
    failed.catch(() => {});
    let isRefused = false;
    const refuse = (error: unknown): void => {
      isRefused = true;
      reject(error);
    };
    const writing: Promise<void>[] = [];
    const parser = new Parser({
      strict: true,
      onReadEntry: (entry) => {
        const path = entry.path.replace(/^\.\//, '');
        const file = missing.get(path);
        if (entry.type !== 'File' || file === undefined || entry.size !== file.size)
          refuse(
            damaged(`it holds ${entry.type} ${JSON.stringify(entry.path.slice(0, 200))}, which was not requested`),
          );
        // One chunk may hold several entries: those behind one that was refused come all the same.
        if (isRefused || file === undefined) {
          entry.resume();
          return;
        }
        missing.delete(path);
        const written = this.#write(path, file, until(failed, entry));
        written.catch(refuse);
        writing.push(written);
      },
    });
    parser.on('error', (error) => refuse(damaged(String(error))));
    const most = longestArchiveOf(wanted);
    const feed = async (): Promise<void> => {
      const ended = once(parser, 'end');
      ended.catch(() => {});
      let bytes = 0;
      for await (const chunk of until(failed, archive)) {
        if (bytes === 0 && COMPRESSED.has(chunk[0] ?? 0)) throw damaged('it is compressed, which was not asked for');
        bytes += chunk.length;
        // It could go on for ever behind its end.
        if (bytes > most) throw damaged('it is longer than all that was asked for');
        if (!parser.write(Buffer.from(chunk))) await Promise.race([once(parser, 'drain'), failed]);
      }
      parser.end();
      await ended;
      await Promise.all(writing);
    };
    try {
      await Promise.race([feed(), failed]);
    } catch (error) {
      refuse(error);
      // After the failure is reported, nothing writes to the folder any more.
      await Promise.allSettled(writing);
      throw error;
    }
    const [first] = missing.keys();
    if (first !== undefined) throw damaged(`${missing.size} of ${wanted.size} files are missing, ${first} among them`);
  }

  async #write(path: string, { executable }: WantedFile, content: AsyncIterable<Uint8Array>): Promise<void> {
    const place = await this.#place(path);
    await this.#clear(path);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(place, flags, executable ? 0o755 : 0o644);
    try {
      for await (const chunk of content) await file.writeFile(chunk);
    } finally {
      await file.close();
    }
  }

  /** Where a path lies, its folder made and looked at again: one that was seen may have been replaced since. */
  async #place(path: string): Promise<string> {
    await this.makeFolder(dirname(path));
    await this.#assertReal(dirname(path));
    return join(this.#root, path);
  }

  /** Makes room for what is no folder. What was seen there, or below it, is not there any more. */
  async #clear(path: string): Promise<void> {
    if (this.#real.has(path)) this.#real.clear();
    await rm(join(this.#root, path), { recursive: true, force: true });
  }

  async #assertReal(folder: string): Promise<void> {
    if (await this.#isReal(folder)) return;
    throw damaged(`${JSON.stringify(folder.slice(0, 200))} is to be a folder and something else at once`);
  }

  /** Whether a folder is there and reached without following anything; it is looked at each time. */
  async #isReal(folder: string): Promise<boolean> {
    this.#realRoot ??= realpath(this.#root);
    const place = join(await this.#realRoot, folder);
    const found = await realpath(place).catch(() => null);
    return found === place && (await kindOf(place)) === 'folder';
  }
}

/** In blocks of 512 bytes: for each file its header, its name in two more where it is long, and its content; and an end. */
function longestArchiveOf(wanted: ReadonlyMap<string, WantedFile>): number {
  const blocks = (bytes: number): number => Math.ceil(bytes / 512) * 512;
  let bytes = 64 * 1024;
  for (const [path, { size }] of wanted) bytes += 1_024 + blocks(Buffer.byteLength(path) + 3) + blocks(size);
  return bytes;
}

/** Yields the items of `source` until `failed` rejects. */
async function* until<Item>(failed: Promise<never>, source: AsyncIterable<Item>): AsyncGenerator<Item> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), failed]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Nobody waits for it: a machine that says nothing more would hold up the failure.
    void iterator.return?.().then(undefined, () => {});
  }
}

async function kindOf(path: string): Promise<'nothing' | 'folder' | 'other'> {
  try {
    return (await lstat(path)).isDirectory() ? 'folder' : 'other';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'nothing';
    throw error;
  }
}

/**
 * A path that names something below a folder and nothing else, as `find` writes it.
 * @param folder where it has to have room, where that is a folder of this machine
 */
export function isPathBelow(path: string, folder = ''): boolean {
  const most = Math.min(LONGEST_PATH_BYTES, LONGEST_HOST_PATH_BYTES - Buffer.byteLength(folder) - '/\0'.length);
  if (path === '' || path.includes('\0') || Buffer.byteLength(path) > most) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/**
 * Whether a link stays inside the folder. It may go up first and down then: a ".." after a name would lead elsewhere where that
 * name is a link itself.
 */
function leadsInside(path: string, target: string): boolean {
  const up = /^(?:\.\.?\/)*(?:\.\.?$)?/.exec(target)?.[0] ?? '';
  const ups = up.split('/').filter((part) => part === '..').length;
  const down = target.slice(up.length);
  return ups < path.split('/').length && (down === '' ? up !== '' : isPathBelow(down.replace(/\/$/, '')));
}

/** Error for data of the other machine that is invalid. */
export function damaged(what: string): RetryableFailure {
  return new RetryableFailure(`What the sandbox gave back cannot be taken: ${what}`, { reason: 'sandbox_unavailable' });
}
