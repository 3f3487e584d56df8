/**
 * Takes what an agent left in a folder back into a tree. The folder is hostile: only regular files that were opened without
 * following anything are read, git never looks into it, and what is not taken stays as it was in the base tree.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, readlink, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NeedsHuman, NotFound, showHidden } from '@autonomous/shared';
import { type GitPlace, gitText } from './git.ts';
import {
  diffFiles,
  EXECUTABLE_MODE,
  editTree,
  FILE_MODE,
  isFileMode,
  listTree,
  type TreeEdit,
  type TreeEntry,
  withScratch,
  writeBlobsFrom,
} from './git-trees.ts';
import { createIgnoreMatcher, type IgnoreMatcher, withoutTooWild } from './ignore-matcher.ts';
import type { ImportRequest, ImportResult } from './repository.ts';
import { collidingPaths, nameFault } from './portable-names.ts';
import { isDotGit, isOwnPath, onEachFolder, OWN_FOLDER, pathFault } from './repository-paths.ts';

/** Largest file taken: sources are far smaller, and a file is held in memory while it is compared. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** Most entries that the base tree does not have; more than this is generated output that nobody told git to ignore. */
export const MAX_NEW_ENTRIES = 50_000;
/** Most bytes of new and changed files together: git keeps each of them for ever. */
export const MAX_CHANGED_BYTES = 500 * 1024 * 1024;
/** Most entries looked at, ignored ones included, beyond those of the base tree: bounds the memory of the walk. */
const MAX_SEEN_ENTRIES = 400_000;
/** Refused paths that are named; the rest is a number. */
const MAX_REFUSED_NAMED = 500;
/** Files compared at the same time: enough to keep the disk busy, and 16 of the largest fit into memory. */
const PARALLEL_FILES = 16;
/** A larger `.gitignore` is taken as a file and not obeyed. */
const MAX_RULES_BYTES = 1024 * 1024;

type Refusal = ImportResult['refused'][number];

/** @throws {NeedsHuman} `agent_failed` when the folder holds more than is ever taken; `storage_full` */
export async function importFolderTree(place: GitPlace, request: ImportRequest): Promise<ImportResult> {
  const base = await readBase(place, request.baseTree);
  return withScratch(place, async (scratch) => {
    const matchers = {
      excluded: await createIgnoreMatcher(place, join(scratch, 'excluded'), request.excludePaths),
      ignored: await createIgnoreMatcher(place, join(scratch, 'ignored'), []),
    };
    const root = await resolveRoot(request.folder);
    const walk = await walkFolder(root, base, matchers);
    const deleted = await findDeletedFiles(base, walk, matchers);
    refuseCollisions(base, walk, deleted);
    const staged = join(scratch, 'changed');
    await mkdir(staged);
    const changed = await stageChangedFiles(place, root, base, walk, staged);
    const oids = await writeBlobsFrom(
      place,
      changed.map(({ stagedPath }) => stagedPath),
    );
    const edits: TreeEdit[] = changed.map(({ path, mode }, index) => ({ path, mode, oid: oids[index] ?? null }));
    edits.push(...deleted.map(({ rawPath, mode }) => ({ path: rawPath, mode, oid: null })));
    const tree = await editTree(place, base.tree, edits);
    return { tree, files: await diffFiles(place, base.tree, tree), refused: shorten(walk.refused) };
  });
}

/** The folder's real path. */
async function resolveRoot(folder: string): Promise<string> {
  const found = await lstat(folder).catch(() => null);
  if (found === null || !found.isDirectory()) throw new NotFound(`There is no folder ${folder} to take files from`);
  return realpath(folder);
}

interface Base {
  readonly tree: string;
  readonly entries: readonly TreeEntry[];
  readonly byPath: ReadonlyMap<string, TreeEntry>;
  readonly folders: ReadonlySet<string>;
}

