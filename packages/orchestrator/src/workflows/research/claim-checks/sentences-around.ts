/** Gives the sentences of a page in which the parts of a quote stand. Pure, and linear in the length of the page. */
import {
  BEHIND_CLAIM,
  CLAIM_HEAD,
  CROSSED,
  FALSE_CELL,
  FALSE_SENTENCE,
  isFalseAs,
  LABEL,
  VERDICT_HEAD,
} from './denials.ts';
import { LINE_BREAK, type NormalisedText, normalised } from './normalised-text.ts';
import { SENTENCE_END, type Span } from './passages.ts';

/** A paragraph, heading, list item or table cell of a page. */
interface Block {
  /** Place of its first character in the normalised text. */
  readonly start: number;
  /** `item`: of a list, or quoted in a block. `denied`: in a table, before the verdict that it is not so. */
  readonly kind: keyof typeof BREAKS;
}

/** Characters that are read before a quote, and as many behind it. */
const REACH = 600;

/**
 * The sentence of each span, from the end of the sentence before it to its own end, within its block. Before an item of a list and
 * a quoted block stands the sentence that introduces it, as a label. A verdict in the same row of a table, in a sentence of its own
 * behind the claim, or a cross beside it stands before the span as a label.
 */
export function sentencesAround(
  spans: readonly Span[],
  { normalised: text }: NormalisedText,
  blocks: readonly Block[],
): readonly string[] {
  return spans.map(({ start, end }) => {
    const index = blocks.findLastIndex((block) => block.start <= start);
    const from = Math.max(blocks[index]?.start ?? 0, start - REACH);
    const to = Math.min(blocks.find((block) => block.start >= end)?.start ?? text.length, end + REACH);
    const rest = firstSentence(text.slice(end, to));
    const sentence = `${lastSentence(text.slice(from, start + 1)).slice(0, -1)}${text.slice(start, end)}${rest}`;
    const behind = end + rest.length;
    const isDenied =
      blocks[index]?.kind === 'denied' ||
      [text.slice(from, start), rest].some((beside) => CROSSED.test(beside.trim())) ||
      FALSE_SENTENCE.test(text.slice(behind, to)) ||
      BEHIND_CLAIM.test(text.slice(behind, behind + 60));
    if (isDenied) return `False: ${text.slice(start, end)}`;
    if (blocks[index]?.kind !== 'item' || CORRECTION.test(sentence)) return sentence;
    const last = blocks.findLastIndex(({ kind }, at) => at < index && kind !== 'item');
    const intro = text.slice(blocks[last]?.start ?? 0, blocks[last + 1]?.start).slice(-REACH);
    const label = lastSentence(intro).replace(/(?<![\s.:…-])[\s.:…-]+$/, '');
    const item = sentence.replace(/^\(?(?:\d{1,4}|[a-z])[.)] /, '');
    return /^$|\b(?:that|dass|daß)$/.test(label) ? `${label} ${item}`.trim() : `${label}: ${item}`;
  });
}

/** Begins a sentence of an item that says what is so in place of what its list is about. */
const CORRECTION = /^(?:(?:in )?(?:fact|truth|reality)|actually|tatsächlich|fakt|wahrheit|richtig)\b/i;

// oxlint-disable-next-line autonomous/linear-expressions -- the expression of passages.ts for all places
const SENTENCE_ENDS = new RegExp(SENTENCE_END, 'gu');

function lastSentence(text: string): string {
  const last = [...text.matchAll(SENTENCE_ENDS)].at(-1);
  return last === undefined ? text : text.slice(last.index + last[0].length);
}

function firstSentence(text: string): string {
  const first = SENTENCE_END.exec(text);
  return first === null ? text : text.slice(0, first.index + 1);
}

/** Stand before a block in the text of a page. */
const BREAKS = { block: '\uE000', item: '\uE001', denied: '\uE002' };
const KINDS = ['block', 'item', 'denied'] as const;
const ITEM = /^[ \t]*(?:[-+*•◦▪‣·●○■–—]|\d{1,4}[.)]|\(?[a-z]\)|>)[ \t]/;
const HEADING = /^[ \t]*#{1,6} /;
const WORDS = /[\p{L}\p{N}]/u;

