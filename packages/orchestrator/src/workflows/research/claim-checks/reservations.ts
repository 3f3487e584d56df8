/** Finds claims that leave out the reservation with which their passages say it: `may cause`, `no evidence that`. Pure. */
import {
  CLAIM_NOUN,
  DENIAL,
  LABEL,
  NEGATION,
  OF_BEFORE,
  OF_CLAIM,
  OF_CLAUSE,
  OF_SENTENCE,
  OF_STATEMENT,
  OF_SUBJECT,
} from './denials.ts';
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
  /^(?:may|might|can|could|would|should|possibl[ey]|possibility|perhaps|probabl[ey]|likely|unlikely|presumabl[ey]|potential(?:ly)?|alleg\p{L}*|report(?:s|ed|edly)?|suppos\p{L}*|apparent(?:ly)?|purported(?:ly)?|suggest\p{L}*|seem\p{L}*|appear\p{L}*|hypothe\p{L}*|theor\p{L}*|uncertain\p{L}*|unclear|unknown|controvers\p{L}*|suspect\p{L}*|believ\p{L}*|belief|think\p{L}*|thought|expect\p{L}*|estimat\p{L}*|predict\p{L}*|forecast\p{L}*|plan(?:s|ned)?|propos\p{L}*|hop(?:e|es|ed|ing)|tend\p{L}*|claim\p{L}*|argu\p{L}*|assert\p{L}*|accus\p{L}*|if|whether|when|unless|provided|rather|instead|rarely|lack|untested|err(?:s|ed|ors?)?)$/u;

function isReserved(words: readonly Word[], at: number): boolean {
  const text = words[at]?.text ?? '';
  // The month.
  return text !== 'May' && [RESERVED, NEGATION, DENIAL].some((list) => list.test(text.toLowerCase()));
}

/** A reservation about the word behind it. */
const MODAL =
  /^(?:may|might|could|possibly|perhaps|probably|presumably|[Aa]llegedly|[Rr]eportedly|[Ss]upposedly|[Pp]urportedly|[Aa]ngeblich|[Vv]ermeintlich|möglicherweise)$/;
/** Words between a modal and the word that it is about. */
const MODAL_REACH = 3;
/** Words that an opener of a clause reaches. */
const CLAUSE_REACH = 12;
/** Words of the longest opener. */
const OPENER_WORDS = 8;
/** Words of a sentence that are looked at on each side of a place. */
const SENTENCE_WORDS = 120;
/** Words between an opener and the `that` behind an insertion: `denied, in an interview, that`. */
const INSERTED_WORDS = 12;

