/**
 * Finds quotes in the stored texts of pages. No model takes part: a quote stands in a page, or it does not. Pure, and linear in
 * the length of the page.
 */
import { markUnseen } from '../../../web-pages/unseen-marks.ts';
import { type NormalisedText, normalised, SPACELESS } from './normalised-text.ts';

/** A place in `NormalisedText.normalised`. */
export interface Span {
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
}

export type FoundQuote =
  /** One span for each part of the quote, in order. */
  | { readonly stands: true; readonly spans: readonly Span[] }
  | {
      readonly stands: false;
      readonly why: 'too_short' | 'absent';
      /** The quote, or the first part of it that is at fault, as it is written. */
      readonly part: string;
    };

/** A quote has at least so many words and characters, its parts together. A character of a script without spaces counts as a word and two characters. */
export const SHORTEST_QUOTE = { words: 4, characters: 20 };
/** Characters of a quote as it is written. A longer one does not stand in any page. */
export const LONGEST_QUOTE = 5_000;
/** Words of each part of a quote that has several. */
export const SHORTEST_PART_WORDS = 3;
/** Places of a page at which a part is looked for. One that stands at more of them tells none from another. */
export const MOST_PLACES = 500;
/** At most so many characters of the normalised page stand between two parts. */
export const LONGEST_GAP = 600;
/** A quote with more parts than these is a montage; it does not stand in any page. */
export const MOST_PARTS = 8;

/**
 * Where a quote stands in a page. Both are compared in the form that `normalised` gives, case included, and a quote begins and ends
 * where words and numbers do: "possible to treat it" does not stand in "impossible to treat it", nor "5 million" in "1.5 million".
 * Quotation marks around the quote and punctuation at its end are not compared.
 *
 * `…`, `...` and `[…]` within a quote are compared as they are written first. If the quote does not stand in the page so, they
 * separate parts: each part has at least 3 words, stands behind the one before it, and at most 600 characters away. Where a sentence ends
 * between two parts, the second one begins a sentence, and no passage that may be invisible stands between them: the beginning of one sentence and the end of another make a third one.
 * @param page the page's text; prepare it with `normalised` when several quotes are sought in it
 */
export function findQuote(quote: string, page: string | NormalisedText): FoundQuote {
  if (quote.length > LONGEST_QUOTE) return { stands: false, why: 'absent', part: quote };
  const parts = quote
    .split(ELLIPSIS)
    .map((part) => ({ written: part.trim(), compared: comparable(part) }))
    .filter(({ compared }) => compared !== '');
  const whole = (parts.length === 1 ? parts[0]?.compared : undefined) ?? comparable(quote);
  const size = sizeOf(parts.map(({ compared }) => compared).join(' '));
  if (size.words < SHORTEST_QUOTE.words || size.characters < SHORTEST_QUOTE.characters)
    return { stands: false, why: 'too_short', part: quote };
  const text = typeof page === 'string' ? normalised(page).normalised : page.normalised;
  const literal = occurrences(whole, text, 1)[0];
  if (literal !== undefined) return { stands: true, spans: [literal] };
  if (parts.length === 1 || parts.length > MOST_PARTS) return { stands: false, why: 'absent', part: quote };
  return findParts(parts, text);
}

/** True when the quote stands in the page (`findQuote`). */
export function standsIn(quote: string, page: string | NormalisedText): boolean {
  return findQuote(quote, page).stands;
}

/** `[…]`, `(...)`, `…`, `...` and `. . .`. */
const ELLIPSIS = /[[(]? ?(?:…|\.\.\.|\. \. \.) ?[\])]?/u;

