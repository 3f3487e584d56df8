/**
 * Installs the pinned package below the extension's storage: `server/<version>` is there in full or not at all. The packed
 * file carries its dependencies, so that unpacking it is installing it.
 */
import { hash, randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { showHiddenInLine } from '@autonomous/shared';
import { extract, list } from 'tar';
import { isAlive, type LockOptions, takeLock } from './install-lock.ts';
import { downloadPackedFile, findPackedFile } from './package-registry.ts';
import type { PinnedPackage } from './pinned-package.ts';

export interface InstalledServer {
  readonly version: string;
  /** Absolute path of the program's first file. */
  readonly program: string;
  /** Range of Node versions that the package accepts; `null` when it does not say. */
  readonly node: string | null;
}

export type InstallStep =
  | { readonly kind: 'asking' }
  | { readonly kind: 'downloading'; readonly bytes: number; readonly ofBytes: number }
  | { readonly kind: 'unpacking' }
  /** Another window installs the same package. */
  | { readonly kind: 'waiting' };

export interface InstallOptions {
  /** Absolute path of the folder that holds each version. */
  readonly root: string;
  readonly pinned: PinnedPackage;
  readonly registry: string;
  readonly signal: AbortSignal;
  readonly onStep: (step: InstallStep) => void;
  readonly lock?: LockOptions;
  /** See `RegistryOptions`. */
  readonly stalledAfterMs?: number;
}

/**
 * Written before the folder gets its name: the digest of the packed file, and then the digest and path of each unpacked one. A package
 * of the same version with another digest is another package. After a power cut a file system may have a file's name without its
 * content, which the digests show.
 */
const INTEGRITY_FILE = '.integrity';
/** Files that are looked at or written to disk at the same time. */
const AT_ONCE = 32;
const USED_BY = '.used-by-';
const PARTIAL = /^.+\.partial-(\d+)-[\da-f]+$/;
const VERSION = /^\d+\.\d+\.\d+/;
const LOOK_EVERY_MS = 250;
const CONTROL = /\p{Cc}/u;
const IN_PACKAGE = /^package\//;

/** The installed package; `null` unless it is there in full. */
export async function findInstalled(root: string, pinned: PinnedPackage): Promise<InstalledServer | null> {
  const folder = path.join(root, pinned.version);
  const text = await readFile(path.join(folder, INTEGRITY_FILE), 'utf8').catch(() => '');
  const [integrity, ...files] = text.split('\n').filter((line) => line !== '');
  if (integrity !== pinned.integrity || files.length === 0) return null;
  if (!(await areComplete(folder, files))) return null;
  return readInstalled(folder, pinned).catch(() => null);
}

/**
 * Gives the installed package, after it was downloaded, compared and unpacked where it is missing. Nothing is left behind
 * by an attempt that failed; it may be repeated.
 * @throws {Error} in words for a person; the reason of `signal` when it was cancelled
 */
export async function installServer(options: InstallOptions): Promise<InstalledServer> {
  const { root, pinned, signal } = options;
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    for (;;) {
      signal.throwIfAborted();
      const found = await findInstalled(root, pinned);
      if (found !== null) return found;
      const release = await takeLock(path.join(root, 'install.lock'), options.lock);
      if (release === null) {
        options.onStep({ kind: 'waiting' });
        await delay(LOOK_EVERY_MS, undefined, { signal });
        continue;
      }
      try {
        // It may have been installed between the look and the lock.
        return (await findInstalled(root, pinned)) ?? (await install(options));
      } finally {
        await release();
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    throw explainInstallError(error, root);
  }
}

/** Says that the process runs from this version: it is not removed as long as the process is there. */
export async function markUsed(root: string, version: string, pid: number): Promise<void> {
  await writeFile(path.join(root, version, `${USED_BY}${pid}`), '');
}

/** Removes other versions that no process runs from, and what crashed installations left. @returns what was removed */
export async function removeOtherVersions(root: string, version: string): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await readdir(root).catch(() => [])) {
    const isLeft = isLeftBehind(name) || (VERSION.test(name) && !PARTIAL.test(name) && name !== version);
    if (!isLeft || (await isUsed(path.join(root, name)))) continue;
    await rm(path.join(root, name), { recursive: true, force: true });
    removed.push(name);
  }
  return removed;
}

