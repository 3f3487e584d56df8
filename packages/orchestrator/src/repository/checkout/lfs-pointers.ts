/** Files that a project keeps in Git LFS: git has a small text, the pointer, in the place of each. */
import type { GitPlace } from '../git/git.ts';
import { readBlobs } from '../git/git-outgoing.ts';
import { isFileMode, type TreeListing } from '../git/tree-listing.ts';
import { eachInSlices } from '../../foreign-text/foreign-text-slices.ts';

export interface LfsPointer {
  readonly path: string;
  /** SHA-256 of the content, hexadecimal. */
  readonly oid: string;
  /** Size of the content, bytes. */
  readonly size: number;
}

/** As the specification has it, a pointer is shorter than this. */
const MAX_POINTER_BYTES = 1_024;
const MAX_ATTRIBUTES_BYTES = 1024 * 1024;

/** Pointers among the files of a tree; none where no `.gitattributes` of it names the filter `lfs`. */
export async function lfsPointersOf(place: GitPlace, listing: TreeListing): Promise<readonly LfsPointer[]> {
  const attributes = (await listing.filter(isAttributes)).filter(({ mode }) => isFileMode(mode));
  const texts = await readBlobs(place, [...new Set(attributes.map(({ oid }) => oid))], MAX_ATTRIBUTES_BYTES);
  if (![...texts.values()].some((text) => /\sfilter=lfs(?:\s|$)/m.test(text.toString('latin1')))) return [];
  const files = (await listing.entries()).filter(({ mode }) => isFileMode(mode));
  const small = await readBlobs(place, [...new Set(files.map(({ oid }) => oid))], MAX_POINTER_BYTES);
  const pointers: LfsPointer[] = [];
  await eachInSlices(files, ({ path, oid }) => {
    const pointer = parsePointer(small.get(oid)?.toString('latin1') ?? '');
    if (pointer !== null) pointers.push({ path, ...pointer });
  });
  return pointers;
}

function isAttributes(path: string): boolean {
  return path.endsWith('.gitattributes') && (path === '.gitattributes' || path.endsWith('/.gitattributes'));
}

/** `null` for a text that is no pointer. */
export function parsePointer(text: string): Omit<LfsPointer, 'path'> | null {
  if (!text.startsWith('version https://git-lfs.github.com/spec/v1\n')) return null;
  const oid = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  return oid === undefined || size === undefined ? null : { oid, size: Number(size) };
}
