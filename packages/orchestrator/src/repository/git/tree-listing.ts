/** Listings of git trees: all files, links and submodules with their modes and ids. */
import { eachInSlices, filterInSlices, sortInSlices } from '../../foreign-text/foreign-text-slices.ts';

export interface TreeEntry {
  /** `100644` and `100755` are files, `120000` symlinks, `160000` submodules. */
  readonly mode: string;
  readonly oid: string;
  readonly path: string;
  /** The path as it is stored: bytes where it is not ASCII, since it need not be UTF-8. */
  readonly rawPath: string | Buffer;
}

export const FILE_MODE = '100644';
export const EXECUTABLE_MODE = '100755';
export const SYMLINK_MODE = '120000';
export const SUBMODULE_MODE = '160000';

export function isFileMode(mode: string): boolean {
  return mode === FILE_MODE || mode === EXECUTABLE_MODE;
}

const [NUL, TAB] = [0, 9];

/** In front of the bytes of a path that is not UTF-8. */
const BYTES = '\0';

/**
 * Key of a path: the path itself, or where its bytes are not UTF-8, so that others read the same, these bytes behind a NUL, one character
 * each.
 * @param bytes one character each
 */
export function pathKey(bytes: string): string {
  if (!NOT_ASCII.test(bytes)) return bytes;
  const path = Buffer.from(bytes, 'latin1').toString();
  return path.includes('\uFFFD') ? `${BYTES}${bytes}` : path;
}

/** The path as a file system takes it. */
export function storedPath(key: string): string | Buffer {
  return key.startsWith(BYTES) ? Buffer.from(key.slice(BYTES.length), 'latin1') : key;
}

/**
 * List of everything in a tree that is not itself a tree, in git's order. There may be half a million: the paths alone are held, and
 * an entry is made when it is asked for.
 */
