/**
 * Compares the details of a claim (numbers, dates, proper names) with the passages that are quoted for it. Pure, and linear in the
 * length of both.
 */
import { type CalendarDate, type DateFact, datesIn } from './detail-dates.ts';
import { isCurrencyOfNext, type NumberFact, numbersIn } from './detail-numbers.ts';
import { type Word, wordsOf } from './detail-words.ts';

export interface Detail {
  readonly kind: 'number' | 'date' | 'name';
  /** As the claim writes it, in the form of `readable`. */
  readonly text: string;
}

/**
 * The details of a claim that stand in none of its quoted passages, in the claim's order, each once; empty when all stand there.
 * The passages count together. The topic of the run does not count: a name in it must stand in a passage as well.
 *
 * **Numbers** are compared by value: `3 million`, `3M` and `3,000,000`; `1.5` and `1,5`; `1,500`, `1 500` and `1.500`; `three` and `3`.
 * Number words are English ones up to the trillions; "one" is none as a pronoun (`one of`, `no one`). A percentage needs a
 * percentage. Of two known units that differ (`km` and `miles`), the passage does not state the number; a unit that is missing on
 * one side is not compared. `3 to 5 percent` gives both numbers the unit. Ratios, times and fractions (`3:1`, `10:30`, `1/2`) stand
 * as they are written.
 *
 * **Dates** are compared by what they name: `2024-05-01`, `May 1, 2024`, `1 May 2024`, `1.5.2024`. A passage may name less than the
 * claim only in that its year stands elsewhere in the passages. A year of the claim stands in any date of that year, and in a
 * number of four digits. Four digits that do not follow a word such as "in" may also be a number (`2000 people`, `2,000 people`).
 *
 * **Names** are capitalised words that begin no sentence, acronyms, words with capitals inside (`GitHub`, `iPhone`), words of letters
 * and digits (`H2O`, `GPT-4`) and versions (`v2.3`, `version 2.3`, `2.3.1`). The first word of a sentence, also behind a colon, is a name
 * only when it is one of the last four, when it is a possessive, or when its verb follows at once (`Meier cast`, `Meier was`). Capitalised function words (`The`, `Of`) and "I" are none. A name of several words is compared word by
 * word. Possessive, plural `s`, hyphens, points and accents do not count; case does not count in names of five letters and more.
 */
export function missingDetails(claim: string, passages: readonly string[]): readonly Detail[] {
  return missingIn(passages)(claim);
}

/** The same for many claims of the same passages, which are read once. */
export function missingIn(passages: readonly string[]): (claim: string) => readonly Detail[] {
  const said = statedIn(passages);
  return (claim) => {
    const seen = new Set<string>();
    return detailsOf(claim).flatMap(({ kind, text, stands }) => {
      const key = `${kind} ${text}`;
      if (seen.has(key) || stands(said)) return [];
      seen.add(key);
      return [{ kind, text }];
    });
  };
}

/** The details of a text in canonical form, for the comparison of two claims: equal sets mean that none of them differs. */
export function detailKeys(text: string): ReadonlySet<string> {
  return new Set(detailsOf(text).map(({ kind, key }) => `${kind} ${key}`));
}

interface Checked extends Detail {
  readonly key: string;
  readonly stands: (said: Stated) => boolean;
}

function detailsOf(claim: string): readonly Checked[] {
  const words = wordsOf(claim);
  const { dates, numbers, taken } = factsOf(words);
  const ambiguous = new Map(numbers.map((number) => [number.from, number]));
  const dated = new Set(dates.map(({ from }) => from));
  const isInGerman = isGerman(words);
  const found = [
    ...dates.map((date) => ({ at: date.from, detail: dateDetail(date, ambiguous.get(date.from)) })),
    ...numbers.flatMap((number) =>
      dated.has(number.from) ? [] : [{ at: number.from, detail: numberDetail(number, words) }],
    ),
    ...words.flatMap((_, at) => {
      const detail = taken.has(at) ? null : nameDetail(words, at, isInGerman);
      return detail === null ? [] : [{ at, detail }];
    }),
  ];
  return found.sort((a, b) => a.at - b.at).map(({ detail }) => detail);
}

interface Facts {
  readonly dates: readonly DateFact[];
  /** Contains the date as well where four digits may be either. */
  readonly numbers: readonly NumberFact[];
  /** Indexes of the words of dates and numbers. */
  readonly taken: ReadonlySet<number>;
}