async function readBase(place: GitPlace, baseTree: string): Promise<Base> {
  const entries = await listTree(place, baseTree);
  const folders = new Set<string>();
  for (const { path } of entries) {
    for (
      let end = path.lastIndexOf('/');
      end > 0 && !folders.has(path.slice(0, end));
      end = path.lastIndexOf('/', end - 1)
    ) {
      folders.add(path.slice(0, end));
    }
  }
  return {
    tree: baseTree,
    entries,
    byPath: new Map(entries.map((entry) => [entry.path, entry])),
    folders,
  };
}

interface Walk {
  /** Paths that look like regular files and are neither ignored nor excluded. */
  readonly candidates: string[];
  /** Files that were found as they are in the base, or taken, or refused: none of them was deleted. */
  readonly present: Set<string>;
  readonly refused: Refusal[];
}

interface Matchers {
  readonly excluded: IgnoreMatcher;
  readonly ignored: IgnoreMatcher;
}

interface Found {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'other';
  readonly what: string;
}

/** Goes down level by level, so that git is asked once a level and no ignored folder is ever opened. */
async function walkFolder(root: string, base: Base, matchers: Matchers): Promise<Walk> {
  const walk: Walk = { candidates: [], present: new Set(), refused: [] };
  const counts = { seen: 0, added: 0 };
  for (let level = ['']; level.length > 0;) {
    const found: Found[] = [];
    for (const folder of level) {
      try {
        for await (const entry of readFolder(root, folder)) {
          if (++counts.seen > MAX_SEEN_ENTRIES + base.entries.length)
            throw tooMuch(`more than ${MAX_SEEN_ENTRIES} entries`);
          if (!refuseName(entry, base, walk)) found.push(entry);
        }
      } catch (error) {
        if (folder === '' || !isUnreadable(error)) throw error;
        refuse(walk, folder, 'the folder cannot be read');
      }
      const rules = await readRules(root, folder);
      if (rules !== null) {
        const { rules: kept, left } = withoutTooWild(rules);
        await matchers.ignored.addRules(folder, kept);
        for (const pattern of left)
          refuse(walk, join(folder, '.gitignore'), `its pattern ${pattern.slice(0, 100)} contains ** too many times`);
      }
    }
    const taken = await withoutIgnored(found, matchers);
    counts.added += taken.filter(({ path }) => !base.byPath.has(path) && !base.folders.has(path)).length;
    if (counts.added > MAX_NEW_ENTRIES) throw tooMuch(`more than ${MAX_NEW_ENTRIES} new files and folders`);
    level = [];
    for (const { path, kind, what } of taken) {
      if (kind === 'folder') level.push(path);
      else if (kind === 'file') walk.candidates.push(path);
      else refuse(walk, path, `${what} are not imported, only regular files`);
    }
  }
  return walk;
}

async function* readFolder(root: string, folder: string): AsyncGenerator<Found> {
  const absolute = join(root, folder);
  // The type was read in the folder above; a symlink that stands here now must not lead the walk elsewhere.
  if (!(await lstat(absolute)).isDirectory()) return;
  for await (const entry of await opendir(absolute, { bufferSize: 256 })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isFile()) yield { path, kind: 'file', what: 'files' };
    else if (entry.isDirectory()) yield { path, kind: 'folder', what: 'folders' };
    else if (entry.isSymbolicLink()) yield { path, kind: 'other', what: 'symlinks' };
    else yield { path, kind: 'other', what: entry.isFIFO() ? 'pipes' : entry.isSocket() ? 'sockets' : 'devices' };
  }
}

