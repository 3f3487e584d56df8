/** Gives the sentences of a page in which the parts of a quote stand. Pure, and linear in the length of the page. */
import { BEHIND_CLAIM, CLAIMS_HEAD, IN_CELL } from './denials.ts';
import { type NormalisedText, normalised } from './normalised-text.ts';
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
 * a quoted block stands the sentence that introduces it, when it ends with a colon or `that`. A verdict in the same row of a table
 * or in a sentence of its own behind the claim stands before the span as a label.
 */
export function sentencesAround(
  spans: readonly Span[],
  { normalised: text }: NormalisedText,
  blocks: readonly Block[],
): readonly string[] {
  return spans.map(({ start, end }) => {
    let index = blocks.findLastIndex((block) => block.start <= start);
    const from = Math.max(blocks[index]?.start ?? 0, start - REACH);
    const to = Math.min(blocks.find((block) => block.start >= end)?.start ?? text.length, end + REACH);
    const rest = firstSentence(text.slice(end, to));
    const sentence = `${lastSentence(text.slice(from, start + 1)).slice(0, -1)}${text.slice(start, end)}${rest}`;
    const item = blocks[index];
    const behind = end + rest.length;
    if (item?.kind === 'denied' || BEHIND_CLAIM.test(text.slice(behind, behind + 60)))
      return `False: ${text.slice(start, end)}`;
    if (from > (item?.start ?? 0)) return sentence;
    while (blocks[index]?.kind === 'item') index -= 1;
    const intro = text.slice(blocks[index]?.start ?? 0, blocks[index + 1]?.start).trim();
    return item?.kind === 'item' &&
      /(?:[:…]|\b(?:that|dass|daß))$/.test(intro) &&
      sentence.startsWith(text.slice(item.start, start))
      ? `${lastSentence(intro.slice(-REACH))} ${sentence}`
      : sentence;
  });
}

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

/** Stand before a block in the text of a page. No page has them. */
const BREAKS = { block: '\uE000', item: '\uE001', denied: '\uE002' };
const KINDS = ['block', 'item', 'denied'] as const;
const ITEM = /^[ \t]*(?:[-+*•]|\d{1,2}[.)]|>)[ \t]/;

/** The blocks of a page, in order. Those behind a place that normalises otherwise beside them are not told apart. */
export function blocksOf(page: string, { normalised: text }: NormalisedText): readonly Block[] {
  const lines = page.split(/\r?\n/);
  let isAboutClaims = false;
  const marked = lines.map((line, index) => {
    const next = lines[index + 1] ?? '';
    const isRow = /^[ \t]*\|/.test(line);
    isAboutClaims = isRow && (isAboutClaims || (CLAIMS_HEAD.test(line) && /^[ \t]*\|[ :|-]+$/.test(next)));
    const verdictAt = (isAboutClaims ? IN_CELL.exec(line)?.index : undefined) ?? 0;
    const cells = isRow
      ? line.replace(/(?<!\\)\|(?=.)/g, (bar, at: number) => bar + (at < verdictAt ? BREAKS.denied : BREAKS.block))
      : line;
    const isQuoted = /^[ \t]*>/.test(line);
    const begins = ITEM.test(next) || /^[ \t]*(?:#{1,6} |[|>])/.test(next) || /^#{1,6} /.test(line);
    const ends = /^[ \t>]*$/.test(next) || (begins && !(isQuoted && /^[ \t]*>[ \t]?[\p{L}\p{N}]/u.test(next)));
    if (!ends || !/[\p{L}\p{N}]/u.test(line)) return cells;
    const following = lines.slice(index + 1, index + 4).find((each) => each.trim() !== '') ?? '';
    return `${cells} ${ITEM.test(following) ? BREAKS.item : BREAKS.block}`;
  });
  const blocks: Block[] = [];
  let [at, kind]: [number, Block['kind']] = [0, ITEM.test(page) ? 'item' : 'block'];
  for (const piece of normalised(marked.join('\n')).normalised.split(/([\uE000-\uE002])/)) {
    const words = piece.trim();
    const before = KINDS.find((each) => piece === BREAKS[each]);
    if (before !== undefined) kind = before;
    else if (words !== '') {
      const start = text.startsWith(words, at) ? at : at + 1;
      if (!text.startsWith(words, start)) break;
      blocks.push({ start, kind });
      at = start + words.length;
    }
  }
  return blocks;
}
