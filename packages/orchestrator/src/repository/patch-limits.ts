/** Shares the room of a diff among its files: a large one is cut, and never keeps another from being shown. */
import { printPatch, type RawFile, type RawHunk } from '@autonomous/shared';

/** Most of a diff for one file. */
const MAX_FILE_BYTES = 256 * 1024;

export interface LimitedPatch {
  readonly text: string;
  /** Changed lines in `text`. */
  readonly added: number;
  readonly removed: number;
}

/** What is shown of each file, by path. Small changes are shown whole; the others share what is left evenly. */
export function limitPatches(files: ReadonlyMap<string, RawFile>, maxBytes: number): ReadonlyMap<string, LimitedPatch> {
  const whole = [...files].map(([path, file]) => ({ path, file, text: printPatch(file) }));
  const bySize = whole
    .map((each) => ({ ...each, bytes: Buffer.byteLength(each.text) }))
    .toSorted((a, b) => a.bytes - b.bytes);
  const limited = new Map<string, LimitedPatch>();
  let left = maxBytes;
  for (const [index, { path, file, text, bytes }] of bySize.entries()) {
    const share = Math.min(MAX_FILE_BYTES, Math.floor(left / (bySize.length - index)));
    const shown = bytes <= share ? { text, ...countLines(file) } : cut(file, share);
    limited.set(path, shown);
    left -= Buffer.byteLength(shown.text);
  }
  return limited;
}

/** The beginning of a patch, at most `maxBytes`, whose hunks announce what is left of them. */
function cut(file: RawFile, maxBytes: number): LimitedPatch {
  // Room for what announces a hunk that has become shorter.
  let left = maxBytes - Buffer.byteLength(printPatch({ ...file, hunks: [] }));
  const hunks: RawHunk[] = [];
  for (const hunk of file.hunks) {
    left -= Buffer.byteLength(printPatch({ header: [], hunks: [{ ...hunk, lines: [] }] })) + 20;
    const lines: string[] = [];
    for (const line of hunk.lines) {
      left -= Buffer.byteLength(line) + 1;
      if (left < 0) break;
      lines.push(line);
    }
    if (lines.length > 0) hunks.push({ ...hunk, lines });
    if (left < 0) break;
  }
  const shown = { ...file, hunks };
  // A header alone says nothing that the list of files does not.
  return hunks.length === 0 ? { text: '', added: 0, removed: 0 } : { text: printPatch(shown), ...countLines(shown) };
}

/** Changed lines. */
export function countLines({ hunks }: RawFile): Pick<LimitedPatch, 'added' | 'removed'> {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  return {
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
  };
}
