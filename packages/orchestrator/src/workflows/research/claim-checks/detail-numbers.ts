/** Numbers in the words of a claim or a passage. Pure. */
import type { Word } from './detail-words.ts';

export interface NumberFact {
  readonly text: string;
  /** Values that the number may have, each in one canonical form, so that `3 million` and `3,000,000` are equal. */
  readonly readings: readonly string[];
  /** Canonical name of a known unit; `null` for any other word and for none. */
  readonly unit: string | null;
  /** True when unit and multiplier are those of the next number: the 3 of `3 to 5 percent`. */
  readonly inherits: boolean;
  /** Index of its first word, and that behind its last one. The numbers of `5-10` share their word. */
  readonly from: number;
  readonly to: number;
}

/**
 * All numbers of a text, in order: figures with separators, multipliers (`3M`, `3 million`), percent and other units, and English
 * number words up to the trillions. Digits in a name, such as `F-16` and `5G`, are no number.
 * @param isTaken whether a word belongs to something else, such as a date
 */
export function numbersIn(words: readonly Word[], isTaken: (index: number) => boolean): readonly NumberFact[] {
  const found: Found[] = [];
  for (let at = 0; at < words.length;) {
    const here = isTaken(at) ? [] : numbersAt(words, at);
    found.push(...here);
    at = Math.max(at + 1, here.at(-1)?.to ?? 0);
  }
  return found.map((number, index) => factOf(number, found[index + 1], words));
}

/** True for a word that is a number or a part of one: `10`, `ten`, `million`. In small letters. */
export function isNumberWord(word: string): boolean {
  return /^\d[\d.,]*$/.test(word) || NUMBER_WORDS.has(word) || SPELLED_MULTIPLIERS.has(word);
}

/** True for a currency code that belongs to the number behind it. */
export function isCurrencyOfNext(words: readonly Word[], at: number): boolean {
  return CURRENCY_CODES.has(words[at]?.text ?? '') && /^\d/.test(words[at + 1]?.text ?? '');
}

/** Digits and a power of ten: the value is `digits` × 10^`power`. */
interface Value {
  readonly digits: string;
  readonly power: number;
}

interface Found {
  readonly text: string;
  /** Several where the figures can be read in several ways; none for a ratio, a time or a fraction, which count as written. */
  readonly values: readonly Value[];
  /** Of the multipliers behind it. */
  readonly power: number;
  readonly unit: string | null;
  readonly from: number;
  readonly to: number;
}

const SPELLED_MULTIPLIERS: ReadonlyMap<string, number> = new Map([
  ['hundred', 2],
  ['thousand', 3],
  ['million', 6],
  ['billion', 9],
  ['trillion', 12],
]);
const MULTIPLIERS: ReadonlyMap<string, number> = new Map([
  ...SPELLED_MULTIPLIERS,
  ...['mio', 'mln', 'mn'].map((word) => [word, 6] as const),
  ...['bn', 'mrd'].map((word) => [word, 9] as const),
  ['tn', 12],
  ...'millions millionen millones milioni milhões miljoen'.split(' ').map((word) => [word, 6] as const),
  ...'milliarde milliarden milliard milliards miliardi miljard'.split(' ').map((word) => [word, 9] as const),
  ['billionen', 12],
  ['千', 3],
  ['万', 4],
  ['億', 8],
  ['亿', 8],
  ['兆', 12],
]);

/** Letters directly behind a number. `m` is a unit as well. */
const ATTACHED: ReadonlyMap<string, number> = new Map([
  ['k', 3],
  ['K', 3],
  ['M', 6],
  ['m', 6],
  ['B', 9],
  ['b', 9],
  ['T', 12],
]);