async function install(options: InstallOptions): Promise<InstalledServer> {
  const { root, pinned, signal, onStep } = options;
  for (const name of await readdir(root)) {
    if (isLeftBehind(name)) await rm(path.join(root, name), { recursive: true, force: true });
  }
  const partial = path.join(root, `${pinned.version}.partial-${process.pid}-${randomUUID().slice(0, 8)}`);
  await mkdir(partial, { mode: 0o700 });
  try {
    const packed = path.join(partial, 'package.tgz');
    const unpacked = path.join(partial, 'package');
    onStep({ kind: 'asking' });
    const address = await findPackedFile(pinned, options);
    const onProgress = (bytes: number): void => onStep({ kind: 'downloading', bytes, ofBytes: pinned.bytes });
    onProgress(0);
    await downloadPackedFile(address, pinned, packed, { ...options, onProgress });
    onStep({ kind: 'unpacking' });
    await unpack(packed, unpacked, pinned);
    signal.throwIfAborted();
    const { program } = await readInstalled(unpacked, pinned);
    await writeToDisk(unpacked, pinned.integrity);
    signal.throwIfAborted();
    const folder = path.join(root, pinned.version);
    const found = await findInstalled(root, pinned);
    if (found !== null) return found;
    // A folder with the name of this package and another content is damaged, or another build of the version.
    await rm(folder, { recursive: true, force: true });
    await rename(unpacked, folder);
    await syncFolder(root);
    const installed = await readInstalled(folder, pinned);
    if (path.relative(folder, installed.program) !== path.relative(unpacked, program))
      throw new Error(`${folder} was changed while it was installed. Try again.`);
    return installed;
  } finally {
    await rm(partial, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
  }
}

/** Looks at every entry before the first is written. @throws {Error} when one is no file or folder inside the package */
async function unpack(packed: string, folder: string, { name, version }: PinnedPackage): Promise<void> {
  const refused: string[] = [];
  await list({
    file: packed,
    strict: true,
    onReadEntry(entry) {
      const isPlain = entry.type === 'File' || entry.type === 'OldFile' || entry.type === 'Directory';
      const parts = entry.path.split(/[/\\]/);
      const isInside = IN_PACKAGE.test(entry.path) && !parts.includes('..');
      // The list in the file of this name has a line for each path.
      const isNamed = !CONTROL.test(entry.path) && !parts.some((part) => part.toLowerCase() === INTEGRITY_FILE);
      if (!isPlain || !isInside || !isNamed) refused.push(`${showHiddenInLine(entry.path)} (${entry.type})`);
    },
  });
  if (refused.length > 0)
    throw new Error(
      `The package ${name} ${version} holds ${refused.slice(0, 3).join(', ')}: links, files outside of the package, names with control characters and files named ${INTEGRITY_FILE} are not unpacked.`,
    );
  await mkdir(folder);
  await extract({
    file: packed,
    cwd: folder,
    strip: 1,
    strict: true,
    preservePaths: false,
    onReadEntry(entry) {
      // Others than the owner never write, and no program runs as somebody else.
      entry.mode = entry.type === 'Directory' || ((entry.mode ?? 0) & 0o100) !== 0 ? 0o755 : 0o644;
    },
  });
}

/** Has every file on disk before the folder gets its name, and writes the list by which `findInstalled` knows them. */
async function writeToDisk(folder: string, integrity: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const lines = await mapInParts(files, async (file) => {
    const handle = await open(file, 'r');
    try {
      await handle.sync();
      return `${await digestOf(file)} ${path.relative(folder, file)}`;
    } finally {
      await handle.close();
    }
  });
  const list = await open(path.join(folder, INTEGRITY_FILE), 'wx');
  try {
    await list.writeFile(`${[integrity, ...lines].join('\n')}\n`);
    await list.sync();
  } finally {
    await list.close();
  }
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => path.join(entry.parentPath, entry.name));
  await mapInParts([...folders, folder], syncFolder);
}

