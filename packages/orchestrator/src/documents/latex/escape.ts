/**
 * Text of others as LaTeX source that sets exactly this text with pdflatex, whatever it holds. Pure.
 *
 * A character that pdflatex cannot set is shown by its number, `[U+65E5]`; Cyrillic is transliterated by ISO 9. Characters that
 * are not seen (controls, bidirectional marks, joiners, tags, variation selectors) are left out.
 */
import {
  ACCENTS,
  isSetAsItIs,
  LOWERED,
  MATHEMATICAL_ACCENTS,
  mathematicsOf,
  RAISED,
  SPECIAL,
  transliterated,
} from './characters.ts';
import { Tex } from './tex.ts';

/** Characters without a space after which a line may be broken at a mark, and after which it may be broken anywhere. */
const PROSE_BREAKS = { atMarks: 24, anywhere: 48 };
const CODE_BREAKS = { atMarks: 8, anywhere: 32 };
const MARK = /[/\\._\-=&?,;:@+]/;

/** Characters that are set otherwise in code: straight quotes, and those that the typewriter face lacks. */
const IN_CODE: Readonly<Record<string, string>> = {
  "'": '\\textquotesingle{}',
  ...Object.fromEntries(Array.from('Ĳĳẞ℠™', (character) => [character, `\\textnormal{${character}}`])),
};

const UNSEEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const SPACES = /\s+/g;
const NO_BREAK_SPACES = new Set(['\u00A0', '\u202F']);
/** Characters that join with their like to another one in T1: quotes and dashes. */
const LIGATES = new Set(["'", ',', '-']);

/** Text on one line of a paragraph. Runs of white space count as one space. The source has balanced braces also for BibTeX. */
export function texText(text: string): Tex {
  return new Tex(setCharacters(text, PROSE_BREAKS, {}));
}

/** The same in a typewriter face, as for inline code: quotes stay straight, and long names may be broken at their marks. */
export function texCode(text: string): Tex {
  return new Tex(`\\texttt{${setCharacters(text, CODE_BREAKS, IN_CODE)}}`);
}

/**
 * An address as a link that shows it whole. Text that is no address of the web is shown as code, without a link.
 * It may stand in arguments of other commands, but not in a heading.
 */
export function texUrl(address: string): Tex {
  const plain = webAddress(address);
  return plain === null ? texCode(address) : new Tex(`\\url{${escapedAddress(plain)}}`);
}

/** The address as `texUrl` shows it, without a link. */
export function texAddress(address: string): Tex {
  const plain = webAddress(address);
  return plain === null ? texCode(address) : new Tex(`\\nolinkurl{${escapedAddress(plain)}}`);
}

/** Template tag for LaTeX: the literal parts are source as written, and values that are no `Tex` are escaped as text. */
export function tex(literals: TemplateStringsArray, ...values: readonly (Tex | string | number)[]): Tex {
  return new Tex(String.raw(literals, ...values.map((value) => asTex(value).source)));
}

function asTex(value: Tex | string | number): Tex {
  return value instanceof Tex ? value : texText(String(value));
}

/**
 * The address in ASCII, with everything percent-encoded that LaTeX or BibTeX would act on but `% # & _`. User names and
 * passwords are left out. `null` where it is no address of http or https.
 */
