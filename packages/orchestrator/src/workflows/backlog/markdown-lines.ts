/**
 * Lines of a Markdown file with their places in it, so that a change of one of them keeps every other byte. Pure; takes linear
 * time in the length of the text, for any text.
 */
import { type Block, blockAt, closes, isAfterItem } from '../parts/markdown-blocks.ts';

export interface MarkdownLine {
  /** Without its line end, and without a byte order mark. */
  readonly text: string;
  /** Offset of its first character in the file. */
  readonly start: number;
  /** Offset behind its last character, before its line end. */
  readonly end: number;
  /** From 1. */
  readonly number: number;
  /** `code`: in a fenced block, its fences included. `comment`: in a comment in HTML. Neither is heading, table or label. */
  readonly kind: 'text' | 'code' | 'comment';
}

export interface MarkdownLines {
  readonly lines: readonly MarkdownLine[];
  /** Fault of a fenced block or a comment that is open at the end; `null`: there is none. */
  readonly unclosed: string | null;
}

export interface Heading {
  /** 1 to 6. */
  readonly level: number;
  /** Without its signs. */
  readonly text: string;
}

export function markdownLines(text: string): MarkdownLines {
  let open: Block | null = null;
  const lines = placesOf(text).map((line): MarkdownLine => {
    if (open !== null && isAfterItem(line.text, open)) open = null;
    const before: Block | null = open;
    open = before ?? blockAt(line.text, line.number);
    if (open === null) return { ...line, kind: 'text' };
    const kind = open.bar === null ? 'comment' : 'code';
    if (before === null ? open.bar === null && line.text.includes('-->') : closes(line.text, open)) open = null;
    return { ...line, kind };
  });
  return { lines, unclosed: open === null ? null : unclosedFault(open) };
}

/**
 * The heading that begins at a line, also one that is underlined; `null` for any other line. A line that begins with bold words
 * is none: it is a label, and the author meant the line below it as a ruler.
 */
export function headingAt(lines: readonly MarkdownLine[], index: number): Heading | null {
  const line = lines[index];
  if (line?.kind !== 'text') return null;
  const [signs] = /^ {0,3}#{1,6}(?=[ \t]|$)/.exec(line.text) ?? [];
  if (signs !== undefined)
    return { level: signs.trim().length, text: withoutClosing(line.text.slice(signs.length).trim()) };
  const next = lines[index + 1];
  const [bar] = next?.kind === 'text' ? (/^ {0,3}(?:=+|-+)(?=[ \t]*$)/.exec(next.text) ?? []) : [];
  if (bar === undefined || !/^ {0,3}(?!\*\*|__)[^\s|>#]/.test(line.text) || isListItem(line.text) || isRuler(line.text))
    return null;
  return { level: bar.trim().startsWith('=') ? 1 : 2, text: line.text.trim() };
}

/** A bulleted or numbered item. */
export function isListItem(text: string): boolean {
  return /^[ \t]{0,20}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/.test(text);
}

/** A line such as `---` between parts of a text. */
export function isRuler(text: string): boolean {
  const signs = text.replaceAll(/[ \t]/g, '');
  const [sign = ''] = signs;
  return signs.length >= 3 && '-*_'.includes(sign) && signs === sign.repeat(signs.length);
}

/** The line end that a file uses: that of its first line, `\n` where it has one line. */
export function lineEnd(text: string): string {
  return /\r\n|\n|\r/.exec(text)?.[0] ?? '\n';
}

/** A replacement of the characters from `start` to before `end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** @param edits that do not overlap; of those at one place, the first comes first */
export function withEdits(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    parts.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  return [...parts, text.slice(at)].join('');
}

/** A value for a message: cut, in quotes, without signs that change the line. */
export function quoted(value: string): string {
  return `'${JSON.stringify(value.slice(0, LONGEST_QUOTE)).slice(1, -1)}'`;
}

const LONGEST_QUOTE = 60;
/** Faults of a file that are named. */
const MOST_FAULTS = 20;

export function firstFaults(faults: readonly string[]): readonly string[] {
  const beyond = faults.length - MOST_FAULTS;
  return beyond > 0 ? [...faults.slice(0, MOST_FAULTS), `… and ${beyond} more.`] : faults;
}

function placesOf(text: string): Omit<MarkdownLine, 'kind'>[] {
  const places: Omit<MarkdownLine, 'kind'>[] = [];
  let start = text.startsWith('\ufeff') ? 1 : 0;
  const add = (end: number): number =>
    places.push({ text: text.slice(start, end), start, end, number: places.length + 1 });
  for (const { 0: ending, index } of text.matchAll(/\r\n|\n|\r/g)) {
    add(index);
    start = index + ending.length;
  }
  add(text.length);
  return places;
}

function unclosedFault({ bar, line }: Block): string {
  return bar === null
    ? `Line ${line}: the comment that begins here has no end, and hides the rest of the file. End it with '-->'.`
    : `Line ${line}: the block of code that begins here has no end, and takes in the rest of the file. End it with a line '${bar.slice(0, 20)}'.`;
}

/** `Title ##` is closed by its hashes. */
function withoutClosing(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === '#') end -= 1;
  if (end === 0) return '';
  return end < text.length && /[ \t]/.test(text[end - 1] ?? '') ? text.slice(0, end).trimEnd() : text;
}
