/** Finds claims of which the passages say hardly a word, and superlatives that stand in none of them. Pure. */
import { wordsOf } from './detail-words.ts';

/** Words of a claim that its passages have at least, as a part of those that say something. */
const SHARED_FROM = 0.25;
/** Claims with fewer such words are not compared. */
const LEAST_WORDS = 3;
/** Letters by which two words are the same: `decide`, `decided` and `decision` are. */
const SAME_LETTERS = 5;

/**
 * Words of a claim that its passages do not say; `null` when nothing speaks against them. All words that say something are named where
 * the passages have hardly one of them, else the superlatives (`oldest`, `only`) of a claim whose passages have no superlative at all.
 * Only texts with English words are compared: a claim may be in another language than its passages.
 */
export function unsaidWords(claim: string, passages: readonly string[]): readonly string[] | null {
  const claimed = lowerWords(claim);
  const quoted = passages.flatMap(lowerWords);
  if (!isEnglish(claimed) || !isEnglish(quoted)) return null;
  const said = new Set(quoted.map(startOf));
  const telling = [...new Set(claimed.filter(tells))];
  const shared = telling.filter((word) => said.has(startOf(word)));
  if (telling.length >= LEAST_WORDS && shared.length < SHARED_FROM * telling.length) return telling;
  const superlatives = claimed.filter(isSuperlative);
  return superlatives.length > 0 && !quoted.some(mayBeSuperlative) ? superlatives : null;
}

/** Words by which a sentence speaks of its sources and not of the world. */
const OF_SOURCES =
  /^(?:account|accord|agree|answer|authors?$|compar|conclu|confir|confli|consis|contra|differ|disagr|disput|docume|eviden|explai|findin|indepe|indica|mentio|neither|nothin|overal|pages?$|paper|positi|questi|record|remain|report|resear|resolv|result|says?$|source|state[ds]?$|stateme|studie|study|suggest|suppor|taken$|text|therefore|togeth|unclea|unknow|view)/u;

/** True for a sentence about the world that has not one word in common with the passages that it names. */
export function isForeignTo(sentence: string, passages: readonly string[]): boolean {
  const words = lowerWords(sentence);
  const quoted = passages.flatMap(lowerWords);
  if (!isEnglish(words) || !isEnglish(quoted)) return false;
  const said = new Set(quoted.map(startOf));
  const own = [...new Set(words.filter((word) => tells(word) && !OF_SOURCES.test(word)))];
  return own.length >= LEAST_WORDS && !own.some((word) => said.has(startOf(word)));
}

function lowerWords(text: string): readonly string[] {
  return wordsOf(text).map((word) => word.text.toLowerCase().replace(/'s?$/, ''));
}

const ENGLISH: ReadonlySet<string> = new Set(
  'a an and are as at by for from has in is it of on that the to was were which with'.split(' '),
);

function isEnglish(words: readonly string[]): boolean {
  return words.some((word) => ENGLISH.has(word));
}

/** Numbers and names count: they are words by which a claim is known to be of its passage. */
function tells(word: string): boolean {
  return /\d/.test(word) || (word.length >= 4 && !COMMON.has(word));
}

const COMMON: ReadonlySet<string> = new Set(
  'about after also among been before being between both could each from have into made many more most much must only other over same should some such than that their them then there these they this those through under used very were what when where which while will with would your'.split(
    ' ',
  ),
);

const startOf = (word: string): string => word.slice(0, SAME_LETTERS);

const NO_SUPERLATIVES =
  /^(?:arrest|behest|breast|chest|conquest|contest|crest|digest|forest|guest|harvest|honest|infest|ingest|interest|invest|jest|manifest|modest|nest|pest|priest|protest|quest|request|rest|suggest|tempest|test|vest|west|wrest|\p{L}*(?:fest|crest|terest|forest))$/u;

function isSuperlative(word: string): boolean {
  return word === 'only' || word === 'sole' || (/^\p{L}{2,}est$/u.test(word) && !NO_SUPERLATIVES.test(word));
}

function mayBeSuperlative(word: string): boolean {
  return (
    isSuperlative(word) ||
    /^(?:most|least|first|last|no|none|nowhere|never|record|top|leading|unique\p{L}*|single|sole|just|alone|unrivalled|unmatched|unsurpassed|ever|all|every|any|than|max\p{L}*|min\p{L}*|peak\p{L}*|recent\p{L}*|new|newly|main\p{L}*|primar\p{L}*)$/u.test(
      word,
    )
  );
}