export function webAddress(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  url.username = '';
  url.password = '';
  const [before = '', ...fragments] = url.href.split('#');
  const whole = [before, fragments.join('%23')].join(fragments.length > 0 ? '#' : '');
  return whole
    .replace(/%(?![0-9A-Fa-f]{2})/g, '%25')
    .replace(/[^A-Za-z0-9\-._:/?#@!&()*+,;=%]/g, (character) => encodedBytes(character));
}

function encodedBytes(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

function escapedAddress(address: string): string {
  return address.replace(/[%#&_]/g, '\\$&');
}

interface Breaks {
  readonly atMarks: number;
  readonly anywhere: number;
}

function setCharacters(text: string, breaks: Breaks, own: Readonly<Record<string, string>>): string {
  const characters = Array.from(visibleText(text));
  let source = '';
  let length = 0;
  let before = '';
  for (let at = 0; at < characters.length;) {
    const piece = pieceAt(characters, at, own);
    const last = characters[at + piece.taken - 1] ?? '';
    const first = characters[at] ?? '';
    if (first === before && LIGATES.has(first)) source += '{}';
    source += piece.source;
    length = first === ' ' ? 0 : length + piece.taken;
    at += piece.taken;
    before = last;
    const isFull = length >= breaks.anywhere || (length >= breaks.atMarks && MARK.test(last));
    if (isFull && at < characters.length && characters[at] !== ' ') {
      source += '\\allowbreak{}';
      length = breaks.atMarks > 8 ? breaks.atMarks : 0;
      before = '';
    }
  }
  return source;
}

function visibleText(text: string): string {
  return (
    text
      .toWellFormed()
      // White space to regular expressions, yet of no width.
      .replaceAll('\uFEFF', '')
      .replace(SPACES, (spaces) => (NO_BREAK_SPACES.has(spaces) ? '\u00A0' : ' '))
      .replace(UNSEEN, '')
      .normalize('NFC')
      .trim()
  );
}

interface Piece {
  readonly source: string;
  /** Number of characters. */
  readonly taken: number;
}

function pieceAt(characters: readonly string[], at: number, own: Readonly<Record<string, string>>): Piece {
  const character = characters[at] ?? '';
  const marks = marksAfter(characters, at);
  if (marks.length > 0) {
    const accented = accentedLetter(character, marks);
    if (accented !== null) return { source: accented, taken: 1 + marks.length };
  }
  const source = sourceOf(character, own);
  if (source !== null) return { source, taken: 1 };
  const run = [character];
  for (let next = at + 1; next < characters.length; next += 1) {
    const candidate = characters[next] ?? '';
    if (sourceOf(candidate, own) !== null || run.length === MOST_IN_BRACKETS) break;
    run.push(candidate);
  }
  return { source: `{[}${run.map(numberOf).join(' ')}{]}`, taken: run.length };
}

const MOST_IN_BRACKETS = 8;
const MOST_ACCENTS = 2;

function numberOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Source of one character; `null` where pdflatex cannot set it. */
function sourceOf(character: string, own: Readonly<Record<string, string>>): string | null {
  const special = own[character] ?? SPECIAL[character];
  if (special !== undefined) return special;
  if (character === '\u00A0') return '~';
  if (/[ -~]/.test(character) || isSetAsItIs(character)) return character;
  const mathematics = mathematicsOf(character);
  if (mathematics !== null) return `\\ensuremath{${mathematics}}`;
  const raised = RAISED.get(character);
  if (raised !== undefined) return `\\textsuperscript{${raised}}`;
  const lowered = LOWERED.get(character);
  if (lowered !== undefined) return `\\textsubscript{${lowered}}`;
  return decomposed(character) ?? latinOf(character, own) ?? wideForm(character, own);
}

/** A letter with accents that Unicode has as one character. */
function decomposed(character: string): string | null {
  const [base = '', ...marks] = Array.from(character.normalize('NFD'));
  return marks.length === 0 ? null : accentedLetter(base, marks);
}

function accentedLetter(base: string, marks: readonly string[]): string | null {
  if (/^[A-Za-z]$/.test(base)) return withAccents(base, marks, ACCENTS);
  const letter = mathematicsOf(base);
  if (letter === null || marks.length > 1) return null;
  const accented = withAccents(letter, marks, MATHEMATICAL_ACCENTS);
  return accented === null ? null : `\\ensuremath{${accented}}`;
}

function withAccents(base: string, marks: readonly string[], accents: Readonly<Record<string, string>>): string | null {
  if (marks.length > MOST_ACCENTS || marks.some((mark) => accents[mark] === undefined)) return null;
  return marks.reduce((inner, mark) => `${accents[mark]}{${inner}}`, base);
}

function latinOf(character: string, own: Readonly<Record<string, string>>): string | null {
  const latin = transliterated(character);
  if (latin === null) return null;
  const [base = '', ...marks] = Array.from(latin.normalize('NFC'));
  if (marks.length > 0 && /\p{M}/u.test(marks[0] ?? '')) return accentedLetter(base, marks);
  return Array.from(latin.normalize('NFC'))
    .map((letter) => sourceOf(letter, own) ?? letter)
    .join('{}');
}

/** Full-width forms and ligatures of Latin letters, as the letters. */
function wideForm(character: string, own: Readonly<Record<string, string>>): string | null {
  if (!/[\uFF01-\uFF5E\uFB00-\uFB06]/.test(character)) return null;
  const parts = Array.from(character.normalize('NFKC')).map((letter) => sourceOf(letter, own));
  return parts.includes(null) ? null : parts.join('{}');
}

/** One more than a letter can have here, at most. */
function marksAfter(characters: readonly string[], at: number): readonly string[] {
  const next = characters.slice(at + 1, at + 2 + MOST_ACCENTS);
  const end = next.findIndex((character) => !/\p{M}/u.test(character));
  return end < 0 ? next : next.slice(0, end);
}
