/**
 * Finds claims that have the words of their passages in other relations: sides that changed places, bounds, quantities and dates of
 * something else. Pure.
 */
import { type CalendarDate, datesIn } from './detail-dates.ts';
import { numbersIn } from './detail-numbers.ts';
import type { Word } from './detail-words.ts';
import type { Opposite } from './opposite.ts';

export interface Texts {
  readonly claim: readonly Word[];
  readonly passages: readonly (readonly Word[])[];
}

const lower = (word: Word | undefined): string => word?.text.toLowerCase() ?? '';
const shown = (words: readonly Word[], from: number, to: number): string =>
  words
    .slice(from, to)
    .map(({ text }) => text)
    .join(' ');

type Bound = 'above' | 'below';

const ABOVE =
  /^(?:(?:more|greater|larger|higher|longer|heavier) than|over|above|at least|exceeds?|exceeding|exceeded|beyond)$/;
const BELOW = /^(?:(?:less|fewer|lower|smaller|shorter|lighter) than|under|below|at most|up to)$/;

/** A number that the claim bounds from below, such as `more than 40`, and the passages from above only, or the other way round. */
export function boundsReversed({ claim, passages }: Texts): Opposite | null {
  const stated = passages.flatMap((words) => boundsIn(words));
  for (const mine of boundsIn(claim)) {
    const same = stated.filter(({ readings }) => readings.some((reading) => mine.readings.includes(reading)));
    const other = same.find(({ bound }) => bound !== null && bound !== mine.bound);
    if (mine.bound === null || other === undefined || same.some(({ bound }) => bound === mine.bound)) continue;
    return { claim: mine.text, passages: other.text };
  }
  return null;
}

function boundsIn(words: readonly Word[]): readonly {
  readonly bound: Bound | null;
  readonly readings: readonly string[];
  readonly text: string;
}[] {
  return numbersIn(words, () => false).map(({ from, to, readings }) => {
    const [two, one] = [`${lower(words[from - 2])} ${lower(words[from - 1])}`, lower(words[from - 1])];
    const found: Bound | null =
      ABOVE.test(two) || ABOVE.test(one) ? 'above' : BELOW.test(two) || BELOW.test(one) ? 'below' : null;
    const isDenied = found !== null && /^(?:not?|never)$/.test(lower(words[from - (two.endsWith(' than') ? 3 : 2)]));
    const bound = isDenied ? (found === 'above' ? 'below' : 'above') : found;
    return { bound, readings, text: shown(words, Math.max(0, from - 2), to) };
  });
}

const EVERY = /^(?:all|every|each|most|both)$/;
const SOME = /^(?:some|few|several|certain|many)$/;

/** Things of which the claim has all or most, and the passages some only. */
export function quantitiesRaised({ claim, passages }: Texts): Opposite | null {
  const some = passages.flatMap((words) => quantified(words, SOME));
  const every = new Set(passages.flatMap((words) => quantified(words, EVERY)).map(({ stem }) => stem));
  for (const { stem, text } of quantified(claim, EVERY)) {
    const other = some.find((each) => each.stem === stem);
    if (other !== undefined && !every.has(stem)) return { claim: text, passages: other.text };
  }
  return null;
}

function quantified(words: readonly Word[], kind: RegExp) {
  return words.flatMap((word, at) => {
    if (!kind.test(lower(word)) || !isJoined(words, at + 1)) return [];
    const behind = /^(?:of)$/.test(lower(words[at + 1])) ? at + 2 : at + 1;
    const thing = /^(?:the|its|their)$/.test(lower(words[behind])) ? behind + 1 : behind;
    return [{ stem: lower(words[thing]).replace(/s$/, ''), text: shown(words, at, thing + 1) }];
  });
}

/** Words that say that something happened, as far as a date behind them tells when. */
const EVENT =
  /^(?:\p{Ll}{2,}ed|began|born|broke|built|came|fell|found|held|left|lost|made|met|rose|sank|sold|took|went|won)$/u;
/** Words between an event and its date. */
const EVENT_REACH = 6;

interface Dated {
  readonly event: string;
  readonly readings: readonly CalendarDate[];
  readonly text: string;
}

/** An event that the claim dates by the date that another event has in the same sentence of a passage. */
export function datesMoved({ claim, passages }: Texts): Opposite | null {
  const sentences = passages.flatMap(sentencesIn).map(datedIn);
  for (const mine of sentencesIn(claim).flatMap(datedIn)) {
    const isSame = (each: Dated): boolean => each.readings.some((one) => mine.readings.some((two) => fits(one, two)));
    if (sentences.flat().some((each) => each.event === mine.event && isSame(each))) continue;
    const withBoth = sentences.find(
      (dated) => dated.some(isSame) && dated.some((each) => each.event === mine.event && !isSame(each)),
    );
    const other = withBoth?.find(({ event }) => event === mine.event);
    if (other !== undefined) return { claim: mine.text, passages: other.text };
  }
  return null;
}

/** Each date of a sentence with the event that stands nearest before it. */
function datedIn(words: readonly Word[]): readonly Dated[] {
  return datesIn(words).flatMap(({ from, to, readings, asNumber }) => {
    if (asNumber === 'perhaps') return [];
    for (let at = from - 1; at >= Math.max(0, from - EVENT_REACH); at -= 1)
      if (EVENT.test(words[at]?.text ?? '')) return [{ event: lower(words[at]), readings, text: shown(words, at, to) }];
    return [];
  });
}

function fits(one: CalendarDate, other: CalendarDate): boolean {
  const agree = (field: keyof CalendarDate): boolean =>
    one[field] === null || other[field] === null || one[field] === other[field];
  return agree('year') && agree('month') && agree('day');
}