const UNIT_NAMES: Readonly<Record<string, string>> = {
  '%': 'percent pct percentage prozent',
  'percentage point': 'pp prozentpunkt prozentpunkte prozentpunkten',
  usd: '$ usd dollar dollars us$',
  eur: '€ eur euro euros',
  gbp: '£ gbp pound pounds',
  jpy: '¥ jpy yen',
  inr: '₹ inr rupee rupees',
  chf: 'chf franken',
  krona: 'sek krona kronor',
  krone: 'dkk nok krone kroner',
  yuan: 'cny rmb yuan renminbi',
  rouble: 'rub rouble roubles ruble rubles',
  zloty: 'pln zloty złoty',
  won: 'krw',
  km: 'km kilometre kilometres kilometer kilometers',
  m: 'm metre metres meter meters',
  cm: 'cm centimetre centimetres centimeter centimeters',
  mm: 'mm millimetre millimetres millimeter millimeters',
  micrometre: 'μm micrometre micrometres micrometer micrometers micron microns',
  nm: 'nm nanometre nanometres nanometer nanometers',
  inch: 'inch inches',
  yard: 'yard yards',
  hectare: 'ha hectare hectares hektar',
  acre: 'acre acres',
  mile: 'mile miles mi',
  foot: 'foot feet ft',
  kg: 'kg kilogram kilograms kilo kilos',
  g: 'g gram grams gramme grammes',
  mg: 'mg milligram milligrams',
  microgram: 'μg mcg microgram micrograms',
  ounce: 'oz ounce ounces',
  tonne: 'tonne tonnes ton tons tonnen',
  litre: 'l litre litres liter liters',
  ml: 'ml mL millilitre millilitres milliliter milliliters',
  gallon: 'gallon gallons',
  barrel: 'barrel barrels',
  ms: 'ms millisecond milliseconds',
  second: 's sec second seconds sekunde sekunden',
  minute: 'min minute minutes minuten',
  hour: 'h hr hrs hour hours stunde stunden',
  day: 'day days tag tage tagen',
  week: 'week weeks woche wochen',
  month: 'month months monat monate monaten',
  year: 'year years yr yrs jahr jahre jahren',
  decade: 'decade decades jahrzehnt jahrzehnte jahrzehnten',
  century: 'century centuries',
  kb: 'kB KB kilobyte kilobytes',
  mb: 'MB megabyte megabytes',
  gb: 'GB gigabyte gigabytes',
  tb: 'TB terabyte terabytes',
  w: 'W watt watts',
  kw: 'kW kilowatt kilowatts',
  mw: 'MW megawatt megawatts',
  gw: 'GW gigawatt gigawatts',
  kwh: 'kWh',
  mwh: 'MWh',
  gwh: 'GWh',
  hz: 'Hz hertz',
  mhz: 'MHz megahertz',
  ghz: 'GHz gigahertz',
  v: 'V volt volts',
  degree: 'degree degrees',
};
const UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries(UNIT_NAMES).flatMap(([unit, names]) => names.split(' ').map((name) => [name, unit] as const)),
);
const CURRENCY_CODES: ReadonlySet<string> = new Set(['USD', 'EUR', 'GBP', 'JPY', 'INR', 'CHF']);

/** German words whose figures no other word has. */
const GERMAN = 'zwei drei vier fünf sechs sieben acht neun zehn elf zwölf'.split(' ');
const SMALL =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const NUMBER_WORDS: ReadonlyMap<string, number> = new Map([
  ...SMALL.map((word, value) => [word, value] as const),
  ...GERMAN.map((word, index) => [word, index + 2] as const),
  ...TENS.map((word, index) => [word, (index + 2) * 10] as const),
]);

/** Behind "one", a word with which it is no number: `one of the first`. */
const BEHIND_PRONOUN: ReadonlySet<string> = new Set(
  'of another can could may might must should would who that'.split(' '),
);
/** Before "one", a word with which it is no number: `no one`. */
const BEFORE_PRONOUN: ReadonlySet<string> = new Set('no any every each which the this that another first'.split(' '));

function numbersAt(words: readonly Word[], at: number): readonly Found[] {
  const text = words[at]?.text ?? '';
  if (!/^\d/.test(text)) return spelledAt(words, at);
  if (!/[:/^_]/.test(text)) return figuresAt(words, at);
  return /\p{L}/u.test(text) ? [] : [{ text, values: [], power: 0, unit: null, from: at, to: at + 1 }];
}

