/**
 * Says which files of a folder are as a checkout wrote them, without reading them. git's own index beside the folder has the
 * times and sizes of that moment. Code in a sandbox cannot set the time of a file's last change (ctime), so a file with the same
 * one has the same content.
 */
import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { filterInSlices } from '../../foreign-text/foreign-text-slices.ts';

/** The content that a checkout wrote, if the file is unchanged since; `null` for all others. */
export type KnownContent = (path: string, found: Stats) => { readonly oid: string; readonly mode: string } | null;

/** A file changed this shortly before the index was written could have been changed again within the same tick of the clock. */
const TICK_MS = 50;
const ENTRY_BYTES = 62;

/** The index of a checkout, beside its folder and out of reach of the sandbox. */
export function indexOf(folder: string): string {
  return `${folder}.index`;
}

/** List of what the submodules of a checkout have, beside its folder. */
export function submodulesFileOf(folder: string): string {
  return `${folder}.submodules.json`;
}

/**
 * Reads the index of a checkout; where there is none, or of another format, nothing is known.
 * @param folder absolute
 */
export async function readKnownStats(folder: string): Promise<KnownContent> {
  const nothing: KnownContent = () => null;
  const file = indexOf(folder);
  const [content, written] = await Promise.all([readFile(file), stat(file)]).catch(() => [null, null] as const);
  if (content === null || content.toString('latin1', 0, 4) !== 'DIRC' || content.readUInt32BE(4) !== 2) return nothing;
  const entries = await filterInSlices(entriesOf(content), () => true);
  const before = written.mtimeMs - TICK_MS;
  return (path, found) => {
    const at = positionOf(content, entries, Buffer.from(path));
    if (at === null) return null;
    const ctimeMs = timeAt(content, at);
    const isSame =
      ctimeMs > 0 &&
      ctimeMs < before &&
      content.readUInt32BE(at + 20) === found.ino % 2 ** 32 &&
      content.readUInt32BE(at + 36) === found.size % 2 ** 32 &&
      sameTime(ctimeMs, found.ctimeMs) &&
      sameTime(timeAt(content, at + 8), found.mtimeMs);
    if (!isSame) return null;
    return { oid: content.toString('hex', at + 40, at + 60), mode: content.readUInt32BE(at + 24).toString(8) };
  };
}

/** Milliseconds since 1970, from seconds and nanoseconds. */
function timeAt(content: Buffer, at: number): number {
  return content.readUInt32BE(at) * 1_000 + content.readUInt32BE(at + 4) / 1_000_000;
}

/** Both were nanoseconds once; a number of milliseconds holds about a quarter of a microsecond. */
function sameTime(a: number, b: number): boolean {
  return Math.abs(a - b) < 0.001;
}

/** Where the entries begin, which git has sorted by the bytes of their paths. */
function* entriesOf(content: Buffer): Generator<number> {
  let at = 12;
  for (let left = content.readUInt32BE(8); left > 0; left -= 1) {
    yield at;
    // Entries are padded with one to eight NUL bytes to a multiple of eight.
    at += Math.floor((content.indexOf(0, at + ENTRY_BYTES) - at + 8) / 8) * 8;
  }
}

/** Where the entry of a path begins. */
function positionOf(content: Buffer, entries: readonly number[], path: Buffer): number | null {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = entries[middle] ?? 0;
    const order = path.compare(content, at + ENTRY_BYTES, content.indexOf(0, at + ENTRY_BYTES));
    if (order === 0) return at;
    if (order > 0) low = middle + 1;
    else high = middle;
  }
  return null;
}