/** Refuses what no tree may hold under this name. A name that the base has already stays as it is there, without a word. */
function refuseName({ path }: Found, base: Base, walk: Walk): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const before = base.byPath.get(path);
  if (isDotGit(name)) refuse(walk, path, 'a git repository inside the folder is not imported');
  else if (before !== undefined && !isFileMode(before.mode)) {
    // The checkout left it out, so whatever stands here now is new.
    refuse(
      walk,
      path,
      `the project has a ${before.mode === '160000' ? 'submodule' : 'symlink'} here, which stays as it is`,
    );
  } else {
    const isKnown = before !== undefined || base.folders.has(path);
    const fault = pathFault(path);
    if (fault !== null && isKnown) keep(walk, path);
    else {
      const reason = fault ?? (isKnown ? null : nameFault(name));
      if (reason === null) return false;
      refuse(walk, path, reason);
    }
  }
  return true;
}

async function withoutIgnored(found: readonly Found[], matchers: Matchers): Promise<Found[]> {
  for (const { path } of found.filter(({ kind }) => kind === 'folder')) {
    await Promise.all([matchers.excluded.addFolder(path), matchers.ignored.addFolder(path)]);
  }
  const paths = found.map(({ path }) => path);
  const [excluded, ignored] = await Promise.all([matchers.excluded.match(paths), matchers.ignored.match(paths)]);
  // The orchestrator's own folder cannot be hidden by a rule that an agent wrote: what lies there is reported.
  return found.filter(({ path }) => !excluded.has(path) && (!ignored.has(path) || isOwnPath(path)));
}

async function readRules(root: string, folder: string): Promise<Buffer | null> {
  const file = await openRegularFile(join(root, folder, '.gitignore'));
  if (file === null) return null;
  try {
    return file.size > MAX_RULES_BYTES ? null : await file.handle.readFile();
  } finally {
    await file.handle.close();
  }
}

interface ChangedFile {
  readonly path: string;
  readonly mode: string;
  /** Where its content lies now, in a folder of the server. */
  readonly stagedPath: string;
}

/** Copies the files that differ from the base out of the folder; what was compared is what is stored. */
async function stageChangedFiles(
  place: GitPlace,
  root: string,
  base: Base,
  walk: Walk,
  staged: string,
): Promise<ChangedFile[]> {
  const changed: ChangedFile[] = [];
  const queue = [...walk.candidates].sort();
  let bytes = 0;
  const compare = async (path: string): Promise<void> => {
    const before = base.byPath.get(path);
    const file = await openRegularFile(join(root, path));
    if (file === null) return refuse(walk, path, 'it is not a regular file that can be read');
    try {
      const content = file.size > MAX_FILE_BYTES ? null : await file.handle.readFile();
      if (content === null) {
        if (await isSameLargeFile(place, file.handle, file.size, before)) return keep(walk, path);
        return refuse(walk, path, `it is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB`);
      }
      if (before?.mode === file.mode && before.oid === blobId(content)) return keep(walk, path);
      if (isOwnPath(path)) return refuse(walk, path, `agents do not write under ${OWN_FOLDER}/`);
      bytes += content.length;
      if (bytes > MAX_CHANGED_BYTES)
        throw tooMuch(`more than ${MAX_CHANGED_BYTES / 1024 / 1024} MB of new and changed files`);
      const stagedPath = join(staged, String(changed.length));
      changed.push({ path, mode: file.mode, stagedPath });
      keep(walk, path);
      await writeFile(stagedPath, content);
    } finally {
      await file.handle.close();
    }
  };
  const worker = async (): Promise<void> => {
    try {
      for (let path = queue.pop(); path !== undefined; path = queue.pop()) await compare(path);
    } finally {
      // The first failure ends the others' work too.
      queue.length = 0;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_FILES }, worker));
  return changed;
}

/**
 * Opens without following a symlink or waiting at a pipe.
 * @param path absolute and real
 * @returns `null` when it is anything but a regular file that can be read and lies at this very path
 */
async function openRegularFile(
  path: string,
): Promise<{ readonly handle: FileHandle; readonly size: number; readonly mode: string } | null> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
  const stat = await handle.stat();
  if (stat.isFile() && (await pathOf(handle, path)) === path)
    return { handle, size: stat.size, mode: (stat.mode & 0o100) === 0 ? FILE_MODE : EXECUTABLE_MODE };
  await handle.close();
  return null;
}

