/**
 * Says which files of a folder are as a checkout wrote them, without reading them. git's own index beside the folder has the
 * times and sizes of that moment. Code in a sandbox cannot set the time of a file's last change (ctime), so a file with the same
 * one has the same content.
 */
import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

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

interface Known {
  readonly ctimeMs: number;
  readonly mtimeMs: number;
  readonly ino: number;
  readonly size: number;
  readonly oid: string;
  readonly mode: string;
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
  const known = parseEntries(content, written.mtimeMs - TICK_MS);
  return (path, found) => {
    const entry = known.get(path);
    const isSame =
      entry !== undefined &&
      entry.ino === found.ino % 2 ** 32 &&
      entry.size === found.size % 2 ** 32 &&
      sameTime(entry.ctimeMs, found.ctimeMs) &&
      sameTime(entry.mtimeMs, found.mtimeMs);
    return isSame ? entry : null;
  };
}

/** Both were nanoseconds once; a number of milliseconds holds about a quarter of a microsecond. */
function sameTime(a: number, b: number): boolean {
  return Math.abs(a - b) < 0.001;
}

/** @param before entries changed later than this are left out, milliseconds since 1970 */
function parseEntries(content: Buffer, before: number): ReadonlyMap<string, Known> {
  const known = new Map<string, Known>();
  const count = content.readUInt32BE(8);
  let at = 12;
  for (let index = 0; index < count; index += 1) {
    const time = (offset: number): number =>
      content.readUInt32BE(at + offset) * 1_000 + content.readUInt32BE(at + offset + 4) / 1_000_000;
    const end = content.indexOf(0, at + ENTRY_BYTES);
    const ctimeMs = time(0);
    if (ctimeMs > 0 && ctimeMs < before) {
      known.set(content.toString('utf8', at + ENTRY_BYTES, end), {
        ctimeMs,
        mtimeMs: time(8),
        ino: content.readUInt32BE(at + 20),
        mode: content.readUInt32BE(at + 24).toString(8),
        size: content.readUInt32BE(at + 36),
        oid: content.toString('hex', at + 40, at + 60),
      });
    }
    // Entries are padded with one to eight NUL bytes to a multiple of eight.
    at += Math.floor((end - at + 8) / 8) * 8;
  }
  return known;
}
