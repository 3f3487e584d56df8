/** Files that a project keeps in Git LFS: git has a small text, the pointer, in the place of each. */
import type { GitPlace } from '../git/git.ts';
import { readBlobs } from '../git/git-outgoing.ts';
import { isFileMode, type TreeEntry } from '../git/git-trees.ts';

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
export async function lfsPointersOf(place: GitPlace, entries: readonly TreeEntry[]): Promise<readonly LfsPointer[]> {
  const files = entries.filter(({ mode }) => isFileMode(mode));
  const attributes = files
    .filter(({ path }) => path === '.gitattributes' || path.endsWith('/.gitattributes'))
    .map(({ oid }) => oid);
  const texts = await readBlobs(place, [...new Set(attributes)], MAX_ATTRIBUTES_BYTES);
  if (![...texts.values()].some((text) => /\sfilter=lfs(?:\s|$)/m.test(text.toString('latin1')))) return [];
  const small = await readBlobs(place, [...new Set(files.map(({ oid }) => oid))], MAX_POINTER_BYTES);
  return files.flatMap(({ path, oid }) => {
    const pointer = parsePointer(small.get(oid)?.toString('latin1') ?? '');
    return pointer === null ? [] : [{ path, ...pointer }];
  });
}

/** `null` for a text that is no pointer. */
export function parsePointer(text: string): Omit<LfsPointer, 'path'> | null {
  if (!text.startsWith('version https://git-lfs.github.com/spec/v1\n')) return null;
  const oid = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  return oid === undefined || size === undefined ? null : { oid, size: Number(size) };
}