/** Where an open file really lies: O_NOFOLLOW says nothing of the folders on the way. */
async function pathOf(handle: FileHandle, path: string): Promise<string> {
  return process.platform === 'linux' ? readlink(`/proc/self/fd/${handle.fd}`) : realpath(path);
}

function isUnreadable(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    ['ENOENT', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'ENOTDIR'].includes(String(error.code))
  );
}

/** Large files that the project has always had are compared as a stream; only one of the base's size is read at all. */
async function isSameLargeFile(
  place: GitPlace,
  handle: FileHandle,
  size: number,
  before: TreeEntry | undefined,
): Promise<boolean> {
  if (before === undefined || Number(await gitText(place, { args: ['cat-file', '-s', before.oid] })) !== size)
    return false;
  const hash = createHash('sha1').update(`blob ${size}\0`);
  for await (const chunk of handle.createReadStream({ autoClose: false, start: 0, end: size - 1 })) {
    hash.update(chunk as Buffer);
  }
  return hash.digest('hex') === before.oid;
}

function blobId(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}

/** Files that the checkout wrote and that are gone, unless something stands in their place that was not taken. */
async function findDeletedFiles(base: Base, walk: Walk, matchers: Matchers): Promise<TreeEntry[]> {
  const present = new Set([...walk.present, ...walk.candidates]);
  /** Whether this path, or something on the way to it, was found in the folder. */
  const isPresent = onEachFolder<boolean>((above, path) => above === true || present.has(path));
  const missing = base.entries.filter(({ path, mode }) => isFileMode(mode) && !isPresent(path));
  const paths = missing.map(({ path }) => path);
  const [excluded, ignored] = await Promise.all([matchers.excluded.match(paths), matchers.ignored.match(paths)]);
  return missing.filter(({ path }) => {
    if (excluded.has(path)) return false;
    if (isOwnPath(path)) {
      refuse(walk, path, `agents do not remove anything under ${OWN_FOLDER}/`);
      return false;
    }
    return !ignored.has(path);
  });
}

/** Refuses new names that some file system takes for another of the result. A name in another case instead of the old one is taken. */
function refuseCollisions(base: Base, walk: Walk, deleted: readonly TreeEntry[]): void {
  const gone = new Set(deleted.map(({ path }) => path));
  const left = base.entries.map(({ path }) => path).filter((path) => !gone.has(path));
  const isKnown = (path: string): boolean => base.byPath.has(path) || base.folders.has(path);
  // The orchestrator's own folder is refused under every spelling, in words of its own.
  const added = walk.candidates.filter((path) => !isKnown(path) && !isOwnPath(path));
  const colliding = collidingPaths(new Set([...left, ...walk.candidates]), added, isKnown);
  for (const [path, other] of colliding) {
    refuse(
      walk,
      path,
      `some systems take it for ${showHidden(other)}: the names differ in case or in how letters are stored`,
    );
  }
  const kept = walk.candidates.filter((path) => !colliding.has(path));
  walk.candidates.splice(0, walk.candidates.length, ...kept);
}

function keep(walk: Walk, path: string): void {
  walk.present.add(path);
}

function refuse(walk: Walk, path: string, reason: string): void {
  walk.present.add(path);
  walk.refused.push({ path, reason });
}

function shorten(refused: readonly Refusal[]): Refusal[] {
  const sorted = refused.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const rest = sorted.length - MAX_REFUSED_NAMED;
  return rest <= 0
    ? sorted
    : [...sorted.slice(0, MAX_REFUSED_NAMED), { path: '…', reason: `${rest} more were refused` }];
}

function tooMuch(what: string): NeedsHuman {
  return new NeedsHuman(
    'agent_failed',
    `The run's folder contains ${what}. Add generated files to .gitignore or excludePaths, then retry`,
  );
}
