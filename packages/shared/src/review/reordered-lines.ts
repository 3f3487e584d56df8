/**
 * Letters that are read from the right, in code: a program that lays out `f("א", 1, 2, "ב")` as a sentence shows the arguments
 * in another order than they are in. Surfaces set each run of such letters apart; where that cannot be, a person is warned.
 */
import { showHidden } from '../text/hidden-characters.ts';

/** A part of a text, in one direction. */
export interface DirectedPart {
  readonly text: string;
  readonly isRightToLeft: boolean;
}

/** The blocks of Hebrew, Arabic and the scripts beside them, where Unicode has nothing that is read from the left. */
const RIGHT = '\\u0590-\\u08FF\\uFB1D-\\uFDFF\\uFE70-\\uFEFC\\u{10800}-\\u{10FFF}\\u{1E800}-\\u{1EFFF}';
// oxlint-disable-next-line autonomous/linear-expressions -- one character
const RIGHT_TO_LEFT = new RegExp(`[${RIGHT}]`, 'v');
/** Words with single blanks between them are one run. */
// oxlint-disable-next-line autonomous/linear-expressions -- no character begins both alternatives
const RUN = new RegExp(`(?:[${RIGHT}]| (?=[${RIGHT}]))+`, 'gv');
/** Letters that are read from the left. They end a reordered stretch. */
// oxlint-disable-next-line autonomous/linear-expressions -- one class of characters
const LEFT_LETTERS = new RegExp(`[\\p{L}--[${RIGHT}]]+`, 'v');
/** Behind these marks stands another part of the code, where a sentence would go on. */
const CODE_MARK = /[=<>;{}[\]|&+*]|["'`)\]] {0,9}[,+:]|[,+:(] {0,9}["'`]/;
const SHOWN_CHARACTERS = 80;

/** The text in parts; surfaces isolate those that are read from the right. */
export function splitDirections(text: string): readonly DirectedPart[] {
  if (!RIGHT_TO_LEFT.test(text)) return [{ text, isRightToLeft: false }];
  const parts: DirectedPart[] = [];
  let end = 0;
  for (const { 0: run, index } of text.matchAll(RUN)) {
    // A blank at its beginning belongs to what is before.
    const from = run.startsWith(' ') ? index + 1 : index;
    if (from > end) parts.push({ text: text.slice(end, from), isRightToLeft: false });
    parts.push({ text: text.slice(from, index + run.length), isRightToLeft: true });
    end = index + run.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isRightToLeft: false });
  return parts;
}

/** Lines of code whose marks or figures stand between letters that are read from the right; each once, their beginnings. */
export function reorderedLines(text: string, limit: number = 20): readonly string[] {
  if (!RIGHT_TO_LEFT.test(text)) return [];
  const found = new Set<string>();
  for (const line of text.split('\n')) {
    if (RIGHT_TO_LEFT.test(line) && line.split(LEFT_LETTERS).some(isReordered))
      found.add(showHidden(line.trim().slice(0, SHOWN_CHARACTERS)));
    if (found.size >= limit) break;
  }
  return [...found];
}

/** A stretch without letters that are read from the left. */
function isReordered(stretch: string): boolean {
  const runs = splitDirections(stretch);
  const first = runs.findIndex(({ isRightToLeft }) => isRightToLeft);
  if (first === -1) return false;
  const last = runs.findLastIndex(({ isRightToLeft, text }) => isRightToLeft || /\d/.test(text));
  return (
    last > first && runs.slice(first + 1, last + 1).some((part) => !part.isRightToLeft && CODE_MARK.test(part.text))
  );
}