/** Indexes of words that are said with a reservation, each with the reservation as it is written. */
function reservationsIn(words: readonly Word[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  const add = (at: number, from: number): void => {
    if (!found.has(at)) found.set(at, shownFrom(words, from, at));
  };
  for (const [at, word] of words.entries()) {
    const text = lower(word);
    if (MODAL.test(word.text)) {
      // `Allegedly, …`
      const all = word.startsSentence
        ? telling(words, at, CLAUSE_REACH, word.after.startsWith(','))
        : telling(words, at, MODAL_REACH).slice(0, 1);
      for (const about of all) add(about, at);
    }
    const phrase = phraseAt(words, at);
    const opener = isDeniedItself(words, at) ? null : OF_CLAUSE.exec(phrase)?.[0];
    if (opener) for (const about of clauseBehind(words, at, opener.split(' ').length)) add(about, at);
    if (OF_SENTENCE.test(text)) for (const about of sentenceAt(words, at)) add(about, at);
    for (const about of behindLabel(words, at)) add(about, at);
    const isBehind = /[,;]/.test(word.gap) && OF_BEFORE.test(phrase);
    const verdict = isBehind ? phrase : OF_CLAIM.exec(phrase)?.[0];
    if (verdict !== undefined && (isBehind || isOfClaim(words, at)))
      for (const about of sentenceAt(words, at - 1).filter((index) => index < at))
        add(about, at + verdict.split(' ').length - 1);
    // German puts it at the end.
    if (/^(?:nicht|nie)$/.test(text) && /^(?:[.!?]|$)/.test(word.after))
      for (let index = at; isJoined(words[index]); index -= 1) if (isTelling(words[index - 1])) add(index - 1, at);
    if (OF_SUBJECT.test(phrase) || OF_STATEMENT.test(phrase))
      for (const about of subjectBefore(words, at, OF_STATEMENT.test(phrase))) add(about, at);
  }
  return found;
}

/** The words from a place to the next mark, in lower case. A comma before `that` does not count. */
function phraseAt(words: readonly Word[], at: number): string {
  let end = at + 1;
  while (end < at + OPENER_WORDS && (isJoined(words[end]) || isInserted(words, end))) end += 1;
  return words.slice(at, end).map(lower).join(' ');
}

const isJoined = (word: Word | undefined): boolean => /^ ?$/.test(word?.gap ?? '.');

/** `, that` behind an insertion, and `that:` or `the following:` before a list. */
function isInserted(words: readonly Word[], at: number): boolean {
  const word = words[at];
  return (
    (THAT.test(lower(word)) && word?.gap.startsWith(',') === true) ||
    (/^(?:that|following)$/.test(lower(word)) && word?.after.startsWith(':') === true)
  );
}

const THAT = /^(?:that|whether|dass|daß)$/;

// oxlint-disable-next-line autonomous/linear-expressions -- two lists of words
const NOT = new RegExp(`${NEGATION.source}|^(?:kein\\p{L}*|nicht|nie|niemand)$`, 'u');

/** True for `no doubt that` and `nobody denies that`. */
function isDeniedItself(words: readonly Word[], at: number): boolean {
  const denies = DENIAL.test(lower(words[at])) || /^(?:bezweif|widerleg)/.test(lower(words[at]));
  return denies && [at - 1, at - 2, at - 3].some((before) => NOT.test(lower(words[before])));
}

/** Words behind a label such as `Myth 3:`, up to the end of the sentence. */
function behindLabel(words: readonly Word[], at: number): readonly number[] {
  if (words[at]?.startsSentence !== true) return [];
  let end = at;
  while (
    end < at + OPENER_WORDS &&
    words[end]?.after.includes(':') === false &&
    words[end + 1]?.startsSentence === false
  )
    end += 1;
  const isLabel = words[end]?.after.includes(':') === true;
  if (
    !isLabel ||
    !LABEL.test(
      words
        .slice(at, end + 1)
        .map(lower)
        .join(' '),
    )
  )
    return [];
  let to = end + 2;
  while (words[to]?.startsSentence === false) to += 1;
  return Array.from({ length: to - end - 1 }, (_, index) => end + 1 + index).filter((index) => isTelling(words[index]));
}

/** True behind `the claim that …` and behind a sentence that begins with `that`: the predicate is one of the claim. */
function isOfClaim(words: readonly Word[], at: number): boolean {
  const from = clauseStart(words, at);
  const that = words.slice(from, at - 2).findIndex((word) => THAT.test(lower(word)));
  return that === 0 || (that > 0 && CLAIM_NOUN.test(lower(words[from + that - 1])));
}

function clauseBehind(words: readonly Word[], at: number, length: number): readonly number[] {
  const end = at + length - 1;
  if (/^(?:rather|instead|ruled)$/.test(lower(words[at])) && !THAT.test(lower(words[end])))
    return telling(words, end, MODAL_REACH);
  let that = end;
  while (that < end + INSERTED_WORDS && !isInserted(words, that) && words[that + 1]?.startsSentence === false)
    that += 1;
  const behind = isInserted(words, that) ? telling(words, that, CLAUSE_REACH, true) : [];
  const isPastMark = THAT.test(lower(words[end])) || words[end]?.after.startsWith(':') === true;
  return [...telling(words, end, CLAUSE_REACH, isPastMark), ...behind];
}

/** Telling words behind a place, up to a mark or so many words. */
function telling(words: readonly Word[], at: number, reach: number, isPastMark = false): readonly number[] {
  const found: number[] = [];
  for (let index = at + 1; index <= at + reach; index += 1) {
    if (!isJoined(words[index]) && !(isPastMark && index === at + 1)) break;
    if (isTelling(words[index])) found.push(index);
  }
  return found;
}

function sentenceAt(words: readonly Word[], at: number): readonly number[] {
  const from = clauseStart(words, at);
  let to = at + 1;
  while (to < Math.min(words.length, at + SENTENCE_WORDS) && !startsClause(words[to])) to += 1;
  return Array.from({ length: to - from }, (_, index) => from + index).filter((index) => isTelling(words[index]));
}

/** Words of the clause before a place; none of a clause without `that`, when it needs one. */
function subjectBefore(words: readonly Word[], at: number, needsThat: boolean): readonly number[] {
  const hasThat = words.slice(clauseStart(words, at), at).some((word) => THAT.test(lower(word)));
  return hasThat || !needsThat ? sentenceAt(words, at).filter((index) => index < at) : [];
}

function clauseStart(words: readonly Word[], at: number): number {
  let from = at;
  while (from > Math.max(0, at - SENTENCE_WORDS) && !startsClause(words[from])) from -= 1;
  return from;
}

function startsClause(word: Word | undefined): boolean {
  const isNext = word?.gap.startsWith(',') === true && /^(?:and|but|yet|so|while|whereas|al?though)$/.test(lower(word));
  return word?.startsSentence === true || isNext || word?.gap.includes(';') === true;
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
