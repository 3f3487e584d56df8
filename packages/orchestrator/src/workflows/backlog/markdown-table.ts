/** Tables of a Markdown file as GitHub reads them, with the place of each cell. Pure; takes linear time for any text. */
import { isListItem, isRuler, type MarkdownLine } from './markdown-lines.ts';

export interface TableCell {
  /** As it is written, with its padding. */
  readonly raw: string;
  /** Offset of `raw` in the file. */
  readonly start: number;
}

export interface TableRow {
  readonly line: MarkdownLine;
  readonly cells: readonly TableCell[];
}

export interface MarkdownTable {
  readonly header: TableRow;
  readonly alignment: TableRow;
  /** Rows that have as many cells as the header. */
  readonly rows: readonly TableRow[];
  /** Rows that have more or fewer. */
  readonly uneven: readonly TableRow[];
}

export function tablesIn(lines: readonly MarkdownLine[]): readonly MarkdownTable[] {
  const tables: MarkdownTable[] = [];
  for (let index = 0; index + 1 < lines.length; index += 1) {
    const head = headAt(lines, index);
    if (head === null) continue;
    const first = index + 2;
    let end = first;
    while (isRowLine(lines[end])) end += 1;
    const rows = lines.slice(first, end).map((line) => rowOf(line, head.header.cells.length));
    const isEven = (row: TableRow): boolean => row.cells.length === head.header.cells.length;
    tables.push({ ...head, rows: rows.filter(isEven), uneven: rows.filter((row) => !isEven(row)) });
    index = end - 1;
  }
  return tables;
}

/** Words of a cell: without padding, emphasis, marks of code, a link around them, and backslashes that escape. */
export interface CellWords {
  readonly text: string;
  /** Offset of the words in the cell. */
  readonly start: number;
  readonly end: number;
}

/** Signs around a cell's words that are taken off, at most. */
const DEEPEST_SIGNS = 8;

export function wordsOf(raw: string): CellWords {
  let [start, end] = trimmed(raw, 0, raw.length);
  for (let depth = 0; depth < DEEPEST_SIGNS; depth += 1) {
    const inner = innerOf(raw.slice(start, end));
    if (inner === null) break;
    [start, end] = trimmed(raw, start + inner.from, start + inner.to);
  }
  return { text: raw.slice(start, end).replaceAll(/\\([!-/:-@[-`{-~])/g, '$1'), start, end };
}

function trimmed(raw: string, from: number, to: number): [number, number] {
  const text = raw.slice(from, to);
  const start = from + text.length - text.trimStart().length;
  return [start, Math.max(start, from + text.trimEnd().length)];
}

const PAIRS = ['**', '__', '~~', '*', '_', '`'];

function innerOf(text: string): { readonly from: number; readonly to: number } | null {
  const pair = PAIRS.find((signs) => text.length > 2 * signs.length && text.startsWith(signs) && text.endsWith(signs));
  if (pair !== undefined) {
    const inner = { from: pair.length, to: text.length - pair.length };
    return text.slice(inner.from, inner.to).includes(pair) ? null : inner;
  }
  if (text.length > 4 && /^\[\[[^[\]]*\]\]$/.test(text)) return { from: 2, to: text.length - 2 };
  const close = text.startsWith('[') ? text.indexOf(']') : -1;
  if (close < 2) return null;
  const isWhole = close === text.length - 1 || /^(?:\([^()]*\)|\[[^[\]]*\])$/.test(text.slice(close + 1));
  return isWhole && !text.slice(1, close).includes('[') ? { from: 1, to: close } : null;
}

function headAt(lines: readonly MarkdownLine[], index: number): Pick<MarkdownTable, 'header' | 'alignment'> | null {
  const [line, next] = [lines[index], lines[index + 1]];
  if (line?.kind !== 'text' || next?.kind !== 'text' || !line.text.includes('|') || !next.text.includes('-'))
    return null;
  if (/^(?: {4}| {0,3}\t)/.test(line.text) || /^(?: {4}| {0,3}\t)/.test(next.text)) return null;
  const alignment = rowOf(next, null);
  if (!alignment.cells.every(({ raw }) => /^:?-+:?$/.test(raw.trim()))) return null;
  const header = rowOf(line, alignment.cells.length);
  return header.cells.length === alignment.cells.length ? { header, alignment } : null;
}

/** A line without pipes is a row as well, with one cell; an empty line and whatever begins a new part of the text end a table. */
function isRowLine(line: MarkdownLine | undefined): line is MarkdownLine {
  if (line?.kind !== 'text' || line.text.trim() === '' || isRuler(line.text) || isListItem(line.text)) return false;
  return !/^ {0,3}(?:#{1,6}(?:[ \t]|$)|>|<)/.test(line.text);
}

/**
 * A pipe in marks of code divides cells for GitHub, and few people know it: where the row would be uneven by it, it divides none.
 * @param expected number of cells; `null`: not known
 */
function rowOf(line: MarkdownLine, expected: number | null): TableRow {
  const cells = cellsOf(line, pipesIn(line.text, []));
  if (expected === null || cells.length === expected || !line.text.includes('`')) return { line, cells };
  const uncut = cellsOf(line, pipesIn(line.text, codeSpans(line.text)));
  return { line, cells: uncut.length === expected ? uncut : cells };
}

function cellsOf(line: MarkdownLine, pipes: readonly number[]): TableCell[] {
  const [start, end] = trimmed(line.text, 0, line.text.length);
  const isOpened = pipes[0] === start;
  const isClosed = pipes.length > (isOpened ? 1 : 0) && pipes.at(-1) === end - 1;
  const cuts = [isOpened ? [] : [start - 1], pipes, isClosed ? [] : [end]].flat();
  return cuts.slice(1).map((cut, index) => {
    const from = (cuts[index] ?? 0) + 1;
    return { raw: line.text.slice(from, cut), start: line.start + from };
  });
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** @param spans in which pipes divide nothing, in their order */
function pipesIn(text: string, spans: readonly Span[]): number[] {
  const pipes: number[] = [];
  let next = 0;
  for (let at = 0; at < text.length; at += 1) {
    const span = spans[next];
    if (span?.start === at) {
      at = span.end - 1;
      next += 1;
    } else if (isEscape(text, at)) at += 1;
    else if (text[at] === '|') pipes.push(at);
  }
  return pipes;
}

function isEscape(text: string, at: number): boolean {
  return text[at] === '\\' && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? '');
}

/** Code within a line: from a run of backticks to the next run of the same length. */
export function codeSpans(text: string): readonly Span[] {
  const runs = backticksIn(text);
  const closings = new Map<number, number>();
  const closingOf = new Map<number, number>();
  for (const { start, end } of runs.toReversed()) {
    const closing = closings.get(end - start);
    if (closing !== undefined) closingOf.set(start, closing);
    closings.set(end - start, end);
  }
  const spans: Span[] = [];
  let after = 0;
  for (const { start } of runs) {
    const end = closingOf.get(start);
    if (start < after || end === undefined) continue;
    spans.push({ start, end });
    after = end;
  }
  return spans;
}

function backticksIn(text: string): Span[] {
  const runs: Span[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (isEscape(text, at)) at += 1;
    else if (text[at] === '`') {
      const start = at;
      while (text[at + 1] === '`') at += 1;
      runs.push({ start, end: at + 1 });
    }
  }
  return runs;
}
