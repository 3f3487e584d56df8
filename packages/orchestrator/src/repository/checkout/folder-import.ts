/**
 * Takes what an agent left in a folder back into a tree. The folder is hostile: only regular files that were opened without
 * following anything are read, of links only where they lead, git never looks into it, and what is not taken stays as it was in
 * the base tree.
 */
import { createHash } from 'node:crypto';
import { constants, type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readFile, readlink, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { NeedsHuman, NotFound, showHidden } from '@autonomous/shared';
import {
  eachInSlices,
  filterInSlices,
  inSlices,
  mapInSlices,
  Slices,
  sortInSlices,
} from '../../foreign-text/foreign-text-slices.ts';
import type { AllowedPaths } from '../../path-rules/allowed-files.ts';
import type { OwnedPaths } from '../../documents/owned-files.ts';
import { type GitPlace, objectFacts } from '../git/git.ts';
import { diffFiles, editTree, type TreeEdit, withScratch, writeBlobsFrom, writeEach } from '../git/git-trees.ts';
import {
  EXECUTABLE_MODE,
  FILE_MODE,
  isFileMode,
  pathKey,
  storedPath,
  SUBMODULE_MODE,
  SYMLINK_MODE,
  type TreeEntry,
  type TreeListing,
} from '../git/tree-listing.ts';
import { type ByProducts, createByProducts } from './by-products.ts';
import { linksOf, type PlacedSubmodule } from './folder-checkout.ts';
import { createIgnoreMatcher, type IgnoreMatcher, withoutTooWild } from './ignore-matcher.ts';
import { type KnownContent, readKnownStats, submodulesFileOf } from './known-stats.ts';
import type { ImportRequest, ImportResult } from '../repository.ts';
import { type LfsPointer, lfsPointersOf } from './lfs-pointers.ts';
import { collidingPaths, linkNameFault, nameFault } from './portable-names.ts';
import { isDotGit, isOwnPath, onEachFolder, OWN_FOLDER, pathFault } from '../repository-paths.ts';
import { linkFaults } from '../tree-links.ts';

/** Largest file taken: sources are far smaller, and a file is held in memory while it is compared. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** Most entries that the base tree does not have; more are generated output that .gitignore should name. */
export const MAX_NEW_ENTRIES = 50_000;
/** Most bytes of new and changed files together: git keeps each of them for ever. */
export const MAX_CHANGED_BYTES = 500 * 1024 * 1024;
/** Most entries looked at, ignored ones included, beyond those of the base tree: bounds the memory of the walk. */
const MAX_SEEN_ENTRIES = 400_000;
/** Refused paths that are named; the rest is a number. */
const MAX_REFUSED_NAMED = 500;
/** Files compared at the same time: enough to keep the disk busy, and 16 of the largest fit into memory. */
const PARALLEL_FILES = 16;
/** Entries of a folder that are read at once. */
const ENTRIES_A_PART = 250;
/** A larger `.gitignore` is taken as a file and not obeyed. */
const MAX_RULES_BYTES = 1024 * 1024;

/** Reason for a refused change, to be read after the path. */
const ENGINE_OWNED = 'it is engine-owned: the server alone writes it';
const NOT_ALLOWED = 'it is not among the files that this run may change; change only those, or ask for it';

/** The server fetches from the addresses in it, wherever they lead and whatever they tell there. */
const OF_SUBMODULES = 'it names where the submodules are fetched from, and changes of it are not taken';

const CHANGED_IN_LFS = 'the project keeps it in Git LFS, and changes of such files are not taken';

type Refusal = ImportResult['refused'][number];

/** Rules of the run about what its agents may change. */
export interface ImportRules {
  readonly owned: OwnedPaths;
  readonly allowed: AllowedPaths;
}

/**
 * @param listing of the base tree
 * @throws {NeedsHuman} `agent_failed` when the folder holds more than is ever taken; `storage_full`
 */
export async function importFolderTree(
  place: GitPlace,
  request: ImportRequest,
  listing: TreeListing,
  rules: ImportRules,
): Promise<ImportResult> {
  const base = await readBase(place, request, listing);
  return withScratch(place, async (scratch) => {
    const matchers = {
      excluded: await createIgnoreMatcher(place, join(scratch, 'excluded'), request.excludePaths),
      unmade: await createIgnoreMatcher(place, join(scratch, 'unmade'), request.excludePaths),
      ignored: await createIgnoreMatcher(place, join(scratch, 'ignored'), []),
    };
    const root = await resolveRoot(request.folder);
    const byProducts = createByProducts(base.listing.paths, request.asked ?? '');
    const walk = await walkFolder(root, base, { ...matchers, byProducts }, rules.owned);
    await refuseSubmoduleChanges(root, base, walk);
    await refuseMisnamedChanges(root, base, walk);
    const deleted = await findDeletedFiles(base, walk, matchers, rules);
    await refuseCollisions(base, walk, deleted, rules);
    const staged = join(scratch, 'changed');
    await mkdir(staged);
    const known = await readKnownStats(request.folder);
    const placeFault = await faultOfPlace(base, deleted, rules, await foldersUnseen(base, walk, matchers));
    const files = await stageChangedFiles({ place, root, base, walk, staged, placeFault, known });
    const replaced = [...deleted, ...files].map(({ path }) => path);
    const links = await takeChangedLinks(base, walk, replaced, placeFault);
    const changed = [...files, ...(await stageLinks(links, staged))];
    const oids = await writeBlobsFrom(
      place,
      changed.map(({ stagedPath }) => stagedPath),
    );
    const edits: TreeEdit[] = [
      ...changed.map(({ path, mode }, index) => ({ path, mode, oid: oids[index] ?? null })),
      ...deleted.map(({ rawPath, mode }) => ({ path: rawPath, mode, oid: null })),
    ];
    const tree = await editTree(place, base.tree, edits);
    return { tree, files: await diffFiles(place, base.tree, tree), refused: await shorten(walk.refused) };
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
  readonly listing: TreeListing;
  /** Targets of all links by path. */
  readonly links: ReadonlyMap<string, string>;
  /** Paths that no checkout has as they are in the tree: links that are not made, and all submodules. */
  readonly leftOut: ReadonlySet<string>;
  /** Files in whose place the folder may have the content that Git LFS has, by path. */
  readonly lfs: ReadonlyMap<string, LfsPointer>;
  /** Submodules that were written into the folder, by path. */
  readonly submodules: ReadonlyMap<string, PlacedSubmodule>;
}

async function readBase(place: GitPlace, { baseTree, folder }: ImportRequest, listing: TreeListing): Promise<Base> {
  const links = await linksOf(place, listing);
  const placed = await readFile(submodulesFileOf(folder), 'utf8').catch(() => '[]');
  const submodules = JSON.parse(placed) as readonly PlacedSubmodule[];
  const linksLeftOut = await linkFaults(links);
  const submodulesLeftOut = await listing.withMode(SUBMODULE_MODE);
  return {
    tree: baseTree,
    listing,
    links,
    leftOut: new Set([...linksLeftOut.keys(), ...submodulesLeftOut.map(({ path }) => path)]),
    lfs: new Map((await lfsPointersOf(place, listing)).map((each) => [each.path, each])),
    submodules: new Map(submodules.map((each) => [each.path, each])),
  };
}

/** Whether the base has a file, a link, a submodule or a folder at a path. */
function isKnownTo({ listing }: Base, path: string): boolean {
  return listing.has(path) || listing.hasFolder(path);
}

interface Walk {
  /** Paths that look like regular files and are neither ignored nor excluded. */
  candidates: readonly string[];
  /** Where links lead that are neither ignored nor excluded, by their paths. */
  readonly links: Map<string, Buffer>;
  /** Keys of all that was found and is not ignored or excluded, folders that were looked into left out: none of it was deleted. */
  readonly present: Set<string>;
  /** Keys of files and links that the base has under names that no tree may take. */
  readonly misnamed: Set<string>;
  readonly refused: Refusal[];
}

interface Matchers {
  /** For what lies in the folder. */
  readonly excluded: IgnoreMatcher;
  /** For what the base has, as the checkout asked it: here no folder of an agent makes a file a folder. */
  readonly unmade: IgnoreMatcher;
  /** For what lies in the folder and is new. */
  readonly ignored: IgnoreMatcher;
}

interface Found {
  readonly path: string;
  /** See `pathKey`. */
  readonly key: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly what: string;
}

/** Goes down level by level, so that git is asked once a level and no ignored folder is ever opened. */
async function walkFolder(
  root: string,
  base: Base,
  matchers: Matchers & { readonly byProducts: ByProducts },
  owned: OwnedPaths,
): Promise<Walk> {
  const walk: Walk = { candidates: [], links: new Map(), present: new Set(), misnamed: new Set(), refused: [] };
  const counts = { seen: 0, added: 0 };
  const slices = new Slices();
  for (let level = ['']; level.length > 0;) {
    const found: Found[] = [];
    const misnamedFolders: string[] = [];
    for (const folder of level) {
      let hasRules = false;
      try {
        for await (const part of readFolder(root, folder)) {
          counts.seen += part.length;
          if (counts.seen > MAX_SEEN_ENTRIES + base.listing.length)
            throw tooMuch(`more than ${MAX_SEEN_ENTRIES} entries`);
          for (const entry of part) {
            if (isMisnamedFolder(entry, base)) misnamedFolders.push(entry.key);
            else if (refuseName(entry, base, walk)) walk.present.add(entry.key);
            else {
              hasRules ||= entry.kind === 'file' && basename(entry.path) === '.gitignore';
              found.push(entry);
            }
          }
          if (slices.isOver()) await slices.next();
        }
      } catch (error) {
        if (folder === '' || !isUnreadable(error)) throw error;
        walk.present.add(folder);
        refuse(walk, storedPath(folder).toString(), 'the folder cannot be read');
      }
      const rules = hasRules ? await readRules(root, folder) : null;
      if (rules !== null) {
        const { rules: kept, left } = withoutTooWild(rules);
        await matchers.ignored.addRules(folder, kept);
        for (const pattern of left)
          refuse(walk, join(folder, '.gitignore'), `its pattern ${pattern.slice(0, 100)} contains ** too many times`);
      }
    }
    const unignored = await withoutIgnored(found, base, matchers, owned);
    const taken = await withoutByProducts(unignored, found, base, matchers.byProducts);
    level = misnamedFolders;
    const files: string[] = [];
    await eachInSlices(taken, ({ path, kind, what }) => {
      if (!isKnownTo(base, path)) counts.added += 1;
      if (kind === 'folder') level.push(path);
      else if (kind === 'file') files.push(path);
      else if (kind !== 'link') refuse(walk, path, `${what} are not imported, only files and symlinks`);
      if (kind !== 'folder') walk.present.add(path);
    });
    if (counts.added > MAX_NEW_ENTRIES) throw tooMuch(`more than ${MAX_NEW_ENTRIES} new files and folders`);
    walk.candidates = walk.candidates.concat(files);
    const links = (await filterInSlices(taken, ({ kind }) => kind === 'link')).map(({ path }) => path);
    for (const [folder, inside] of Map.groupBy(links, (path) => dirname(path))) {
      const targets = await readTargets(root, folder, inside);
      for (const path of inside) {
        const target = targets.get(path);
        if (target === undefined) refuse(walk, path, 'the symlink cannot be read');
        else walk.links.set(path, target);
      }
    }
  }
  walk.refused.push(...matchers.byProducts.described());
  return walk;
}

/** @param found all of the folders in which they lie */
async function withoutByProducts(
  paths: readonly Found[],
  found: readonly Found[],
  base: Base,
  byProducts: ByProducts,
): Promise<readonly Found[]> {
  const added = await filterInSlices(paths, ({ path }) => !isOwnPath(path) && !isKnownTo(base, path));
  if (added.length === 0) return paths;
  const names = new Map(added.map(({ path }): [string, string[]] => [dirname(path), []]));
  await eachInSlices(found, ({ path }) => names.get(dirname(path))?.push(basename(path)));
  const left = new Set<string>();
  for await (const { path, kind } of inSlices(added)) {
    const beside = names.get(dirname(path)) ?? [];
    const hasBeside = (name: string): boolean =>
      beside.some((each) => (name.startsWith('*') ? each.endsWith(name.slice(1)) : each === name));
    if (await byProducts.isByProduct({ path, isFolder: kind === 'folder', hasBeside })) left.add(path);
  }
  return left.size === 0 ? paths : filterInSlices(paths, ({ path }) => !left.has(path));
}

/** Names the submodules that an agent has changed: the project's commits of them stay as they are. */
async function refuseSubmoduleChanges(root: string, base: Base, walk: Walk): Promise<void> {
  for (const { path, entries } of base.submodules.values()) {
    const missing = new Map(entries.map((entry) => [`${path}/${entry.path}`, entry]));
    let changed = 0;
    let seen = 0;
    for (let level = [path]; level.length > 0;) {
      const below: string[] = [];
      for (const folder of level) {
        for (const { path: inside, kind } of await entriesOf(root, folder)) {
          if (++seen > MAX_SEEN_ENTRIES) throw tooMuch(`more than ${MAX_SEEN_ENTRIES} entries`);
          if (kind === 'folder') {
            if (!base.submodules.has(inside)) below.push(inside);
            continue;
          }
          const before = missing.get(inside);
          missing.delete(inside);
          if (before === undefined || !(await isSame(root, inside, kind, before))) changed += 1;
        }
      }
      level = below;
    }
    changed += missing.size;
    const files = changed === 1 ? 'a file' : `${changed} files`;
    if (changed > 0) refuse(walk, path, `it is a submodule: the change of ${files} in it is not taken`);
  }
}

/** Names the files and links that differ from the base and cannot be taken because of their names. */
async function refuseMisnamedChanges(root: string, base: Base, walk: Walk): Promise<void> {
  if (walk.misnamed.size === 0) return;
  const { listing } = base;
  for (const { path, rawPath, mode, oid } of await listing.filter((_, at) => walk.misnamed.has(listing.keyAt(at)))) {
    const kind = mode === SYMLINK_MODE ? 'link' : 'file';
    if (await isSame(root, typeof rawPath === 'string' ? path : rawPath, kind, { mode, oid })) continue;
    refuse(walk, path, `the project has it, and its change is not taken: ${pathFault(path)}`);
  }
}

/** Everything in a folder; nothing where it cannot be read. */
async function entriesOf(root: string, folder: string): Promise<readonly Found[]> {
  const found: Found[] = [];
  try {
    for await (const part of readFolder(root, folder)) {
      found.push(...part);
      if (found.length > MAX_SEEN_ENTRIES) throw tooMuch(`more than ${MAX_SEEN_ENTRIES} entries`);
    }
  } catch (error) {
    if (!isUnreadable(error)) throw error;
  }
  return found;
}

async function isSame(
  root: string,
  path: string | Buffer,
  kind: Found['kind'],
  before: Pick<TreeEntry, 'mode' | 'oid'>,
): Promise<boolean> {
  if (kind === 'link') {
    const target =
      typeof path === 'string'
        ? ((await readTargets(root, dirname(path), [path])).get(path) ?? null)
        : await readlink(within(root, path), 'buffer').catch(noneReadable);
    return before.mode === SYMLINK_MODE && target !== null && blobId(target) === before.oid;
  }
  const file = kind === 'file' ? await openRegularFile(within(root, path)) : null;
  if (file === null) return false;
  try {
    return file.mode === before.mode && (await blobIdOfFile(file.handle, file.size)) === before.oid;
  } finally {
    await file.handle.close();
  }
}

/** Reads on its own thread in bounded parts: the system calls themselves are quick, and there may be thousands of folders. */
async function* readFolder(root: string, folder: string): AsyncGenerator<readonly Found[]> {
  const absolute = within(root, storedPath(folder));
  // The type was read in the folder above; a symlink that stands here now must not lead the walk elsewhere.
  if (!lstatSync(absolute).isDirectory()) return;
  // Names need not be UTF-8: one character a byte.
  const above = Buffer.from(storedPath(folder)).toString('latin1');
  const entries = opendirSync(absolute, { bufferSize: 256, encoding: 'latin1' });
  try {
    for (let isRead = false; !isRead;) {
      const part: Found[] = [];
      while (part.length < ENTRIES_A_PART) {
        const entry = entries.readSync();
        isRead = entry === null;
        if (entry === null) break;
        part.push(foundAt(pathKey(above === '' ? entry.name : `${above}/${entry.name}`), entry));
      }
      yield part;
    }
  } finally {
    entries.closeSync();
  }
}

function foundAt(key: string, entry: Dirent): Found {
  const at = { key, path: storedPath(key).toString() };
  if (entry.isFile()) return { ...at, kind: 'file', what: 'files' };
  if (entry.isDirectory()) return { ...at, kind: 'folder', what: 'folders' };
  if (entry.isSymbolicLink()) return { ...at, kind: 'link', what: 'symlinks' };
  return { ...at, kind: 'other', what: entry.isFIFO() ? 'pipes' : entry.isSocket() ? 'sockets' : 'devices' };
}

/** Whether the base has files in a folder whose name no tree may take. */
function isMisnamedFolder({ path, key, kind }: Found, { listing }: Base): boolean {
  return kind === 'folder' && pathFault(path) !== null && !isDotGit(basename(path)) && listing.hasFolder(key);
}

/** Refuses what no tree may hold under this name. What the base has already under such a name is looked at later. */
function refuseName({ path, key, kind }: Found, base: Base, walk: Walk): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const before = base.listing.get(key);
  if (isDotGit(name)) refuse(walk, path, 'a git repository inside the folder is not imported');
  else if (kind === 'folder' && base.submodules.has(path)) return true;
  else if (before !== undefined && !isFileMode(before.mode) && base.leftOut.has(path)) {
    // The checkout left it out, so whatever stands here now is new.
    refuse(
      walk,
      path,
      `the project has a ${before.mode === SUBMODULE_MODE ? 'submodule' : 'symlink'} here, which stays as it is`,
    );
  } else {
    const fault = pathFault(path);
    if (fault !== null && before !== undefined) walk.misnamed.add(key);
    else {
      const reason = fault ?? (isKnownTo(base, path) ? null : nameFault(name));
      if (reason === null) return false;
      refuse(walk, path, reason);
    }
  }
  return true;
}

/** As git has it, no rule ignores what the project has already. */
async function withoutIgnored(
  found: readonly Found[],
  base: Base,
  matchers: Matchers,
  owned: OwnedPaths,
): Promise<readonly Found[]> {
  const added = await filterInSlices(found, ({ path }) => !isKnownTo(base, path));
  const isFolder = ({ kind }: Found): boolean => kind === 'folder';
  await eachInSlices(await filterInSlices(found, isFolder), ({ path }) => matchers.excluded.addFolder(path));
  await eachInSlices(await filterInSlices(added, isFolder), ({ path }) => matchers.ignored.addFolder(path));
  const excluded = await matchers.excluded.match(found.map(({ path }) => path));
  const ignored = await matchers.ignored.match(added.map(({ path }) => path));
  if (excluded.size === 0 && ignored.size === 0) return found;
  // Neither the orchestrator's own folder nor an owned file can be hidden by a rule that an agent wrote: what lies there is reported.
  const isShown = ({ path, kind }: Found): boolean =>
    isOwnPath(path) || owned.has(path) || (kind === 'folder' && owned.isAbove(path));
  return filterInSlices(found, (each) => !excluded.has(each.path) && (!ignored.has(each.path) || isShown(each)));
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

interface Staging {
  readonly place: GitPlace;
  readonly root: string;
  readonly base: Base;
  readonly walk: Walk;
  /** Folder of the server for what is taken. */
  readonly staged: string;
  readonly placeFault: PlaceFault;
  readonly known: KnownContent;
}

/** Copies the files that differ from the base out of the folder; what was compared is what is stored. */
async function stageChangedFiles(staging: Staging): Promise<ChangedFile[]> {
  const { place, root, base, walk, staged, placeFault, known } = staging;
  const changed: ChangedFile[] = [];
  const queue: string[] = [];
  await eachInSlices(walk.candidates, (path) => {
    if (!isUnchanged(join(root, path), base.listing.get(path), (found) => known(path, found))) queue.push(path);
  });
  let bytes = 0;
  const compare = async (path: string): Promise<void> => {
    const before = base.listing.get(path);
    const file = await openRegularFile(join(root, path));
    if (file === null) return refuse(walk, path, 'it is not a regular file that can be read');
    try {
      const pointer = base.lfs.get(path);
      if (pointer !== undefined && before?.mode === file.mode && (await hasContentOf(pointer, file))) return;
      const content = file.size > MAX_FILE_BYTES ? null : await file.handle.readFile();
      if (content === null) {
        if (await isSameLargeFile(place, file.handle, file.size, before)) return;
        return refuse(walk, path, `it is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB`);
      }
      if (before?.mode === file.mode && before.oid === blobId(content)) return;
      const fault = pointer === undefined ? placeFault(path) : CHANGED_IN_LFS;
      if (fault !== null) return refuse(walk, path, fault);
      bytes += content.length;
      if (bytes > MAX_CHANGED_BYTES)
        throw tooMuch(`more than ${MAX_CHANGED_BYTES / 1024 / 1024} MB of new and changed files`);
      const stagedPath = join(staged, String(changed.length));
      changed.push({ path, mode: file.mode, stagedPath });
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

/** Whether a file of the base is there as its checkout wrote it, without reading it. */
function isUnchanged(
  file: string,
  before: TreeEntry | undefined,
  known: (found: Stats) => ReturnType<KnownContent>,
): boolean {
  if (before === undefined) return false;
  // A call on another thread takes ten times as long.
  const found = statOf(file);
  const content = found?.isFile() === true ? known(found) : null;
  return content !== null && content.oid === before.oid && content.mode === before.mode;
}

function statOf(file: string): Stats | null {
  try {
    return lstatSync(file);
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}

/** Paths of all folders in which such entries lie. */
async function foldersOf(paths: readonly string[], isSuch: (path: string) => boolean): Promise<ReadonlySet<string>> {
  const folders = new Set<string>();
  await eachInSlices(paths, (path) => {
    if (!isSuch(path)) return;
    for (
      let end = path.lastIndexOf('/');
      end > 0 && !folders.has(path.slice(0, end));
      end = path.lastIndexOf('/', end - 1)
    ) {
      folders.add(path.slice(0, end));
    }
  });
  return folders;
}

/** Folders that hold what the checkout left out, as far as something was found in their places: no agent decides about it. */
async function foldersUnseen(
  { listing, leftOut }: Base,
  walk: Walk,
  { unmade: matcher }: Matchers,
): Promise<ReadonlySet<string>> {
  const replaced = await filterInSlices([...walk.candidates, ...walk.links.keys()], (path) => listing.hasFolder(path));
  if (replaced.length === 0) return new Set();
  const inside = await listing.atOrUnder(replaced);
  const paths = inside.map(({ path }) => path);
  const excluded = await matcher.match(paths);
  const unmade = new Set(
    inside.filter(({ path, mode }) => !isFileMode(mode) && leftOut.has(path)).map(({ path }) => path),
  );
  return foldersOf(paths, (path) => excluded.has(path) || unmade.has(path));
}

/** Why no file or link of an agent is taken at a path; `null` where it may be. */
type PlaceFault = (path: string) => string | null;

/** @param deleted entries of the base that are gone */
async function faultOfPlace(
  { listing }: Base,
  deleted: readonly TreeEntry[],
  { owned, allowed }: ImportRules,
  unseen: ReadonlySet<string>,
): Promise<PlaceFault> {
  const gone = new Set(deleted.map(({ path }) => path));
  /** Whether a file or link of the base that stays is on the way to this path. */
  const isBelowEntry = onEachFolder<boolean>((above, path) => above === true || (listing.has(path) && !gone.has(path)));
  const foldersOfOwned = await foldersOf(listing.paths, (path) => owned.has(path));
  const foldersOfOthers = await foldersOf(listing.paths, (path) => !allowed.has(path));
  const hasSubmodules = listing.hasSubmodules();
  return (path) => {
    if (isOwnPath(path)) return `agents do not write under ${OWN_FOLDER}/`;
    if (owned.has(path)) return ENGINE_OWNED;
    if (hasSubmodules && path === '.gitmodules') return OF_SUBMODULES;
    if (owned.isAbove(path) || foldersOfOwned.has(path)) return 'an engine-owned file needs a folder of this name';
    // A file in the place of a folder would take away what is in there.
    if (!allowed.has(path) || foldersOfOthers.has(path)) return NOT_ALLOWED;
    if (unseen.has(path)) return 'the project has a folder here with what is kept from agents, which stays';
    const folder = dirname(path);
    if (folder !== '.' && isBelowEntry(folder)) return 'the project has a file in the place of its folder, which stays';
    return null;
  };
}

/**
 * Links that differ from the base and stay within the tree as it will be. One that is refused leaves the base's entry in its
 * place, through which others may lead elsewhere, so all are looked at again.
 * @param replaced paths of entries that are gone, and of files that are taken
 */
async function takeChangedLinks(
  base: Base,
  walk: Walk,
  replaced: readonly string[],
  placeFault: PlaceFault,
): Promise<ReadonlyMap<string, Buffer>> {
  const links = new Map(base.links);
  for (const path of replaced) links.delete(path);
  const taken = new Map<string, Buffer>();
  for await (const [path, target] of inSlices(walk.links)) {
    const before = base.listing.get(path);
    if (before?.mode === SYMLINK_MODE && before.oid === blobId(target)) continue;
    const fault = placeFault(path) ?? linkNameFault(path);
    if (fault !== null) {
      refuse(walk, path, fault);
      continue;
    }
    taken.set(path, target);
    links.set(path, target.toString('utf8'));
  }
  for (let isSettled = taken.size === 0; !isSettled;) {
    isSettled = true;
    const faults = await linkFaults(links);
    for (const path of taken.keys()) {
      const fault = faults.get(path);
      if (fault === undefined) continue;
      isSettled = false;
      taken.delete(path);
      refuse(walk, path, `the symlink is not imported: ${fault}`);
      const before = base.links.get(path);
      if (before === undefined) links.delete(path);
      else links.set(path, before);
    }
  }
  return taken;
}

async function stageLinks(links: ReadonlyMap<string, Buffer>, staged: string): Promise<ChangedFile[]> {
  const staging = await mapInSlices(links, ([path, target], index) => {
    const stagedPath = join(staged, `link-${index}`);
    return { file: { path, mode: SYMLINK_MODE, stagedPath }, content: [stagedPath, target] as const };
  });
  await writeEach(staging.map(({ content }) => content));
  return staging.map(({ file }) => file);
}

/**
 * Where links of one folder lead, read without following anything. Paths at which no link can be read are left out.
 * @param paths of the links, with the folder
 */
async function readTargets(root: string, folder: string, paths: readonly string[]): Promise<Map<string, Buffer>> {
  const targets = new Map<string, Buffer>();
  const real = folder === '.' ? root : join(root, folder);
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY).catch(
    noneReadable,
  );
  if (handle === null) return targets;
  try {
    if (!(await isAt(handle, real))) return targets;
    const above = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : real;
    for (const path of paths) {
      const target = await readlink(join(above, basename(path)), 'buffer').catch(noneReadable);
      if (target !== null) targets.set(path, target);
    }
    return targets;
  } finally {
    await handle.close();
  }
}

function noneReadable(error: unknown): null {
  if (isErrno(error, 'EINVAL') || isUnreadable(error)) return null;
  throw error;
}

/**
 * Opens without following a symlink or waiting at a pipe.
 * @param path absolute and real
 * @returns `null` when it is anything but a regular file that can be read and lies at this very path
 */
async function openRegularFile(
  path: string | Buffer,
): Promise<{ readonly handle: FileHandle; readonly size: number; readonly mode: string } | null> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
  const stat = await handle.stat();
  if (stat.isFile() && (await isAt(handle, path)))
    return { handle, size: stat.size, mode: (stat.mode & 0o100) === 0 ? FILE_MODE : EXECUTABLE_MODE };
  await handle.close();
  return null;
}

/** Whether an open file really lies at its path: O_NOFOLLOW says nothing of the folders on the way. */
async function isAt(handle: FileHandle, path: string | Buffer): Promise<boolean> {
  const found =
    process.platform === 'linux'
      ? await readlink(`/proc/self/fd/${handle.fd}`, 'buffer')
      : await realpath(path, 'buffer');
  return found.equals(Buffer.from(path));
}

/** @param path within the folder; bytes where it is no UTF-8 */
function within(root: string, path: string | Buffer): string | Buffer {
  return typeof path === 'string' ? join(root, path) : Buffer.concat([Buffer.from(`${root}/`), path]);
}

function isUnreadable(error: unknown): boolean {
  return isErrno(error, 'ENOENT', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'ENOTDIR', 'ENAMETOOLONG');
}

function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** Large files that the project has always had are compared as a stream; only one of the base's size is read at all. */
async function isSameLargeFile(
  place: GitPlace,
  handle: FileHandle,
  size: number,
  before: TreeEntry | undefined,
): Promise<boolean> {
  if (before === undefined || (await objectFacts(place, [before.oid]))[0]?.bytes !== size) return false;
  return (await blobIdOfFile(handle, size)) === before.oid;
}

async function hasContentOf(
  { oid, size }: LfsPointer,
  file: { readonly handle: FileHandle; readonly size: number },
): Promise<boolean> {
  if (file.size !== size) return false;
  const hash = createHash('sha256');
  // It may grow meanwhile; the last byte belongs to the range.
  const range = { autoClose: false, start: 0, end: Math.max(size - 1, 0) };
  if (size > 0) for await (const chunk of file.handle.createReadStream(range)) hash.update(chunk as Buffer);
  return hash.digest('hex') === oid;
}

async function blobIdOfFile(handle: FileHandle, size: number): Promise<string> {
  if (size === 0) return blobId(Buffer.alloc(0));
  const hash = createHash('sha1').update(`blob ${size}\0`);
  for await (const chunk of handle.createReadStream({ autoClose: false, start: 0, end: size - 1 })) {
    hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}

function blobId(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}

/** Key of a folder from the beginning of the key of what lies in it. */
function folderKey(beginning: string): string {
  return pathKey(Buffer.from(storedPath(beginning)).toString('latin1'));
}

/** Files and links that the checkout wrote and that are gone, unless something stands in their place that was not taken. */
async function findDeletedFiles(
  base: Base,
  walk: Walk,
  matchers: Matchers,
  { owned, allowed }: ImportRules,
): Promise<TreeEntry[]> {
  /** Whether something on the way to this path was found in the folder, and not looked into. */
  const isBelow = onEachFolder<boolean>(
    (above, folder) => above === true || walk.present.has(folder) || walk.present.has(folderKey(folder)),
  );
  const isPresent = (key: string): boolean =>
    walk.present.has(key) || (key.includes('/') && isBelow(key.slice(0, key.lastIndexOf('/'))));
  const { listing } = base;
  const missing = (await listing.filter((_, at) => !isPresent(listing.keyAt(at)))).filter(
    ({ path, mode }) => isFileMode(mode) || (mode === SYMLINK_MODE && !base.leftOut.has(path)),
  );
  const excluded = await matchers.unmade.match(missing.map(({ path }) => path));
  return filterInSlices(missing, ({ path }) => {
    if (excluded.has(path)) return false;
    if (isOwnPath(path)) {
      refuse(walk, path, `agents do not remove anything under ${OWN_FOLDER}/`);
      return false;
    }
    const fault = owned.has(path)
      ? ENGINE_OWNED
      : !allowed.has(path)
        ? NOT_ALLOWED
        : path === '.gitmodules' && listing.hasSubmodules()
          ? OF_SUBMODULES
          : null;
    if (fault !== null) refuse(walk, path, fault);
    return fault === null;
  });
}

/** Refuses new names that some file system takes for another of the result. A name in another case instead of the old one is taken. */
async function refuseCollisions(
  base: Base,
  walk: Walk,
  deleted: readonly TreeEntry[],
  { owned, allowed }: ImportRules,
): Promise<void> {
  const isKnown = (path: string): boolean => isKnownTo(base, path);
  // The orchestrator's own folder, owned files and files that the run may not make are refused in words of their own.
  const found = await filterInSlices(
    [...walk.candidates, ...walk.links.keys()],
    (path) => !isKnown(path) && allowed.has(path),
  );
  const added = found.filter((path) => !isOwnPath(path) && !owned.has(path));
  if (added.length === 0) return;
  const gone = new Set(deleted.map(({ path }) => path));
  const left = await filterInSlices(base.listing.paths, (path) => !gone.has(path));
  const colliding = await collidingPaths([...left, ...found], added, isKnown);
  for (const [path, other] of colliding) {
    refuse(
      walk,
      path,
      `some systems take it for ${showHidden(other)}: the names differ in case or in how letters are stored`,
    );
  }
  for (const path of colliding.keys()) walk.links.delete(path);
  if (colliding.size > 0) walk.candidates = walk.candidates.filter((path) => !colliding.has(path));
}

function refuse(walk: Walk, path: string, reason: string): void {
  walk.refused.push({ path, reason });
}

async function shorten(refused: readonly Refusal[]): Promise<readonly Refusal[]> {
  const sorted = await sortInSlices(refused, (a, b) => (a.path < b.path ? -1 : 1));
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
