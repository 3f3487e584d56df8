/** Finds claims that say the opposite of the passages that are quoted for them. Pure, and linear in the length of both. */
import { DENIAL, NEGATION } from './denials.ts';
import { boundsReversed, datesMoved, quantitiesRaised, sidesSwapped } from './statement-order.ts';
import { type Word, wordsOf } from './detail-words.ts';
import type { Opposite } from './opposite.ts';

/**
 * The first words in which a claim says the opposite of its passages; `null` when none is found. A claim says the opposite where
 *
 * - it asserts a word that the passages have only behind a negation (`a crack`, `no crack`);
 * - it has a negation, and nothing in the passages denies anything;
 * - it has one word of a pair such as `rose` and `fell`, and the passages have only the other one;
 * - it bounds a number from the other side (`more than 40`, `fewer than 40`), or has all of what the passages have some (`all adults`);
 * - it has the two sides of a verb or of `than` the other way round;
 * - it dates an event by the date of another one in the same sentence.
 *
 * It is cautious: a contradiction that takes other words is not found.
 */
export function oppositeOf(claim: string, passages: readonly string[]): Opposite | null {
  const claimed = statementOf([claim]);
  const quoted = statementOf(passages);
  const words = { claim: wordsOf(claim), passages: passages.map(wordsOf) };
  return (
    asserted(claimed, quoted) ??
    denied(claimed, quoted) ??
    boundsReversed(words) ??
    quantitiesRaised(words) ??
    datesMoved(words) ??
    sidesSwapped(words) ??
    (sidesSwapped(words, 'allowed') === null ? turned(claimed, quoted) : null)
  );
}

/**
 * The same for a sentence about several passages, which may say of them what they do not say themselves ("No source says why"): a
 * negation turns only what they assert.
 */
export function turnedIn(sentence: string, passages: readonly string[]): Opposite | null {
  const found = oppositeOf(sentence, passages);
  if (found === null || found.passages !== '') return found;
  const [claimed, quoted] = [statementOf([sentence]), statementOf(passages)];
  for (const [stem, shown] of claimed.denied) {
    const word = quoted.asserted.get(stem);
    if (word !== undefined && !claimed.asserted.has(stem)) return { claim: shown, passages: word };
  }
  return null;
}

/** The first word that a claim asserts and that the passages have only behind a negation; `null` when there is none. */
export function deniedIn(claim: string, passages: readonly string[]): Opposite | null {
  return asserted(statementOf([claim]), statementOf(passages));
}

interface Statement {
  /** Words outside a negation, by their stems. */
  readonly asserted: ReadonlyMap<string, string>;
  /** Stems directly behind a negation, with the negation as it is written. */
  readonly denied: ReadonlyMap<string, string>;
  /** The first negation with the word behind it; `null`: there is none. */
  readonly negation: string | null;
  /** Words that deny something, such as `lost` or `rejected`. */
  readonly denials: ReadonlySet<string>;
  /** Has a word that may deny something, such as `unsafe`. */
  readonly mayDeny: boolean;
  readonly words: ReadonlySet<string>;
}

function statementOf(texts: readonly string[]): Statement {
  const asserted = new Map<string, string>();
  const denied = new Map<string, string>();
  const words = new Set<string>();
  let negation: string | null = null;
  const denials = new Set<string>();
  let mayDeny = false;
  for (const sentence of texts.map(wordsOf))
    for (const [at, word] of sentence.entries()) {
      const text = lower(word);
      words.add(text);
      const isDenial = isNegation(sentence, at) || DENIAL.test(text) || DENIES.test(text);
      if (isDenial) denials.add(text);
      mayDeny ||= isDenial || MAY_DENY.test(text);
      const found = negationBefore(sentence, at);
      if (isNegation(sentence, at) && negation === null) negation = shownFrom(sentence, at);
      if (SMALL_WORDS.has(text) || !/^\p{L}{3}/u.test(text)) continue;
      if (found === null) asserted.set(stemOf(text), word.text);
      else if (!denied.has(stemOf(text))) denied.set(stemOf(text), shownFrom(sentence, found));
    }
  return { asserted, denied, negation, denials, mayDeny, words };
}