function comparable(quote: string): string {
  return normalised(quote)
    .normalised.replace(/^(?:[\s"',;:!?)]|\.(?!\d))+/, '')
    .replace(/(?<![\s"'.,;:!?(])[\s"'.,;:!?(]+$/, '');
}

function sizeOf(text: string): { readonly words: number; readonly characters: number } {
  const spaceless = Array.from(text).filter((character) => SPACELESS.test(character)).length;
  const words = text.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word) && !SPACELESS.test(word)).length;
  return { words: words + spaceless, characters: text.length + spaceless };
}

interface Part {
  readonly written: string;
  readonly compared: string;
}

interface Chain {
  readonly span: Span;
  readonly before: Chain | null;
}

/** Extends every chain of parts that stand in order; of several chains to one place, the nearest part before it continues. */
function findParts(parts: readonly Part[], text: string): FoundQuote {
  let chains: readonly Chain[] | null = null;
  for (const { written, compared } of parts) {
    if (sizeOf(compared).words < SHORTEST_PART_WORDS) return { stands: false, why: 'too_short', part: written };
    const spans = occurrences(compared, text, MOST_PLACES);
    chains = chains === null ? spans.map((span) => ({ span, before: null })) : extended(chains, spans, text);
    if (chains.length === 0) return { stands: false, why: 'absent', part: written };
  }
  return { stands: true, spans: spansOf(chains?.[0] ?? null) };
}

function extended(chains: readonly Chain[], spans: readonly Span[], text: string): readonly Chain[] {
  let next = 0;
  return spans.flatMap((span) => {
    while (chains[next] !== undefined && (chains[next]?.span.end ?? 0) <= span.start) next += 1;
    const before = chains[next - 1];
    const isNear = before !== undefined && span.start - before.span.end <= LONGEST_GAP;
    return isNear && !isDivided(text.slice(before.span.end, span.start)) ? [{ span, before }] : [];
  });
}

/** The end of a sentence, with what closes it. The point of an abbreviation or an initial ends none. */
export const SENTENCE_END =
  /(?:[!?]|(?<!(?:^|[ .(])(?:\p{Lu}|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Nn]o|vs|cf|al|fig|approx|ca|Jr|Sr|e\.g|i\.e))\.)["')]* ["'(]*(?=[\p{Lu}\d])/u;

/** True where a sentence ends, or a passage that may be invisible stands, between two parts. */
function isDivided(between: string): boolean {
  return between.includes(markUnseen('')) || joinsSentences(between);
}

/** True when a sentence ends between two parts and the second one begins within another. */
function joinsSentences(between: string): boolean {
  // What follows the gap is not in it: a sentence that ends with the gap itself is one that the second part begins.
  return SENTENCE_END.test(between) && !/[.!?]["')]* ["'(]*$/.test(between);
}

function spansOf(last: Chain | null): readonly Span[] {
  const spans: Span[] = [];
  for (let chain = last; chain !== null; chain = chain.before) spans.unshift(chain.span);
  return spans;
}

/**
 * The first places at which `part` stands as whole words, in order; they may overlap. Knuth, Morris and Pratt's search, because the
 * built-in one takes the product of both lengths on texts made for that.
 */
function occurrences(part: string, text: string, most: number): readonly Span[] {
  if (part === '') return [];
  const borders = bordersOf(part);
  const first = part.charAt(0);
  const found: Span[] = [];
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (matched === 0) at = text.indexOf(first, at);
    if (at < 0) break;
    const code = text.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (part.charCodeAt(matched) === code) matched += 1;
    if (matched < part.length) continue;
    const span = { start: at + 1 - part.length, end: at + 1 };
    if (beginsWhole(text, span.start) && endsWhole(text, span.end)) found.push(span);
    if (found.length === most) break;
    matched = borders[matched - 1] ?? 0;
  }
  return found;
}

/** For each beginning of `part`, the length of the longest shorter beginning that it also ends with. */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  for (let at = 1, length = 0; at < part.length; at += 1) {
    while (length > 0 && part.charCodeAt(at) !== part.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (part.charCodeAt(at) === part.charCodeAt(length)) length += 1;
    borders[at] = length;
  }
  return borders;
}

const IN_WORD = /[\p{L}\p{N}\p{M}]/u;

/** False where `start` lies within a word, or within a number with its sign, separators and exponent. */
function beginsWhole(text: string, start: number): boolean {
  const first = characterAt(text, start);
  const before = characterBefore(text, start);
  if (/\d/.test(first) && /(?:\d[.,:]|[-/^])$/.test(text.slice(Math.max(0, start - 2), start))) return false;
  return !isOneWord(before, first);
}

function endsWhole(text: string, end: number): boolean {
  const last = characterBefore(text, end);
  if (/\d/.test(last) && /^[-.,:/^]\d/.test(text.slice(end, end + 2))) return false;
  return !isOneWord(last, characterAt(text, end));
}

function isOneWord(left: string, right: string): boolean {
  return IN_WORD.test(left) && IN_WORD.test(right) && !SPACELESS.test(left) && !SPACELESS.test(right);
}

function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}

function characterBefore(text: string, at: number): string {
  const pair = text.slice(Math.max(0, at - 2), at);
  return pair.length === 2 && (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1);
}
