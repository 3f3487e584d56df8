/** Finds claims that leave out the reservation with which their passages say it: `may cause`, `no evidence that`. Pure. */
import { type Word, wordsOf } from './detail-words.ts';

/** Finds statements that the passages make with a reservation, and the claim without one. */
export interface Overstated {
  /** As the passages have it, such as `may cause`. */
  readonly passages: string;
}

/**
 * The first words that the passages say with a reservation only, and that the claim says plainly; `null` when none is found. A claim
 * that has a reservation or a negation of its own, of whatever kind, is taken as it is.
 */
export function overstatedIn(claim: string, passages: readonly string[]): Overstated | null {
  const claimed = wordsOf(claim);
  if (claimed.some((_, at) => isReserved(claimed, at))) return null;
  const stems = new Set(claimed.filter(isTelling).map(stemOf));
  const plain = new Set<string>();
  const reserved = new Map<string, string>();
  for (const words of passages.map(wordsOf)) {
    const reservations = reservationsIn(words);
    for (const [at, word] of words.entries()) {
      if (!isTelling(word)) continue;
      const found = reservations.get(at);
      if (found === undefined) plain.add(stemOf(word));
      else if (!reserved.has(stemOf(word))) reserved.set(stemOf(word), found);
    }
  }
  for (const [stem, text] of reserved) if (stems.has(stem) && !plain.has(stem)) return { passages: text };
  return null;
}

const lower = (word: Word | undefined): string => word?.text.toLowerCase() ?? '';

/** Words of a claim that is no plain statement. */
const RESERVED =
  /^(?:may|might|can|could|would|should|possibl[ey]|possibility|perhaps|probabl[ey]|likely|unlikely|presumabl[ey]|potential(?:ly)?|alleg\p{L}*|report(?:s|ed|edly)?|suppos\p{L}*|apparent(?:ly)?|purported(?:ly)?|suggest\p{L}*|seem\p{L}*|appear\p{L}*|hypothe\p{L}*|theor\p{L}*|uncertain\p{L}*|unclear|unknown|unproven|disput\p{L}*|controvers\p{L}*|suspect\p{L}*|believ\p{L}*|belief|think\p{L}*|thought|expect\p{L}*|estimat\p{L}*|predict\p{L}*|forecast\p{L}*|plan(?:s|ned)?|propos\p{L}*|hop(?:e|es|ed|ing)|tend\p{L}*|claim\p{L}*|argu\p{L}*|assert\p{L}*|accus\p{L}*|if|whether|when|unless|provided|not?|never|none|neither|nobody|nothing|without|cannot|hardly|rarely|lack\p{L}*|fail\p{L}*|den(?:y|ies|ied)|myth|hoax|false|wrong|\p{L}+n't|un(?:founded|confirmed|tested)|baseless|debunked|no)$/u;

function isReserved(words: readonly Word[], at: number): boolean {
  const text = words[at]?.text ?? '';
  // The month.
  return text !== 'May' && RESERVED.test(text.toLowerCase());
}

/** A reservation about the word behind it. */
const MODAL = /^(?:may|might|could|possibly|perhaps|probably|presumably|allegedly|reportedly|supposedly|purportedly)$/;
/** Words between a modal and the word that it is about. */
const MODAL_REACH = 3;
/** Reservations about everything that follows in the clause, of one word and of two. */
const OF_CLAUSE = /^(?:whether|failed|fails|denied|denies|hypothesi[sz]e[sd]?|speculate[sd]?)$/;
const OF_CLAUSE_TWO =
  /^(?:no (?:evidence|proof|indication|sign)|(?:not|never) (?:been )?(?:shown|proven|proved|established|demonstrated|confirmed)|rather than|instead of|(?:is|are|was|were|widely|researchers|people|critics|some|many) (?:believed|believe))$/;
/** Words that an opener of a clause reaches. */
const CLAUSE_REACH = 12;
/** A sentence with one of these says that what it is about is not so, or is not known. */
const OF_SENTENCE =
  /^(?:baseless|unfounded|debunked|discredited|unproven|hoax|disputed|unconfirmed|fabricated|retracted)$/;

/** Indexes of words that are said with a reservation, each with the reservation as it is written. */
function reservationsIn(words: readonly Word[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  const add = (at: number, from: number): void => {
    if (!found.has(at)) found.set(at, shownFrom(words, from, at));
  };
  for (const [at, word] of words.entries()) {
    const text = lower(word);
    if (MODAL.test(word.text)) {
      const about = telling(words, at, MODAL_REACH)[0];
      if (about !== undefined) add(about, at);
    }
    const two = `${text} ${lower(words[at + 1])}`;
    const isTwo = OF_CLAUSE_TWO.test(two) || OF_CLAUSE_TWO.test(`${two} ${lower(words[at + 2])}`);
    if (OF_CLAUSE.test(text) || isTwo)
      for (const about of telling(words, at + (isTwo ? 1 : 0), CLAUSE_REACH)) add(about, at);
    if (OF_SENTENCE.test(text)) for (const about of sentenceAt(words, at)) add(about, at);
  }
  return found;
}

/** Telling words behind a place, up to a mark or so many words. */
function telling(words: readonly Word[], at: number, reach: number): readonly number[] {
  const found: number[] = [];
  for (let index = at + 1; index <= at + reach && /^ ?$/.test(words[index]?.gap ?? '.'); index += 1)
    if (isTelling(words[index])) found.push(index);
  return found;
}

function sentenceAt(words: readonly Word[], at: number): readonly number[] {
  let from = at;
  while (from > 0 && words[from]?.startsSentence !== true) from -= 1;
  let to = at + 1;
  while (to < words.length && words[to]?.startsSentence !== true) to += 1;
  return Array.from({ length: to - from }, (_, index) => from + index).filter((index) => isTelling(words[index]));
}

function shownFrom(words: readonly Word[], from: number, at: number): string {
  const [first, last] = [Math.min(from, at), Math.max(from, at)];
  return words
    .slice(first, Math.min(last + 1, first + MOST_SHOWN))
    .map(({ text }) => text)
    .join(' ');
}

const MOST_SHOWN = 8;

const SMALL: ReadonlySet<string> = new Set(
  'about all also and any are been being both but can did does each else even ever for from had has have her him his how into its itself just more most much must not of off one only other our out over own she should some such than that the their them then there these they this those through very was well were what when where which while who whom whose why will with would yet you your'.split(
    ' ',
  ),
);

/** Not names: a claim about somebody has the name in any case. */
function isTelling(word: Word | undefined): boolean {
  return word !== undefined && /^\p{Ll}{3}/u.test(word.text) && !SMALL.has(word.text);
}

function stemOf({ text }: Word): string {
  return text.length < 5 ? text.replace(/s$/, '') : text.replace(/'s?$/, '').replace(/(?:ing|ed|es|s|e)$/, '');
}
