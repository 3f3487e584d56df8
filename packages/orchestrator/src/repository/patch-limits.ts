/** Divides the size limit of a diff among its files: a large file is cut, and never keeps another from being shown. */
import {
  announcementOf,
  type LineCounts,
  printPatch,
  type RawFile,
  type RawHunk,
} from '@autonomous/shared/presentation';

/** Most of a diff for one file. */
const MAX_FILE_BYTES = 256 * 1024;
/** Least bytes that a line counts for. Otherwise a megabyte of empty lines would be shown as half a million lines. */
const LEAST_LINE_BYTES = 10;
/** Of a hunk that has become shorter, beyond its announcement. */
const ROOM_FOR_HUNK = 20;

export interface LimitedPatch {
  readonly text: string;
  /** Changed lines in `text`. */
  readonly added: number;
  readonly removed: number;
}

/**
 * The part that is shown of each file, by path. Small changes are shown whole; the others share the rest evenly. A file costs
 * no more time than the part of it that is shown.
 * @param maxBytes of all together, where a line counts for 10 bytes at least
 */
export function limitPatches(files: ReadonlyMap<string, RawFile>, maxBytes: number): ReadonlyMap<string, LimitedPatch> {
  const bySize = [...files]
    .map(([path, file]) => ({ path, file, cost: costOf(file) }))
    .toSorted((one, other) => one.cost - other.cost);
  const limited = new Map<string, LimitedPatch>();
  let left = maxBytes;
  for (const [index, { path, file, cost }] of bySize.entries()) {
    const share = Math.min(MAX_FILE_BYTES, Math.floor(left / (bySize.length - index)));
    // A line that is longer than the part that was read leaves an empty hunk.
    const hasEmptyEnd = file.hunks.at(-1)?.text === '';
    if (cost <= share && !hasEmptyEnd) {
      limited.set(path, { text: printPatch(file), ...countLines(file) });
      left -= cost;
    } else {
      const shown = cut(file, share);
      limited.set(path, shown.patch);
      left -= shown.cost;
    }
  }
  return limited;
}

function costOf(file: RawFile): number {
  return file.hunks.reduce((sum, hunk) => sum + costOfHunk(hunk), headerBytes(file));
}

function costOfHunk(hunk: RawHunk): number {
  const { same, added, removed } = hunk.counts;
  const lines = Math.max(Buffer.byteLength(hunk.text), LEAST_LINE_BYTES * (same + added + removed));
  return Buffer.byteLength(announcementOf(hunk)) + lines;
}

function headerBytes(file: RawFile): number {
  return Buffer.byteLength(printPatch({ ...file, hunks: [] }));
}

/** The beginning of a patch, at most `maxBytes`, whose hunks announce as many lines as are left of them. */
function cut(file: RawFile, maxBytes: number): { readonly patch: LimitedPatch; readonly cost: number } {
  let left = maxBytes - headerBytes(file);
  const hunks: RawHunk[] = [];
  for (const hunk of file.hunks) {
    const room = left - Buffer.byteLength(announcementOf(hunk)) - ROOM_FOR_HUNK;
    const beginning = beginningOf(hunk, room);
    if (beginning.hunk.text === '') break;
    hunks.push(beginning.hunk);
    left = room - beginning.cost;
    if (beginning.hunk.text.length < hunk.text.length) break;
  }
  // A header alone says nothing that the list of files does not.
  if (hunks.length === 0) return { patch: { text: '', added: 0, removed: 0 }, cost: 0 };
  const shown = { ...file, hunks };
  return { patch: { text: printPatch(shown), ...countLines(shown) }, cost: maxBytes - left };
}

function beginningOf(hunk: RawHunk, maxBytes: number): { readonly hunk: RawHunk; readonly cost: number } {
  const { text } = hunk;
  const isAscii = Buffer.byteLength(text) === text.length;
  const counts = { same: 0, added: 0, removed: 0 };
  let [cost, end] = [0, 0];
  while (end < text.length) {
    const next = text.indexOf('\n', end) + 1;
    const bytes = isAscii ? next - end : Buffer.byteLength(text.slice(end, next));
    cost += Math.max(LEAST_LINE_BYTES, bytes);
    if (cost > maxBytes) break;
    const mark = MARKS[text.charAt(end)];
    if (mark !== undefined) counts[mark] += 1;
    end = next;
  }
  return { hunk: { ...hunk, text: text.slice(0, end), counts }, cost: Math.min(cost, maxBytes) };
}

const MARKS: Readonly<Record<string, keyof LineCounts>> = { ' ': 'same', '+': 'added', '-': 'removed' };

/** Changed lines. */
export function countLines({ hunks }: RawFile): Pick<LimitedPatch, 'added' | 'removed'> {
  let [added, removed] = [0, 0];
  for (const { counts } of hunks) {
    added += counts.added;
    removed += counts.removed;
  }
  return { added, removed };
}