function asserted(claimed: Statement, quoted: Statement): Opposite | null {
  // A word such as `against` that both have does not turn what the passages deny.
  if (claimed.negation !== null || [...claimed.denials].some((word) => !quoted.words.has(word))) return null;
  for (const [stem, shown] of quoted.denied) {
    const word = claimed.asserted.get(stem);
    if (word !== undefined && !quoted.asserted.has(stem)) return { claim: word, passages: shown };
  }
  return null;
}

function denied(claimed: Statement, quoted: Statement): Opposite | null {
  if (claimed.negation === null || quoted.mayDeny) return null;
  return { claim: claimed.negation, passages: '' };
}

function turned(claimed: Statement, quoted: Statement): Opposite | null {
  if (claimed.negation !== null || quoted.negation !== null) return null;
  for (const pair of PAIRS)
    for (const [mine, other] of [pair, pair.toReversed()] as const) {
      const said = mine?.find((word) => claimed.words.has(word));
      const heard = other?.find((word) => quoted.words.has(word));
      if (said === undefined || heard === undefined) continue;
      if (other?.some((word) => claimed.words.has(word)) || mine?.some((word) => quoted.words.has(word))) continue;
      return { claim: said, passages: heard };
    }
  return null;
}

/** Words between a negation and the word that it denies. */
const REACH = 3;

/** Index of the negation that denies a word: none but small words stand between the two, and no mark. */
function negationBefore(words: readonly Word[], at: number): number | null {
  for (let index = at - 1; index >= 0 && index >= at - REACH - 1; index -= 1) {
    if (!/^ ?$/.test(words[index + 1]?.gap ?? '')) return null;
    if (isNegation(words, index)) return index;
    if (!SMALL_WORDS.has(lower(words[index]))) return null;
  }
  return null;
}