function figuresAt(words: readonly Word[], at: number): readonly Found[] {
  const { text, to } = spacedGroups(words, at);
  const found: Found[] = [];
  for (const piece of text.split('-')) {
    const read = readPiece(piece);
    const before = found.at(-1);
    if (read === null) return [];
    if (read.values.length > 0) found.push({ ...read, text: piece, from: at, to });
    else if (before !== undefined)
      found.splice(-1, 1, { ...before, power: before.power + read.power, unit: before.unit ?? read.unit });
  }
  const [first, ...rest] = found;
  if (first === undefined) return [];
  const signed = { ...first, values: isNegative(words, at) ? first.values.map(negative) : first.values };
  return withScale([signed, ...rest], words, at);
}

/** `12 345 678` as one number. */
function spacedGroups(words: readonly Word[], at: number): { readonly text: string; readonly to: number } {
  const textAt = (index: number): string => words[index]?.text ?? '';
  let to = at + 1;
  if (/^\d{1,3}$/.test(textAt(at)))
    while (words[to]?.gap === ' ' && /^\d{3}(?:[.,]\d{1,2})?$/.test(textAt(to))) to += 1;
  return {
    text: words
      .slice(at, to)
      .map((word) => word.text)
      .join(''),
    to,
  };
}

function isNegative(words: readonly Word[], at: number): boolean {
  return /(?:^|[^\p{L}\p{N}])-[$€£¥₹]?$/u.test(words[at]?.gap ?? '') || words[at - 1]?.text.toLowerCase() === 'minus';
}

function negative(value: Value): Value {
  return { ...value, digits: `-${value.digits}` };
}

