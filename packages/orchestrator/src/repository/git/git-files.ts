/** Files of the trees of a mirror, read and written without a working tree. */
import { Unprocessable } from '@autonomous/shared';
import { type GitPlace, gitText, runGit } from './git.ts';
import { editTree, readContent, readTexts, type TreeEdit, withoutLarge, writeBlobs } from './git-trees.ts';
import { FILE_MODE, isFileMode, type TreeListing } from './tree-listing.ts';
import { assertFilePath } from '../repository-paths.ts';

/** Largest file that is read as text. */
const MAX_TEXT_BYTES = 10 * 1024 * 1024;

/**
 * One file as UTF-8 text; `null` when there is no such file.
 * @param beginning bytes of a longer file that are read
 * @throws {Unprocessable} without `beginning`, for a file of more than 10 MB
 */
export async function readTextFile(
  place: GitPlace,
  tree: string,
  path: string,
  beginning?: number,
): Promise<string | null> {
  const file = await fileEntry(place, tree, path);
  if (file === null) return null;
  if (beginning !== undefined && file.bytes > beginning) {
    const read = await runGit(place, { args: ['cat-file', 'blob', file.oid], maxOutputBytes: beginning });
    return read.stdout.toString('utf8', 0, beginning);
  }
  if (file.bytes > MAX_TEXT_BYTES)
    throw new Unprocessable(`${path} has ${file.bytes} bytes; files over ${MAX_TEXT_BYTES} bytes are not read as text`);
  return (await readContent(place, file.oid)).toString('utf8');
}

/**
 * One file as it is; `null` when there is no such file.
 * @throws {Unprocessable} for a file of more than `maxBytes`
 */
export async function readFileBytes(
  place: GitPlace,
  tree: string,
  path: string,
  maxBytes: number,
): Promise<Uint8Array | null> {
  const file = await fileEntry(place, tree, path);
  if (file === null) return null;
  if (file.bytes > maxBytes)
    throw new Unprocessable(`${path} has ${file.bytes} bytes; files over ${maxBytes} bytes are not read`);
  return readContent(place, file.oid);
}

/** `null` for what is no regular file. */
async function fileEntry(
  place: GitPlace,
  tree: string,
  path: string,
): Promise<{ readonly oid: string; readonly bytes: number } | null> {
  const line = await gitText(place, {
    args: ['ls-tree', '-z', '-l', '--full-tree', tree, '--', path],
    dependsOn: [tree],
    env: { GIT_LITERAL_PATHSPECS: '1' },
  });
  const [mode = '', , oid = '', size = ''] = line.split('\t', 1)[0]?.split(/ +/) ?? [];
  return isFileMode(mode) ? { oid, bytes: Number(size) } : null;
}

/**
 * Many files as UTF-8 text, by path, in few processes.
 * @param maxBytes files with more are left out, and so are those that would make it more than `maxTotalBytes` together
 */
export async function readTextFiles(
  place: GitPlace,
  listing: TreeListing,
  paths: readonly string[],
  maxBytes?: number,
  maxTotalBytes?: number,
): Promise<ReadonlyMap<string, string>> {
  const files = [...new Set(paths)].sort().flatMap((path) => {
    const entry = listing.get(path);
    return entry !== undefined && isFileMode(entry.mode) ? [entry] : [];
  });
  return readTexts(place, maxBytes === undefined ? files : await withoutLarge(place, files, maxBytes, maxTotalBytes));
}

/** A new tree with these files written (`null` removes one). */
export async function writeTextFiles(
  place: GitPlace,
  tree: string,
  files: Readonly<Record<string, string | Uint8Array | null>>,
): Promise<string> {
  const paths = Object.keys(files).map(assertFilePath);
  const written = paths.filter((path) => files[path] !== null);
  const oids = await writeBlobs(
    place,
    written.map((path) => files[path] ?? ''),
  );
  const oidOf = new Map(written.map((path, index) => [path, oids[index]]));
  const edits = paths.map((path): TreeEdit => ({ path, mode: FILE_MODE, oid: oidOf.get(path) ?? null }));
  return editTree(place, tree, edits);
}

/** A new tree where `paths` are as in `source`: present with their content there, or absent when they are absent there. */
export async function restoreFrom(
  place: GitPlace,
  target: { readonly tree: string; readonly listing: TreeListing },
  source: TreeListing,
  paths: readonly string[],
): Promise<string> {
  const removed = (await target.listing.atOrUnder(paths)).map(({ rawPath, mode }): TreeEdit => ({
    path: rawPath,
    mode,
    oid: null,
  }));
  const restored = (await source.atOrUnder(paths)).map(({ rawPath, mode, oid }): TreeEdit => ({
    path: rawPath,
    mode,
    oid,
  }));
  return editTree(place, target.tree, [...removed, ...restored]);
}