function factsOf(words: readonly Word[]): Facts {
  const found = datesIn(words);
  const dated = new Set(found.filter(({ asNumber }) => asNumber === 'never').flatMap(indexesOf));
  const numbers = numbersIn(words, (at) => dated.has(at) || isDecade(words[at]) || isVersion(words, at));
  const scaled = new Set(numbers.filter((number) => hasScale(number) && !number.inherits).map(({ from }) => from));
  const dates = found.filter(({ from }) => !scaled.has(from));
  const plainYears = new Set(dates.filter(({ asNumber }) => asNumber === 'with_unit').map(({ from }) => from));
  const kept = numbers.filter((number) => !plainYears.has(number.from) || (hasScale(number) && number.unit !== '%'));
  return { dates, numbers: kept, taken: new Set([...dates, ...kept].flatMap(indexesOf)) };
}

function hasScale({ from, to, unit }: NumberFact): boolean {
  return unit !== null || to - from > 1;
}

function indexesOf({ from, to }: { readonly from: number; readonly to: number }): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Everything that the passages of a claim state. */
interface Stated {
  readonly numbers: ReadonlyMap<string, readonly NumberFact[]>;
  readonly dates: readonly CalendarDate[];
  readonly years: ReadonlySet<number>;
  readonly names: ReadonlySet<string>;
  readonly lowerCaseNames: ReadonlySet<string>;
}

function statedIn(passages: readonly string[]): Stated {
  const numbers = new Map<string, NumberFact[]>();
  const dates: CalendarDate[] = [];
  const years = new Set<number>();
  const names = new Set<string>();
  for (const words of passages.map(wordsOf)) {
    const facts = factsOf(words);
    for (const number of facts.numbers) for (const reading of number.readings) filed(numbers, reading).push(number);
    const readings = facts.dates.flatMap((date) => date.readings);
    dates.push(...readings);
    for (const { year } of readings) if (year !== null) years.add(year);
    for (const initials of initialsIn(words)) names.add(initials);
    for (const [at, { text }] of words.entries()) {
      for (const [year] of text.matchAll(/(?<!\d)(?:1\d|2[01])\d\d(?!\d)/g)) years.add(Number(year));
      for (const name of nameKeysAt(words, at)) names.add(name);
    }
  }
  return { numbers, dates, years, names, lowerCaseNames: new Set([...names].map((name) => name.toLowerCase())) };
}

const BETWEEN_INITIALS: ReadonlySet<string> = new Set('and of the for on de la und der für &'.split(' '));
const MOST_INITIALS = 6;

/** Initials of names of several words, such as `FDA` of "Food and Drug Administration". */
function initialsIn(words: readonly Word[]): readonly string[] {
  const found: string[] = [];
  for (let from = 0; from < words.length; from += 1) {
    let initials = '';
    for (let at = from; at < words.length && initials.length < MOST_INITIALS; at += 1) {
      const { text, gap } = words[at] ?? { text: '', gap: '' };
      if (at > from && gap !== ' ') break;
      if (/^\p{Lu}\p{Ll}/u.test(text)) initials += text.charAt(0);
      else if (initials === '' || !BETWEEN_INITIALS.has(text)) break;
      if (initials.length > 1 && /^\p{Lu}/u.test(text)) found.push(initials);
    }
  }
  return found;
}