export class TreeListing {
  readonly #bytes: Buffer;
  /** Where each entry begins in the bytes. */
  readonly #starts: number[] = [];
  readonly #paths: string[] = [];
  /** Positions of entries of these modes. */
  readonly #special: Readonly<Record<typeof SYMLINK_MODE | typeof SUBMODULE_MODE, number[]>> = {
    [SYMLINK_MODE]: [],
    [SUBMODULE_MODE]: [],
  };
  /** Positions of the paths that are not UTF-8, and the folders in which they lie, by their keys. */
  readonly #notUtf8 = new Map<string, number>();
  readonly #foldersNotUtf8 = new Set<string>();
  /** Positions of the paths as JavaScript sorts them; `null` where git does as well, as for nearly all trees. */
  #sorted: readonly number[] | null = null;
  #files: Promise<readonly string[]> | null = null;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @param bytes output of `ls-tree -z`: lines of `<mode> <type> <oid>\t<path>` */
  static async of(bytes: Buffer): Promise<TreeListing> {
    const listing = new TreeListing(bytes);
    let isSorted = true;
    await eachInSlices(lines(bytes), ([start, end]) => {
      const before = listing.#paths.at(-1) ?? '';
      isSorted = listing.#add(start, end) >= before && isSorted;
    });
    if (!isSorted) {
      const paths = listing.#paths;
      listing.#sorted = await sortInSlices([...paths.keys()], (a, b) => compare(paths[a] ?? '', paths[b] ?? ''));
    }
    return listing;
  }

  #add(start: number, end: number): string {
    const tab = this.#bytes.indexOf(TAB, start);
    const path = pathIn(this.#bytes, tab + 1, end).toString();
    // The other modes begin with `10` and `04`.
    if (this.#bytes[start + 1] === SECOND_OF_SYMLINK) this.#special[SYMLINK_MODE].push(this.#paths.length);
    else if (this.#bytes[start + 1] === SECOND_OF_SUBMODULE) this.#special[SUBMODULE_MODE].push(this.#paths.length);
    if (path.includes('\uFFFD')) this.#addBytes(this.#bytes.toString('latin1', tab + 1, end));
    this.#starts.push(start);
    this.#paths.push(path);
    return path;
  }

  #addBytes(bytes: string): void {
    this.#notUtf8.set(pathKey(bytes), this.#paths.length);
    for (let at = bytes.lastIndexOf('/'); at > 0; at = bytes.lastIndexOf('/', at - 1)) {
      const folder = pathKey(bytes.slice(0, at));
      if (this.#foldersNotUtf8.has(folder)) break;
      this.#foldersNotUtf8.add(folder);
    }
  }

  get length(): number {
    return this.#paths.length;
  }

  /** In git's order. */
  get paths(): readonly string[] {
    return this.#paths;
  }

  at(index: number): TreeEntry {
    const start = this.#starts[index] ?? 0;
    const tab = this.#bytes.indexOf(TAB, start);
    const [mode = '', , oid = ''] = this.#bytes.toString('latin1', start, tab).split(' ');
    const rawPath = pathIn(this.#bytes, tab + 1, this.#bytes.indexOf(NUL, tab));
    return { mode, oid, path: this.#paths[index] ?? '', rawPath };
  }

  /** See {@link pathKey}. */
  keyAt(index: number): string {
    const path = this.#paths[index] ?? '';
    if (!path.includes('\uFFFD')) return path;
    return pathKey(bytesIn(this.at(index).rawPath));
  }

  /** The entry with this path or key; of several whose bytes read as this path, the last. */
  get(key: string): TreeEntry | undefined {
    const index = this.#find(key);
    return index === undefined ? undefined : this.at(index);
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined;
  }

  hasFolder(key: string): boolean {
    if (key.startsWith(BYTES)) return this.#foldersNotUtf8.has(key);
    return this.#pathAt(this.#rankOf(`${key}/`))?.startsWith(`${key}/`) === true;
  }

  /** The entries whose paths pass, in git's order. */
  async filter(passes: (path: string, index: number) => boolean): Promise<TreeEntry[]> {
    const entries: TreeEntry[] = [];
    await eachInSlices(this.#paths, (path, index) => {
      if (passes(path, index)) entries.push(this.at(index));
    });
    return entries;
  }

  /** The entries with one of these paths, or below it. */
  async atOrUnder(paths: readonly string[]): Promise<TreeEntry[]> {
    const found = new Set<number>();
    const addFrom = (rank: number, isNamed: (path: string) => boolean): void => {
      for (let at = rank; isNamed(this.#pathAt(at) ?? ''); at += 1) found.add(this.#indexAt(at));
    };
    await eachInSlices(paths, (path) => {
      addFrom(this.#rankOf(path), (each) => each === path);
      addFrom(this.#rankOf(`${path}/`), (each) => each.startsWith(`${path}/`));
    });
    const entries: TreeEntry[] = [];
    await eachInSlices(found, (index) => entries.push(this.at(index)));
    return entries;
  }

  entries(): Promise<TreeEntry[]> {
    return this.filter(() => true);
  }

  hasSubmodules(): boolean {
    return this.#special[SUBMODULE_MODE].length > 0;
  }

  /** The entries of this mode, in git's order. */
  async withMode(mode: typeof SYMLINK_MODE | typeof SUBMODULE_MODE): Promise<TreeEntry[]> {
    const entries: TreeEntry[] = [];
    await eachInSlices(this.#special[mode], (index) => entries.push(this.at(index)));
    return entries;
  }

  /** Paths of all but submodules, as JavaScript sorts them. */
  sortedFiles(): Promise<readonly string[]> {
    this.#files ??= this.#sortFiles();
    return this.#files;
  }

  async #sortFiles(): Promise<readonly string[]> {
    if (this.#sorted === null && !this.hasSubmodules()) return this.#paths;
    const left = new Set(this.#special[SUBMODULE_MODE]);
    const files = await filterInSlices(this.#sorted ?? this.#paths.keys(), (index) => !left.has(index));
    const paths: string[] = [];
    await eachInSlices(files, (index) => paths.push(this.#paths[index] ?? ''));
    return paths;
  }

  #find(path: string): number | undefined {
    if (path.startsWith(BYTES)) return this.#notUtf8.get(path);
    let rank = this.#rankOf(path);
    if (this.#pathAt(rank) !== path) return undefined;
    while (this.#pathAt(rank + 1) === path) rank += 1;
    return this.#indexAt(rank);
  }

  /** How many paths JavaScript sorts before this one. */
  #rankOf(path: string): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pathAt(middle) ?? '') < path) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #indexAt(rank: number): number {
    return this.#sorted === null ? rank : (this.#sorted[rank] ?? this.length);
  }

  #pathAt(rank: number): string | undefined {
    return this.#paths[this.#indexAt(rank)];
  }
}

/** Codes of `2` and `6`, the second digits of these modes. */
const [SECOND_OF_SYMLINK, SECOND_OF_SUBMODULE] = [0x32, 0x36];

function* lines(bytes: Buffer): Generator<readonly [start: number, end: number]> {
  let start = 0;
  for (let end = bytes.indexOf(NUL); end >= 0; end = bytes.indexOf(NUL, start)) {
    yield [start, end];
    start = end + 1;
  }
}

function pathIn(bytes: Buffer, start: number, end: number): string | Buffer {
  // One character a byte: nearly all paths are ASCII and need no bytes of their own.
  const told = bytes.toString('latin1', start, end);
  return NOT_ASCII.test(told) ? Buffer.from(told, 'latin1') : told;
}

function bytesIn(path: string | Buffer): string {
  return typeof path === 'string' ? path : path.toString('latin1');
}

const NOT_ASCII = /[\x80-\xff]/;

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
