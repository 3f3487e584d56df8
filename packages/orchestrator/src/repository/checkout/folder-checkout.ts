/**
 * Writes a tree into a plain folder: files byte by byte, and links that stay within the tree, without anything that git would
 * run. git's index of what was written stays beside the folder, as `FOLDER.index`.
 */
import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Conflict } from '@autonomous/shared';
import { mapInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { type GitPlace, runGit } from '../git/git.ts';
import { editIndex, withScratch } from '../git/git-trees.ts';
import { SUBMODULE_MODE, SYMLINK_MODE, type TreeEntry, type TreeListing } from '../git/tree-listing.ts';
import { symlinksOf } from '../git/git-outgoing.ts';
import { createIgnoreMatcher } from './ignore-matcher.ts';
import { indexOf, submodulesFileOf } from './known-stats.ts';
import type { LeftOut } from '../repository.ts';
import type { Submodule } from './submodules.ts';
import { linkFaults, MAX_TARGET_BYTES } from '../tree-links.ts';

/**
 * @param folder absolute; empty or absent
 * @param excludePaths gitignore patterns, for paths in submodules too
 * @returns paths that were not written, except excluded ones
 * @throws {Conflict} when something lies in the folder
 */
export async function checkoutTree(
  place: GitPlace,
  tree: string,
  listing: TreeListing,
  folder: string,
  excludePaths: readonly string[],
  submodules: readonly Submodule[] = [],
  lfs: readonly LfsFile[] = [],
): Promise<{ readonly leftOut: readonly LeftOut[] }> {
  return withScratch(place, async (scratch) => {
    const matcher = await createIgnoreMatcher(place, join(scratch, 'excluded'), excludePaths);
    // A pattern for folders means submodules too.
    for (const { path } of submodules) matcher.addFolder(path);
    const excludedOf = (paths: readonly string[]): Promise<ReadonlySet<string>> => matcher.match(paths);
    const { leftOut } = await writeTree({ place, tree, listing, folder, excludedOf }, submodules, lfs);
    return { leftOut };
  });
}

interface WrittenTree {
  readonly place: GitPlace;
  readonly tree: string;
  readonly listing: TreeListing;
  readonly folder: string;
  /** Those of the tree's paths that are not to be written. */
  readonly excludedOf: (paths: readonly string[]) => Promise<ReadonlySet<string>>;
}

async function writeTree(
  { place, tree, listing, folder, excludedOf }: WrittenTree,
  submodules: readonly Submodule[],
  lfs: readonly LfsFile[],
): Promise<{ readonly leftOut: readonly LeftOut[]; readonly excluded: ReadonlySet<string> }> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0)
    throw new Conflict(`The folder ${folder} is not empty; a tree is only written into an empty one`);
  const index = indexOf(folder);
  await Promise.all([index, submodulesFileOf(folder)].map((file) => rm(file, { force: true })));
  const leftOut = [...(await linksLeftOut(place, listing))];
  const placed: PlacedSubmodule[] = [];
  // Submodules are among the paths as well.
  const excluded = await excludedOf([...listing.paths, ...submodules.map(({ path }) => path)]);
  const isLeftOut = new Set(leftOut.map(({ path }) => path));
  const outside = await listing.withMode(SUBMODULE_MODE);
  const named = await listing.filter((path) => excluded.has(path) || isLeftOut.has(path));
  // A file may have a name that reads like that of a link.
  const unwanted = [...outside, ...named.filter(({ path, mode }) => excluded.has(path) || mode === SYMLINK_MODE)];
  // It is renamed on one disk when all is written: a folder beside an index is whole.
  const indexFile = `${index}.new`;
  try {
    await runGit(place, { indexFile, args: ['read-tree', '--end-of-options', tree] });
    const removals = unwanted.map(({ rawPath, mode }) => ({ path: rawPath, mode, oid: null }));
    await editIndex(place, indexFile, removals);
    await runGit(place, {
      indexFile,
      workTree: folder,
      config: [
        ['index.version', '2'],
        ['core.symlinks', 'true'],
      ],
      args: ['checkout-index', '--all', '-u', '--quiet'],
    });
    for (const { path, file } of lfs.filter((each) => !excluded.has(each.path))) {
      const target = join(folder, path);
      const { mode } = await stat(target);
      await rm(target);
      await copyFile(file, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      await chmod(target, mode & 0o777);
    }
    for (const each of submodules.filter(({ path }) => !excluded.has(path))) {
      const inside = join(folder, each.path);
      const inner = await writeTree(
        { ...each, folder: inside, excludedOf: excludedBelow(each.path, excludedOf) },
        [],
        [],
      );
      // The sandbox must not write it, and two files beside a folder of the project would be the project's.
      await Promise.all([indexOf(inside), submodulesFileOf(inside)].map((file) => rm(file, { force: true })));
      for (const one of inner.leftOut) leftOut.push({ ...one, path: `${each.path}/${one.path}` });
      const isMissing = new Set([...inner.leftOut.map(({ path }) => path), ...inner.excluded]);
      const written = (await each.listing.filter((path) => !isMissing.has(path))).filter(
        ({ mode }) => mode !== SUBMODULE_MODE,
      );
      placed.push({ path: each.path, entries: written.map(({ path, mode, oid }) => ({ path, mode, oid })) });
    }
    if (placed.length > 0) await writeFile(submodulesFileOf(folder), JSON.stringify(placed));
    await rename(indexFile, index);
  } finally {
    await rm(indexFile, { force: true });
  }
  return { leftOut, excluded };
}

/** The same question for paths of a submodule. */
function excludedBelow(folder: string, excludedOf: WrittenTree['excludedOf']): WrittenTree['excludedOf'] {
  return async (paths) => {
    const excluded = await excludedOf(await mapInSlices(paths, (path) => `${folder}/${path}`));
    return new Set(await mapInSlices(excluded, (path) => path.slice(folder.length + 1)));
  };
}

/** A submodule as it was written into a folder. */
export interface PlacedSubmodule {
  readonly path: string;
  /** Its files and links; paths begin at the submodule. */
  readonly entries: readonly Pick<TreeEntry, 'path' | 'mode' | 'oid'>[];
}

/** A file of the tree in whose place the content comes that Git LFS has. */
export interface LfsFile {
  readonly path: string;
  /** Absolute file of the server. */
  readonly file: string;
}

/** Links of a tree that are not made, with the reason for each. */
export async function linksLeftOut(place: GitPlace, listing: TreeListing): Promise<readonly LeftOut[]> {
  const faults = await linkFaults(await linksOf(place, listing));
  return [...faults].map(([path, reason]) => ({ path, kind: 'symlink', reason }));
}

/** Targets of all links of a tree by path; that of one with an overlong target is as long as no path may be. */
export async function linksOf(place: GitPlace, listing: TreeListing): Promise<ReadonlyMap<string, string>> {
  const links = await listing.withMode(SYMLINK_MODE);
  if (links.length === 0) return new Map();
  const targets = await symlinksOf(place, listing);
  return new Map(links.map(({ path }) => [path, targets.get(path) ?? 'x'.repeat(MAX_TARGET_BYTES + 1)]));
}