/** Words of other languages that deny something and that English does not have. */
const FOREIGN_NEGATION =
  /^(?:nicht|nichts|kein|keine[mnrs]?|keineswegs|niemals|weder|ohne|niet|geen|nooit|ne|pas|jamais|aucune?|nunca|jamás|ning[uú]na?|nessuna?|não|n[’']\p{L}+)$/u;

/** `not only`, `no later than` and `No. 5` deny nothing. */
function isNegation(words: readonly Word[], at: number): boolean {
  const word = words[at];
  if (word === undefined) return false;
  if (FOREIGN_NEGATION.test(lower(word))) return true;
  if (!NEGATION.test(lower(word))) return false;
  const next = words[at + 1];
  if (lower(word) === 'no' && word.after.startsWith('.') && /^\d/.test(next?.text ?? '')) return false;
  return !/^(?:only|just|merely|until|unlike|doubt|but|more|less|later|earlier|fewer|sooner)$/.test(lower(next));
}

/** Beginnings of words that may deny something: a claim with a negation may rest on them. */
const MAY_DENY = /^(?:un\p{L}{3}|(?:in|im|ir|il)\p{L}{5}|dis\p{L}{4}|non\p{L}{3})/u;
/** Words that deny something beside the negations. */
const DENIES =
  /^(?:refus\p{L}*|few|fewer|only|less|little|rarely|seldom|barely|scarcely|zero|0|absen\p{L}*|missing|avoid\p{L}*|prevent\p{L}*|prohibit\p{L}*|ban|bans|banned|forbid\p{L}*|forbidden|stop\p{L}*|ceas\p{L}*|end|ends|ended|rather|instead|former\p{L}*|exclud\p{L}*|except|against|lost|loses?|negative|free|exempt\p{L}*|empty|otherwise|contrary|too)$/u;

/** Words that stand between a negation and the word that it denies, and that say nothing by themselves. */
const SMALL_WORDS: ReadonlySet<string> = new Set(
  'a about all an and any are as at be been being both but by can could did do does done each either for from had has have having he her him his i if in into is it its may might more most much must of on one or other our own shall she should so some such than that the their them then there these they this those to very was we were what when where which who whose will with would yet you your ever even der die das den dem ein eine einen ist sind war waren wird wurde wurden est sont était es son era le la les el los un une'.split(
    ' ',
  ),
);

/** Words of which a claim and its passages cannot have one each. */
const PAIRS: readonly (readonly [readonly string[], readonly string[]])[] = (
  [
    [
      'rise rises rose risen rising increase increases increased increasing grew grow grows grown climbed climbs soared surged stieg stiegen gestiegen',
      'fall falls fell fallen falling decrease decreases decreased decreasing shrank shrink shrinks shrunk decline declines declined declining drop drops dropped dropping plunged plummeted sank sanken gesunken',
    ],
    ['improved improves improve improvement', 'worsened worsens worsen deteriorated deteriorates'],
    ['doubled doubles doubling', 'halved halves halving'],
    ['hundreds', 'thousands millions billions'],
    ['thousands', 'millions billions'],
    ['millions million', 'billions billion thousands'],
    ['half', 'third quarter'],
    ['quarter', 'quarters thirds'],
    ['twice', 'once'],
    ['upheld upholds', 'overturned overturns'],
    ['confirmed confirms', 'denied denies'],
    ['met meets', 'missed misses'],
    ['favour favor', 'against'],
    ['causes cause caused', 'associated correlated correlates correlation association linked'],
    ['proves proved proven', 'suggests suggest suggested'],
    ['minimum', 'maximum'],
    ['northern north', 'southern south'],
    ['eastern east', 'western west'],
    ['men male males boys', 'women female females girls'],
    ['imports imported', 'exports exported'],
    ['second', 'third fourth fifth sixth seventh eighth ninth tenth'],
    ['third', 'second fourth fifth sixth seventh eighth ninth tenth'],
    ['gained gain gains', 'lost lose loses'],
    ['higher highest', 'lower lowest'],
    ['oldest older', 'youngest younger newest newer'],
    ['largest biggest larger bigger', 'smallest smaller'],
    ['heaviest heavier', 'lightest lighter'],
    ['fastest faster', 'slowest slower'],
    ['cheapest cheaper', 'dearest dearer'],
    ['longest longer lengthened lengthens', 'shortest shorter shortened shortens'],
    ['strongest stronger', 'weakest weaker'],
    ['best better', 'worst worse'],
    ['before', 'after'],
    ['above', 'below'],
    ['always', 'never'],
    ['safe', 'unsafe dangerous'],
    ['legal', 'illegal'],
    ['possible', 'impossible'],
    ['effective', 'ineffective'],
    ['approved approve approves accepted accept accepts', 'rejected reject rejects refused refuse refuses'],
    ['allowed allow allows permitted', 'forbidden forbid forbids banned prohibited'],
    ['succeeded succeed succeeds', 'failed fail fails'],
    ['won', 'lost'],
    ['true', 'false'],
    ['opened open opens', 'closed closes'],
    ['cold colder coldest', 'hot hotter hottest warm warmer warmest'],
  ] as const
).map(([one, other]) => [one.split(' '), other.split(' ')]);

const lower = (word: Word | undefined): string => word?.text.toLowerCase() ?? '';

/** One form for `survive`, `survived` and `survives`. */
function stemOf(word: string): string {
  return word.length < 5 ? word.replace(/s$/, '') : word.replace(/'s?$/, '').replace(/(?:ing|ed|es|s|e)$/, '');
}

function shownFrom(words: readonly Word[], at: number): string {
  return words
    .slice(at, at + REACH)
    .map(({ text }) => text)
    .join(' ');
}