/** Writes the names in a folder to disk. Systems that cannot do so for folders are left to do it by themselves. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  try {
    await handle?.sync().catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EINVAL' && code !== 'EPERM') throw error;
    });
  } finally {
    await handle?.close();
  }
}

/**
 * Checks that the folder holds exactly these files with these contents, and no links.
 * @param lines digest and path of each file, with a space between them
 */
async function areComplete(folder: string, lines: readonly string[]): Promise<boolean> {
  if ((await lstat(folder).catch(() => null))?.isDirectory() !== true) return false;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const others = entries.filter((entry) => !entry.isDirectory());
  const names = others.map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
  const listed = new Set(lines.map((line) => line.slice(line.indexOf(' ') + 1)));
  const isOwn = (name: string): boolean => listed.has(name) || name === INTEGRITY_FILE || name.startsWith(USED_BY);
  if (!others.every((entry) => entry.isFile()) || !names.every(isOwn)) return false;
  const digests = await mapInParts(lines, async (line) => {
    const space = line.indexOf(' ');
    return (await digestOf(path.join(folder, line.slice(space + 1))).catch(() => '')) === line.slice(0, space);
  });
  return digests.every(Boolean);
}

async function digestOf(file: string): Promise<string> {
  return hash('sha256', await readFile(file));
}

async function mapInParts<Value, Result>(
  values: readonly Value[],
  perform: (value: Value) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < values.length; at += AT_ONCE)
    results.push(...(await Promise.all(values.slice(at, at + AT_ONCE).map(perform))));
  return results;
}

async function readInstalled(folder: string, pinned: PinnedPackage): Promise<InstalledServer> {
  const manifest = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as {
    readonly name?: unknown;
    readonly version?: unknown;
    readonly bin?: unknown;
    readonly engines?: { readonly node?: unknown };
  };
  const { name, version, bin, engines } = manifest;
  if (name !== pinned.name || version !== pinned.version)
    throw new Error(
      `The package says that it is ${String(name)} ${String(version)}, and ${pinned.name} ${pinned.version} was expected. Install the extension again.`,
    );
  const [entry] = typeof bin === 'string' ? [bin] : Object.values((bin ?? {}) as Readonly<Record<string, unknown>>);
  const program = typeof entry === 'string' ? path.resolve(folder, entry) : null;
  if (program === null || !program.startsWith(folder + path.sep))
    throw new Error(`The package ${pinned.name} ${pinned.version} names no program of its own.`);
  await readFile(program).catch((error: unknown) => {
    throw new Error(
      `The package ${pinned.name} ${pinned.version} has no ${String(entry)}, which it names as its program.`,
      {
        cause: error,
      },
    );
  });
  return { version: pinned.version, program, node: typeof engines?.node === 'string' ? engines.node : null };
}

/** True for the folder of an installation whose process is gone. */
function isLeftBehind(name: string): boolean {
  const [, pid] = PARTIAL.exec(name) ?? [];
  return pid !== undefined && !isAlive(Number(pid));
}

async function isUsed(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  return names.some((name) => name.startsWith(USED_BY) && isAlive(Number(name.slice(USED_BY.length))));
}

function explainInstallError(error: unknown, root: string): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Error(`The disk of ${root} is full. Make room and try again; nothing half-made was left.`, {
      cause: error,
    });
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return new Error(`${root} cannot be written (${code}). Give your account the right to write there and try again.`, {
      cause: error,
    });
  return error instanceof Error ? error : new Error(String(error));
}