function filed(lists: Map<string, NumberFact[]>, key: string): NumberFact[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

function dateDetail(date: DateFact, number: NumberFact | undefined): Checked {
  const isYear = date.readings.some(({ year }) => year !== null && year >= 1900 && year < 2100);
  return {
    kind: date.asNumber !== 'never' && !isYear ? 'number' : 'date',
    text: date.text,
    key: JSON.stringify(date.readings),
    stands: (said) =>
      date.readings.some((reading) => standsDate(reading, said)) ||
      (number !== undefined && standsNumber(number, said)),
  };
}

function standsDate({ year, month, day }: CalendarDate, { dates, years }: Stated): boolean {
  if (month === null) return year !== null && years.has(year);
  return dates.some(
    (date) =>
      date.month === month &&
      (day === null || date.day === day) &&
      (year === null || date.year === year || (date.year === null && years.has(year))),
  );
}

function numberDetail(number: NumberFact, words: readonly Word[]): Checked {
  const name = words[number.from - 1]?.text ?? '';
  const joined = /\p{Lu}/u.test(name) && words[number.from]?.gap === ' ' ? nameKey(name) + nameKey(number.text) : null;
  return {
    kind: 'number',
    text: textOf(words, number),
    key: `${number.readings.join('|')} ${number.unit ?? ''}`,
    // `GPT 4` stands in a passage about GPT-4.
    stands: (said) => standsNumber(number, said) || (joined !== null && said.names.has(joined)),
  };
}

function textOf(words: readonly Word[], { text, from, to }: NumberFact): string {
  const behind = words.slice(from + text.split(' ').length, to).map(({ text }) => ` ${text}`);
  const sign = /^ ?[%‰]/.exec(words[from]?.after ?? '')?.[0] ?? '';
  return text + sign + behind.join('');
}

function standsNumber(number: NumberFact, { numbers }: Stated): boolean {
  return number.readings.some((reading) => numbers.get(reading)?.some((stated) => isSameUnit(number, stated)) === true);
}

function isSameUnit(claimed: NumberFact, stated: NumberFact): boolean {
  if (claimed.unit === stated.unit || claimed.inherits) return true;
  if (claimed.unit === null) return stated.inherits || stated.unit !== '%';
  return stated.unit === null && claimed.unit !== '%';
}

/** Capitalised words that are no names: those of titles, and forms of address. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  'Dr Mr Mrs Ms Prof A An And Are As At But By For From He His I If In Into Is It Its No Not Of On Or Our She So Than That The Their Then There These They This Those To Was We When Which With You'.split(
    ' ',
  ),
);

const GERMAN: ReadonlySet<string> = new Set(
  'aus bei das dem den der des die durch ein eine einem einen einer für ist mit nach nicht seit sind über und von vor war waren wird wurde wurden zu zum zur'.split(
    ' ',
  ),
);
const LEAST_GERMAN_WORDS = 2;

/** True for a text with German words: in it every noun is capitalised, and nouns have endings. */
function isGerman(words: readonly Word[]): boolean {
  return words.filter(({ text }) => GERMAN.has(text.toLowerCase())).length >= LEAST_GERMAN_WORDS;
}

function nameDetail(words: readonly Word[], at: number, isInGerman: boolean): Checked | null {
  const word = words[at];
  if (word === undefined || isCurrencyOfNext(words, at)) return null;
  const { text, startsSentence } = word;
  if (isDecade(word)) return nameCheck('date', text, [[nameKey(text)]]);
  if (isVersion(words, at)) return nameCheck('name', text, [[nameKey(text)]]);
  const parts = text.split(PART_MARK);
  const isSubject = startsSentence && isNamedSubject(words, at);
  const isNamePart = parts.map((part, index) => isName(part, startsSentence && index === 0 && !isSubject));
  if (!isNamePart.includes(true)) return null;
  const isWord = parts.map((part, index) => isNamePart[index] !== true && /^\p{Ll}+$/u.test(part));
  const core = parts.slice(isWord.indexOf(false), isWord.lastIndexOf(false) + 1);
  const nameParts = parts.filter((_, index) => isNamePart[index] === true).map(nameKey);
  const hasFigures = core.some((part) => /^\d+$/.test(part));
  const stem = isInGerman ? /^(\p{L}{4,}?)(?:e[nmrs]?|ern|n|s)$/u.exec(nameKey(text))?.[1] : undefined;
  const ways = [
    [nameKey(text)],
    [nameKey(core.join('-'))],
    ...(hasFigures ? [] : [nameParts]),
    ...(stem === undefined ? [] : ['', 'e', 'er', 'en', 'n', 's', 'es', 'ern'].map((ending) => [stem + ending])),
  ];
  return nameCheck('name', core.join('').length === text.length ? text : core.join('-'), ways);
}

/**
 * True for a capitalised word at the beginning of a sentence that is followed by a verb of the past, and that no article stands
 * before: it is a name, or a word that the passages have as well.
 */
function isNamedSubject(words: readonly Word[], at: number): boolean {
  const [text = '', next] = [words[at]?.text, words[at + 1]];
  if (!/^\p{Lu}\p{L}+(?:'s)?$/u.test(text) || SENTENCE_STARTS.has(text.toLowerCase())) return false;
  if (text.endsWith("'s")) return true;
  // A plural, and words such as "Recently" and "Casting".
  if (/(?:[^s]s|ly|ing|ed)$/.test(text) || next?.gap !== ' ') return false;
  return VERBS.has(next.text) || /^\p{Ll}{2,}ed$/u.test(next.text);
}

const VERBS: ReadonlySet<string> = new Set(
  'became began bought broke brought built came can cast could did does fell found gave gets got grew had has held is knew led left lost made may met must owns paid rang ran says said sank saw sells sent sold should spent spoke stood struck takes taught told took was went were will won would writes wrote'.split(
    ' ',
  ),
);
/** Words that begin a sentence before a verb and are no names, in small letters. */
const SENTENCE_STARTS: ReadonlySet<string> = new Set(
  "all another any anyone anybody both children each either everybody everyone everything few half he here how it it's its let's little many men more most much neither nobody none nothing nowhere one only other people she some somebody someone something such that that's the there there's these they this those three today today's tomorrow two we what what's when where which who why women yesterday yesterday's you".split(
    ' ',
  ),
);

/** @param ways of each way to write the name, the words that must all stand */
function nameCheck(kind: Detail['kind'], text: string, ways: readonly (readonly string[])[]): Checked {
  return {
    kind,
    text: text.replace(/'s?$/, ''),
    key: (ways[2] ?? ways.at(-1) ?? []).join(' ').toLowerCase(),
    stands: (said) => ways.some((names) => names.every((name) => standsName(name, said))),
  };
}

function standsName(name: string, { names, lowerCaseNames }: Stated): boolean {
  return [name, name.endsWith('s') && name.length > 3 ? name.slice(0, -1) : `${name}s`].some((form) => {
    if (names.has(form) || (form.length >= 5 && lowerCaseNames.has(form.toLowerCase()))) return true;
    return form.length === 4 && (names.has(form.toUpperCase()) || names.has(capitalised(form)));
  });
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).toLowerCase();
}

/** Marks that join the words of a compound. */
const PART_MARK = /[-/_,:]/;
/** Parts of a compound in a passage of which every run may be a name. */
const MOST_PARTS = 8;

/** All names that the words at a place of a passage may be: `GPT-4-based` is `GPT`, `GPT-4`, `4-based` and so on. */
function nameKeysAt(words: readonly Word[], at: number): readonly string[] {
  const { text, gap } = words[at] ?? { text: '', gap: '' };
  const previous = gap === ' ' ? (words[at - 1]?.text ?? '') : '';
  const isFigure = /^[\d.]+$/.test(text);
  // A plain number is no version, but behind a name it may be one: `Python 3.11`.
  if (isFigure && !isVersion(words, at) && !/\p{Lu}/u.test(previous)) return [];
  const parts = text.split(PART_MARK).slice(0, MOST_PARTS).map(nameKey);
  const runs = parts.flatMap((_, from) =>
    parts.slice(from).map((_, length) => parts.slice(from, from + length + 1).join('')),
  );
  return [nameKey(text), ...runs, ...(isFigure && previous !== '' ? [nameKey(previous) + nameKey(text)] : [])];
}

function isName(part: string, startsSentence: boolean): boolean {
  if (/^I(?:'|$)/.test(part)) return false;
  if (/\p{L}/u.test(part) && /\d/.test(part)) return true;
  if (/.\p{Lu}/u.test(part) || /[+#]$/.test(part)) return true;
  return /^\p{Lu}/u.test(part) && !startsSentence && !FUNCTION_WORDS.has(part);
}

/** Letters with a mark that Unicode does not take apart. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ß: 'ss',
  æ: 'ae',
  Æ: 'Ae',
  œ: 'oe',
  Œ: 'Oe',
  ı: 'i',
};

/** One form of a name: without accents, possessive and the marks within it. Points between digits stay. */
function nameKey(name: string): string {
  if (DECADE.test(name)) return `${name.slice(0, 4)}s`;
  return name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[øØłŁđĐßæÆœŒı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
    .replace(/'s?$/, '')
    .replace(/[-'&/_,:]|(?<!\d)\.|\.(?!\d)/g, '')
    .replace(/^[vV](?=\d)/, '');
}

const DECADE = /^[12]\d\d0'?s$/;

function isDecade(word: Word | undefined): boolean {
  return word !== undefined && DECADE.test(word.text);
}

/** `2.3.1`, and the number behind "version". Groups of three digits are a number. */
function isVersion(words: readonly Word[], at: number): boolean {
  const text = words[at]?.text ?? '';
  if (/^\d+(?:\.\d+){2,9}$/.test(text) && !/^\d{1,3}(?:\.\d{3}){1,9}$/.test(text)) return true;
  return /^\d/.test(text) && /^(?:version|release|v|ver)$/i.test(words[at - 1]?.text ?? '');
}