const AUXILIARY =
  /^(?:has|have|had|was|were|is|are|be|been|being|did|do|does|may|might|can|could|will|would|also|later|first|then|only)$/;
const PASSIVE = /^(?:was|were|is|are|be|been|being)$/;
const ARTICLE = /^(?:a|an|the|its|their|his|her|by)$/;
/** Verbs whose sides may change places. */
const MUTUAL =
  /^(?:borders?|bordered|equals?|equalled|meets?|met|married|marries|resembles?|resembled|match(?:es|ed)?|overlaps?|adjoins?|accompan(?:y|ies|ied)|neighbou?rs?|relates?|correlates?|versus|vs|like|than)$/;

interface Sides {
  readonly left: string;
  readonly pivot: string;
  readonly right: string;
  readonly isPassive: boolean;
  readonly text: string;
}

/**
 * A verb or comparison of which the claim has the two sides the other way round: `Norway beat Sweden` for `Sweden beat Norway`.
 * @param other `allowed`: a comparison that has its sides the other way round with another word, as `slower` is for `faster`
 */
export function sidesSwapped({ claim, passages }: Texts, other?: 'allowed'): Opposite | null {
  const stated = passages.flatMap(sentencesIn);
  for (const sentence of sentencesIn(claim)) {
    const mine = [...verbSides(sentence), ...comparedSides(sentence)];
    for (const each of mine)
      for (const words of stated) {
        const found = each.pivot.endsWith(' than') ? comparedSides(words) : verbSides(words);
        const swapped = found.find((theirs) =>
          other === undefined ? areSwapped(each, theirs) : areReversedComparisons(each, theirs),
        );
        if (swapped !== undefined && !found.some((theirs) => areEqual(each, theirs)))
          return { claim: each.text, passages: swapped.text };
      }
  }
  return null;
}

function areEqual(one: Sides, other: Sides): boolean {
  return (
    one.pivot === other.pivot &&
    one.left === other.left &&
    one.right === other.right &&
    one.isPassive === other.isPassive
  );
}

function areSwapped(one: Sides, other: Sides): boolean {
  if (one.pivot !== other.pivot) return false;
  const isSameOrder = one.left === other.left && one.right === other.right;
  const isReversed = one.left === other.right && one.right === other.left;
  return one.isPassive === other.isPassive ? isReversed : isSameOrder;
}

function areReversedComparisons(one: Sides, other: Sides): boolean {
  return one.pivot !== other.pivot && one.left === other.right && one.right === other.left;
}

/** Words on both sides of a verb, without anything but articles and auxiliaries between them. */
function verbSides(words: readonly Word[]): readonly Sides[] {
  return words.flatMap((word, at) => {
    const pivot = lower(word);
    if (!isTelling(word) || MUTUAL.test(pivot)) return [];
    let left = at - 1;
    while (isJoined(words, left + 1) && AUXILIARY.test(lower(words[left]))) left -= 1;
    let right = at + 1;
    while (isJoined(words, right) && ARTICLE.test(lower(words[right]))) right += 1;
    if (!isJoined(words, left + 1) || !isJoined(words, right)) return [];
    const [one, two] = [words[left], words[right]];
    if (!isTelling(one) || !isTelling(two) || lower(one) === lower(two)) return [];
    const auxiliaries = words.slice(left + 1, at).map(lower);
    const isPassive =
      auxiliaries.some((each) => PASSIVE.test(each)) && words.slice(at + 1, right).some((each) => lower(each) === 'by');
    const hasBy = words.slice(at + 1, right).some((each) => lower(each) === 'by');
    if (hasBy && !isPassive) return [];
    return [{ left: lower(one), pivot, right: lower(two), isPassive, text: shown(words, left, right + 1) }];
  });
}

/** The sides of `than`: the word behind it, and each word before it, which may be the other one. */
function comparedSides(words: readonly Word[]): readonly Sides[] {
  const places = words.flatMap((word, at) => (lower(word) === 'than' ? [at] : []));
  const [than] = places;
  if (than === undefined || places.length > 1) return [];
  let right = than + 1;
  while (/^(?:a|an|the|those|that|of|in|with)$/.test(lower(words[right]))) right += 1;
  if (!isTelling(words[right])) return [];
  const pivot = `${lower(words[than - 1])} than`;
  return words.slice(0, than - 1).flatMap((word, at) => {
    if (!isTelling(word)) return [];
    return [
      { left: lower(word), pivot, right: lower(words[right]), isPassive: false, text: shown(words, at, right + 1) },
    ];
  });
}

function isJoined(words: readonly Word[], at: number): boolean {
  return words[at] !== undefined && words[at - 1] !== undefined && words[at]?.gap === ' ';
}

function isTelling(word: Word | undefined): boolean {
  return word !== undefined && /^\p{L}{3}/u.test(word.text) && !NOT_TELLING.test(lower(word));
}

const NOT_TELLING =
  /^(?:a|an|the|and|or|but|nor|of|in|on|at|by|for|from|to|with|as|than|that|this|these|those|which|who|whose|where|when|while|has|have|had|was|were|are|been|being|did|does|may|might|can|could|will|would|its|their|his|her|our|not|into|over|under|about|after|before|between|during|more|less|most|least|all|each|some|any|also|very|much|many|few)$/;

function sentencesIn(words: readonly Word[]): readonly (readonly Word[])[] {
  const sentences: Word[][] = [];
  for (const word of words) {
    if (word.startsSentence || sentences.length === 0) sentences.push([]);
    sentences.at(-1)?.push(word);
  }
  return sentences;
}
