/** Writes a tree into a plain folder: regular files alone, byte by byte, without anything that git would run. */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Conflict } from '@autonomous/shared';
import { type GitPlace, runGit } from './git.ts';
import { isFileMode, listTree, withScratch } from './git-trees.ts';
import { createIgnoreMatcher } from './ignore-matcher.ts';

/**
 * @param folder absolute; empty or absent
 * @returns symlinks and submodules, which are left out
 * @throws {Conflict} when something lies in the folder
 */
export async function checkoutTree(
  place: GitPlace,
  treeish: string,
  folder: string,
  excludePaths: readonly string[],
): Promise<{ readonly leftOut: readonly string[] }> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0)
    throw new Conflict(`The folder ${folder} is not empty; a tree is only written into an empty one`);
  const entries = await listTree(place, treeish);
  const files = entries.filter(({ mode }) => isFileMode(mode));
  await withScratch(place, async (scratch) => {
    const matcher = await createIgnoreMatcher(place, join(scratch, 'excluded'), excludePaths);
    const excluded = await matcher.match(files.map(({ path }) => path));
    const wanted = files.filter(({ path }) => !excluded.has(path));
    const indexFile = join(scratch, 'index');
    await runGit(place, { indexFile, args: ['read-tree', '--end-of-options', treeish] });
    await runGit(place, {
      indexFile,
      workTree: folder,
      args: ['checkout-index', '-z', '--stdin', '--quiet'],
      input: Buffer.concat(wanted.flatMap(({ rawPath }) => [rawPath, Buffer.of(0)])),
    });
  });
  return { leftOut: entries.filter(({ mode }) => !isFileMode(mode)).map(({ path }) => path) };
}
