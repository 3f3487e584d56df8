/** Gives the sentences of a page in which the parts of a quote stand. Pure, and linear in the length of the page. */
import { type NormalisedText, normalised } from './normalised-text.ts';
import { SENTENCE_END, type Span } from './passages.ts';

/** A paragraph, heading, list item or table cell of a page. */
interface Block {
  /** Place of its first character in the normalised text. */
  readonly start: number;
  readonly isItem: boolean;
}

/** Characters that are read before a quote, and as many behind it. */
const REACH = 600;

/**
 * The sentence of each span, from the end of the sentence before it to its own end, within its block. Before an item of a list stands
 * the sentence that introduces the list, when it ends with a colon.
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
    const sentence = `${lastSentence(text.slice(from, start + 1)).slice(0, -1)}${text.slice(start, end)}${firstSentence(text.slice(end, to))}`;
    if (from > (blocks[index]?.start ?? 0)) return sentence;
    const item = blocks[index];
    while (blocks[index]?.isItem === true) index -= 1;
    const intro = text.slice(blocks[index]?.start ?? 0, blocks[index + 1]?.start).trim();
    return item?.isItem === true && /(?:[:…]|that)$/.test(intro) && sentence.startsWith(text.slice(item.start, start))
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

/** Stand for the end of a block in the text of a page, the second one before an item of a list. No page has them. */
const BREAKS = { block: '\uE000', item: '\uE001' };
const ITEM = /^[ \t]*(?:[-+*•]|\d{1,2}[.)])[ \t]/;

/** The blocks of a page, in order. Those behind a place that normalises otherwise beside them are not told apart. */
export function blocksOf(page: string, { normalised: text }: NormalisedText): readonly Block[] {
  const lines = page.split(/\r?\n/);
  const marked = lines.map((line, index) => {
    const next = lines[index + 1] ?? '';
    const cells = /^[ \t]*\|/.test(line) ? line.replace(/(?<!\\)\|(?=.)/g, `|${BREAKS.block}`) : line;
    const ends = next.trim() === '' || ITEM.test(next) || /^[ \t]*(?:#{1,6} |[|>])/.test(next) || /^#{1,6} /.test(line);
    if (!ends || !/[\p{L}\p{N}]/u.test(line)) return cells;
    const following = lines.slice(index + 1, index + 4).find((each) => each.trim() !== '') ?? '';
    return `${cells} ${ITEM.test(following) ? BREAKS.item : BREAKS.block}`;
  });
  const blocks: Block[] = [];
  let [at, isItem] = [0, ITEM.test(page)];
  for (const piece of normalised(marked.join('\n')).normalised.split(/([\uE000\uE001])/)) {
    const words = piece.trim();
    if (piece === BREAKS.block || piece === BREAKS.item) isItem = piece === BREAKS.item;
    else if (words !== '') {
      const start = text.startsWith(words, at) ? at : at + 1;
      if (!text.startsWith(words, start)) break;
      blocks.push({ start, isItem });
      at = start + words.length;
    }
  }
  return blocks;
}