/** The blocks of a page, in order. */
export function blocksOf(page: string, { normalised: text }: NormalisedText): readonly Block[] {
  const lines = page.replace(/[\uE000-\uE002]/g, '').split(LINE_BREAK);
  const marked: string[] = [];
  let heads: readonly string[] | null = null;
  let isListed = false;
  /** The last line with words. A block begins behind its end, because a mark within a line would hide what the line begins with. */
  let last = -1;
  for (const [index, line] of lines.entries()) {
    const [before = '', next = ''] = [lines[index - 1], lines[index + 1]];
    if (!line.includes('|')) heads = null;
    else if (isDelimiting(next) && !isDelimiting(line)) heads = cellsOf(line);
    if (!WORDS.test(line)) {
      marked.push(line);
      continue;
    }
    const isRow = heads !== null || /^[ \t]*\|/.test(line);
    const kinds = heads === null ? [] : kindsOf(cellsOf(line), heads);
    const isBehindBlank = /^[ \t>]*$/.test(before);
    const isItem = ITEM.test(line);
    const isStill = /^[ \t]*>/.test(before) && /^[ \t]*>[ \t]?[\p{L}\p{N}]/u.test(line);
    isListed = isItem || (isListed && !HEADING.test(line) && (!isBehindBlank || /^(?: {2}|\t)/.test(line)));
    if (
      isBehindBlank ||
      isRow ||
      before.includes('|') ||
      [line, before].some((each) => HEADING.test(each)) ||
      (isItem && !isStill)
    ) {
      const kind = kinds[0] ?? (isListed && !isRow ? 'item' : 'block');
      if (last < 0) marked.unshift(BREAKS[kind]);
      else marked[last] += ` ${BREAKS[kind]}`;
    }
    let column = /^[ \t]*\|/.test(line) ? 0 : 1;
    marked.push(isRow ? line.replace(BAR, (bar) => bar + BREAKS[kinds[column++] ?? 'block']) : line);
    last = marked.length - 1;
  }
  return placed(normalised(marked.join('\n')).normalised.split(/([\uE000-\uE002])/), text);
}

const BAR = /(?<!\\)\|/g;

/** True for the line between the head and the rows of a table: `| :--- | ---: |`. */
function isDelimiting(line: string): boolean {
  return /^[ \t|:-]*$/.test(line) && line.includes('|') && line.includes('-');
}

function cellsOf(row: string): readonly string[] {
  return row
    .replace(/^[ \t]*\|/, '')
    .split(BAR)
    .map((cell) => cell.replace(/[*_]/g, '').trim());
}

/** Kinds of the cells of a row. In a table about claims, a verdict is about the claims of its row, or about all that stands before it. */
function kindsOf(cells: readonly string[], heads: readonly string[]): readonly Block['kind'][] {
  const hasClaims = heads.some((head) => CLAIM_HEAD.test(head));
  const isAboutClaims = hasClaims || heads.some((head) => VERDICT_HEAD.test(head));
  const isClaim = (at: number): boolean => CLAIM_HEAD.test(heads[at] ?? '');
  const verdict = cells.findIndex(
    (cell, at) => isAboutClaims && !isClaim(at) && (FALSE_CELL.test(cell) || isFalseAs(heads[at] ?? '', cell)),
  );
  return cells.map((_, at) =>
    LABEL.test((heads[at] ?? '').toLowerCase()) || (verdict >= 0 && (hasClaims ? isClaim(at) : at < verdict))
      ? 'denied'
      : 'block',
  );
}

/** Letters by which a block is found where its marks changed what stands before it. */
const TELLING = 24;
/** Letters before and behind the place where a block is expected. */
const NEAR = 48;

/** The places of marked blocks in the text, by their letters and digits alone: marks change the spaces and signs around them. */
function placed(pieces: readonly string[], text: string): readonly Block[] {
  const places = new Uint32Array(text.length + 1).fill(text.length);
  let letters = '';
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{N}]+/gu)) {
    for (let at = 0; at < word.length; at += 1) places[letters.length + at] = index + at;
    letters += word;
  }
  const blocks: Block[] = [];
  let [at, kind]: [number, Block['kind']] = [0, 'block'];
  for (const piece of pieces) {
    const mark = KINDS.find((each) => piece === BREAKS[each]);
    kind = mark ?? kind;
    const words = mark === undefined ? piece.replace(/[^\p{L}\p{N}]+/gu, '') : '';
    if (words === '') continue;
    const beginning = words.slice(0, TELLING);
    if (!letters.startsWith(beginning, at)) {
      const from = Math.max(0, at - NEAR);
      const found = letters.slice(from, at + NEAR + TELLING).indexOf(beginning);
      if (found >= 0) at = from + found;
    }
    const start = places[at] ?? text.length;
    const signs = /^[^\p{L}\p{N}]*/u.exec(piece.trimStart())?.[0] ?? '';
    blocks.push({ start: text.startsWith(signs, start - signs.length) ? start - signs.length : start, kind });
    at += words.length;
  }
  return blocks;
}