/** A part of `5-10kg` or `5-million-dollar`: figures, or a word without values; `null` for the part of a name. */
function readPiece(piece: string): Pick<Found, 'values' | 'power' | 'unit'> | null {
  const figures = /^[\d.,']*/.exec(piece)?.[0] ?? '';
  const letters = piece.slice(figures.length);
  const power = MULTIPLIERS.get(letters.toLowerCase()) ?? 0;
  const unit = unitOf(letters);
  if (figures === '') return unit !== null || /^\p{Ll}+$/u.test(letters) ? { values: [], power, unit } : null;
  const attached = ATTACHED.get(letters);
  const values = valuesOf(figures);
  if (attached !== undefined) {
    const multiplied = values.map((value) => ({ ...value, power: value.power + attached }));
    return { values: unit === null ? multiplied : [...values, ...multiplied], power: 0, unit: null };
  }
  const isNumber = letters === '' || power > 0 || unit !== null || /^(?:st|nd|rd|th|x|fold|s)$/.test(letters);
  return isNumber ? { values, power, unit } : null;
}

/** Short names are symbols, whose case counts: `MB`, `mW`. */
function unitOf(word: string): string | null {
  return UNITS.get(word) ?? (word.length > 3 ? UNITS.get(word.toLowerCase()) : undefined) ?? null;
}

/**
 * Values of figures with separators. The last of two different separators is the decimal one. One comma before exactly three
 * digits separates thousands; one point there may do either.
 */
function valuesOf(figures: string): readonly Value[] {
  const text = figures.replaceAll("'", '');
  const [first = '', ...groups] = text.split(/[.,]/);
  const digits = first + groups.join('');
  const grouped = { digits, power: 0 };
  const decimal = { digits, power: -(groups.at(-1) ?? '').length };
  if (groups.length === 0) return [grouped];
  if (text.includes(',') && text.includes('.')) return [decimal];
  if (groups.length > 1) return [grouped];
  if (decimal.power !== -3 || !/^[1-9]\d{0,2}$/.test(first)) return [decimal];
  return text.includes(',') ? [grouped] : [decimal, grouped];
}

/** Adds multiplier and unit: those behind the last number, and the currency before the first. */
function withScale(numbers: readonly Found[], words: readonly Word[], at: number): readonly Found[] {
  const last = numbers.at(-1);
  if (last === undefined) return [];
  const scale = scaleBehind(words, last.to, last.unit !== null);
  const unit = last.unit ?? scale.unit ?? currencyBefore(words, at);
  return [...numbers.slice(0, -1), { ...last, power: last.power + scale.power, unit, to: scale.to }];
}

interface Scale {
  readonly power: number;
  readonly unit: string | null;
  readonly to: number;
}

/** Multipliers and the unit behind a number: `million US dollars`, `per cent`, `°C`, `%`. */
function scaleBehind(words: readonly Word[], from: number, hasUnit: boolean): Scale {
  const textAt = (index: number): string =>
    /^[ -]?$/.test(words[index]?.gap ?? '.') ? (words[index]?.text ?? '') : '';
  let power = 0;
  let to = from;
  for (; MULTIPLIERS.has(textAt(to).toLowerCase()); to += 1) power += MULTIPLIERS.get(textAt(to).toLowerCase()) ?? 0;
  const sign = (words[to - 1]?.after ?? '').trim();
  if (hasUnit) return { power, unit: null, to };
  if (/^[%‰€$£¥]/.test(sign)) return { power, unit: unitOf(sign.charAt(0)) ?? sign.charAt(0), to };
  const next = words[to]?.text ?? '';
  if (sign === '°' && /^[CF]$/.test(next)) return { power, unit: `°${next}`, to: to + 1 };
  const two = `${textAt(to)} ${textAt(to + 1)}`;
  if (/^(?:percent|percentage) points?$/.test(two)) return { power, unit: 'percentage point', to: to + 2 };
  if (two === 'per cent') return { power, unit: '%', to: to + 2 };
  const at = textAt(to) === 'US' ? to + 1 : to;
  const unit = unitOf(textAt(at).split('-', 1)[0] ?? '');
  return unit === null ? { power, unit, to } : { power, unit, to: at + 1 };
}

function currencyBefore(words: readonly Word[], at: number): string | null {
  const symbol = /[$€£¥₹](?= ?-?$)/u.exec(words[at]?.gap ?? '')?.[0];
  if (symbol !== undefined) return unitOf(symbol);
  return isCurrencyOfNext(words, at - 1) ? unitOf(words[at - 1]?.text ?? '') : null;
}

/** A number in words: `three`, `twenty-five`, `two hundred and ten thousand`, `a million`, `five-year`. */
function spelledAt(words: readonly Word[], at: number): readonly Found[] {
  if (isPronoun(words, at)) return [];
  let sum: Sum = { total: 0, current: isArticleOf(words, at) ? 1 : 0 };
  let to = isArticleOf(words, at) ? at + 1 : at;
  let rest: readonly string[] = [];
  for (; rest.length === 0 && to < words.length && (to === at || words[to]?.gap === ' '); to += 1) {
    const pieces = words[to]?.text.toLowerCase().split('-') ?? [];
    if (pieces[0] === 'and' && isAndWithin(sum, words[to + 1])) continue;
    const added = addPieces(sum, pieces);
    if (added === null) break;
    ({ sum, rest } = added);
  }
  const unit = unitOf(rest[0] ?? '');
  if (to === at || (rest.length > 0 && unit === null && words[at]?.text.toLowerCase().startsWith('one-'))) return [];
  const values = [{ digits: String(sum.total + sum.current), power: 0 }];
  const text = words.slice(at, to).map((word) => word.text);
  return withScale([{ text: text.join(' '), values, power: 0, unit, from: at, to }], words, at);
}

/** A number under construction: `current` is below the last of its thousands, millions and so on. */
interface Sum {
  readonly total: number;
  readonly current: number;
}

/** Adds the number words at the beginning of a hyphenated word; `null` when it begins with none, or with one that cannot follow. */
function addPieces(
  start: Sum,
  pieces: readonly string[],
): { readonly sum: Sum; readonly rest: readonly string[] } | null {
  let sum = start;
  for (const [index, piece] of pieces.entries()) {
    const next = addPiece(sum, piece);
    if (next === null) return index === 0 ? null : { sum, rest: pieces.slice(index) };
    sum = next;
  }
  return { sum, rest: [] };
}

function addPiece({ total, current }: Sum, piece: string): Sum | null {
  const value = NUMBER_WORDS.get(piece);
  if (value !== undefined) {
    const fits = value < 10 ? current % 10 === 0 && current % 100 !== 10 : current % 100 === 0;
    return fits ? { total, current: current + value } : null;
  }
  if (current === 0) return null;
  if (piece === 'dozen') return { total, current: current * 12 };
  const power = SPELLED_MULTIPLIERS.get(piece);
  if (power === undefined) return null;
  return power === 2 ? { total, current: current * 100 } : { total: total + current * 10 ** power, current: 0 };
}

function isAndWithin({ current }: Sum, next: Word | undefined): boolean {
  return current >= 100 && current % 100 === 0 && NUMBER_WORDS.has(next?.text.toLowerCase().split('-', 1)[0] ?? '');
}

function isArticleOf(words: readonly Word[], at: number): boolean {
  const [word, next] = [words[at]?.text.toLowerCase(), words[at + 1]];
  const multiplier = next?.gap === ' ' ? (next.text.toLowerCase().split('-', 1)[0] ?? '') : '';
  return (word === 'a' || word === 'an') && (multiplier === 'dozen' || SPELLED_MULTIPLIERS.has(multiplier));
}

function isPronoun(words: readonly Word[], at: number): boolean {
  if (words[at]?.text.toLowerCase() !== 'one') return false;
  const [before = '', behind = ''] = [words[at - 1]?.text.toLowerCase(), words[at + 1]?.text.toLowerCase()];
  // `the new one`, and not `the first one million`.
  const isBehindArticle = /^(?:the|a|an|this|that)$/.test(words[at - 2]?.text.toLowerCase() ?? '');
  const isCounting = isNumberWord(behind) || unitOf(behind) !== null || words[at + 1]?.gap === '-';
  return BEFORE_PRONOUN.has(before) || BEHIND_PRONOUN.has(behind) || (isBehindArticle && !isCounting);
}

function factOf(number: Found, next: Found | undefined, words: readonly Word[]): NumberFact {
  const { text, unit, from, to } = number;
  const readings = number.values.map((value) => keyOf(value, number.power));
  const isBare = unit === null && number.power === 0 && number.values.length > 0;
  const inherits = isBare && next !== undefined && isList(number, next, words);
  const more = inherits ? number.values.map((value) => keyOf(value, next.power)) : [];
  return {
    text,
    readings: number.values.length === 0 ? [text] : [...new Set([...readings, ...more])],
    unit: inherits ? next.unit : unit,
    inherits,
    from,
    to,
  };
}

/** True when a connector alone stands between two numbers: `3 to 5`, `3, 4`, `3-5`, `3 and 5`. */
function isList(number: Found, next: Found, words: readonly Word[]): boolean {
  if (number.from === next.from) return true;
  if (next.from - number.to > 1) return false;
  const between = next.from === number.to ? '' : (words[number.to]?.text ?? '');
  return /^(?:and|or|to|through|versus|vs)?$/.test(between) && /^[, -]*$/.test(words[number.to]?.gap ?? '');
}

/** `1.50` and `1.5` have the same key, and so have 3 × 10^6 and 3000000. */
function keyOf({ digits, power }: Value, scale: number): string {
  const sign = digits.startsWith('-') ? '-' : '';
  const significant = digits.replace(/^-?0*/, '');
  let length = significant.length;
  while (significant.charAt(length - 1) === '0') length -= 1;
  return length === 0 ? '0' : `${sign}${significant.slice(0, length)}e${power + scale + significant.length - length}`;
}
