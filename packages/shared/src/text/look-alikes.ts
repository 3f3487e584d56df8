/**
 * Names that look like other names: letters of two alphabets in one word, letters of one that look like those of another,
 * letters that some compilers read as plain ones, and characters that look like plain marks and blanks.
 */

/** Letters that most fonts draw like the Latin one below them. Not whole: it holds what words can be written with. */
const LOOKS_LIKE = 'аеорсухіјѕһԁԛԝӏѵкАВЕКМНОРСТУХІЈЅԌԚԜӀοανικρυγΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհԱՏՕ';
const LATIN_FOR_IT = 'aeopcyxijshdqwlvkABEKMHOPCTYXIJSGQWIoavikpuyABEZHIKMNOPTYXonughUSO';
const LATIN_OF = new Map(Array.from(LOOKS_LIKE, (letter, index) => [letter, LATIN_FOR_IT[index] ?? letter]));

/** Circled letters are signs to Unicode and letters to an eye. */
const WORD = /[\p{L}\p{M}\p{N}_\u24B6-\u24E9]+/gu;
const LATIN = /\p{Script=Latin}/u;
/** Their letters stand beside Latin ones in words of East Asia, and none looks like a Latin one. */
const OTHER_SCRIPT =
  /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Greek}]/u;
/** Greek letters are used as signs in names (`Δt`, `μm`): among Latin ones only those that look like one count. */
const GREEK = /\p{Script=Greek}/u;
/** Letters with a compatibility form, such as `𝐞` or `ｅ`: some languages read them as the plain ones. The ordinals are Spanish. */
const STYLED = /[\p{L}&&[\u{2100}-\u{214F}\u{FB00}-\u{FB06}\u{FF21}-\u{FF5A}\u{1D400}-\u{1D7CB}]]/v;
/** `ℹ` in front of a line's words is a sign, as runners of tests print it; elsewhere it may be the name `i`. */
const SIGN = /(?<=(?:^|\\n) {0,8})ℹ(?=\uFE0F? [\p{L}\p{N}])/gmu;
/** Letters and signs of which the compatibility form may have letters of ASCII: `ᵉ`, `ſ`, `ⅽ`, `ⓔ`. */
const FOLDED = /[[\p{L}\p{Nl}\u24B6-\u24E9]--[\u0000-\u00BE]]/gv;
/** Raised endings of ordinals, as in `XXᵉ`, and a numeral by itself. */
const NUMERAL = /^(?:(?:\d{1,9}|[IVXLCDM]{1,9})[ᵃᵉʳᵈˢᵗʰⁿᵒ]{1,4}|\p{Nl})$/u;
/**
 * Letters, signs and overlays that look like `! ; : , . = < > ^ \` ~ / | _ *`. Apostrophes are left out, since letters of some
 * languages are written with them, and full-width marks, which stand in texts of East Asia.
 */
const MARK =
  '\\u01C0-\\u01C3\\u02C2\\u02C3\\u02C6\\u02C8\\u02CA-\\u02CD\\u02D0\\u02D1\\u02DC\\u02F8\\u0332\\u0335-\\u0338\\u037E\\u0589\\u05C0\\u05C3\\u066A\\u1363\\u1365\\u16EB\\u16EC\\u1FEF\\u2024\\u2044\\u204E\\u204F\\u205A\\u20D2\\u20E5\\u2215\\u2217\\u2223\\u2236\\u223C\\u2758\\u29F5\\u29F8\\uA4F8-\\uA4FF\\uA78A\\uA789\\uFE52\\uFE54\\uFE55\\uFE68';
/** One of them beside a character of ASCII, and a blank between two, where neither spelling nor figures ask for it. */
// oxlint-disable-next-line autonomous/linear-expressions -- one character, and one beside it
const MARK_OR_BLANK = new RegExp(
  `(?<=[\\x21-\\x7E])[${MARK}]|[${MARK}](?=[\\x21-\\x7E])|(?<=[\\x21-\\x7E])(?:[\\p{Zs}--[\\x20\\u00A0\\u202F\\u2009]]|(?<!\\d)[\\u00A0\\u202F\\u2009](?![!?:;%]))(?=[\\x21-\\x7E])`,
  'v',
);
/** Spaces and marks that look like the plain ones, in a name. */
// oxlint-disable-next-line autonomous/linear-expressions -- one character
const LOOKS_LIKE_MARK = new RegExp(`[\\p{Zs}--\\x20]|[${MARK}\\uFF0E\\uFF0F\\uFF1A]`, 'v');
const ASCII = /^[\x20-\x7E\t\n\r]*$/;

/** Words of a text in which letters of other alphabets pass for Latin ones; each once, at most `limit` of them. */
export function lookAlikeWords(text: string, limit: number = 20): readonly string[] {
  if (ASCII.test(text)) return [];
  const found = new Set<string>();
  for (const [word] of text.replaceAll(SIGN, '').matchAll(WORD)) {
    if (!ASCII.test(word) && (isMixed(word) || STYLED.test(word) || isFolded(word))) found.add(word);
    if (found.size >= limit) break;
  }
  return [...found];
}

/**
 * Marks and blanks of a text that only look like plain ones, each with what stands around it up to the next plain blank;
 * at most `limit` of them, each once.
 */
export function lookAlikeMarks(text: string, limit: number = 20): readonly string[] {
  if (ASCII.test(text)) return [];
  const found = new Set<string>();
  for (const [part] of text.matchAll(/[^ \t\r\n]{1,200}/g)) {
    if (!ASCII.test(part) && MARK_OR_BLANK.test(part)) found.add(aroundMark(part));
    if (found.size >= limit) break;
  }
  return [...found];
}

/** The mark with a few characters on each side, up to brackets, commas and the like. */
function aroundMark(part: string): string {
  const at = part.search(MARK_OR_BLANK);
  const before = /[^()[\]{},]{0,40}$/.exec(part.slice(0, at))?.[0] ?? '';
  const after = /^[^()[\]{},]{0,40}/.exec(part.slice(at))?.[0] ?? '';
  return before + after;
}

/** Why a name of a file or a person may be taken for another; `null` where nothing says so. */
export function lookAlikeFault(name: string): string | null {
  if (ASCII.test(name)) return null;
  if (LOOKS_LIKE_MARK.test(name)) return 'its name holds a space or mark that only looks like a plain one';
  const [mixed] = lookAlikeWords(name, 1);
  if (mixed !== undefined) return `its name mixes letters of several alphabets (${spelledOut(mixed)})`;
  const whole = [...name.matchAll(WORD)].map(([word]) => word).find(looksLatin);
  return whole === undefined ? null : `its name looks like '${plainLetters(whole)}' and is not (${spelledOut(whole)})`;
}

/** The word with a mark behind each letter that is not ASCII: `а⟨U+0430⟩pp`. */
export function spelledOut(word: string): string {
  return Array.from(word)
    .map((letter) => {
      const code = letter.codePointAt(0) ?? 0;
      return code < 128 ? letter : `${letter}⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    })
    .join('');
}

/** A letter of it is another form of one of ASCII. */
function isFolded(word: string): boolean {
  if (NUMERAL.test(word)) return false;
  return [...word.matchAll(FOLDED)].some(([letter]) => /[A-Za-z0-9]/.test(letter.normalize('NFKC')));
}

function isMixed(word: string): boolean {
  if (!LATIN.test(word)) return false;
  return OTHER_SCRIPT.test(word) || Array.from(word).some((letter) => GREEK.test(letter) && LATIN_OF.has(letter));
}

/** Every letter looks like a Latin one. One letter alone is a word of its own language, or a sign. */
function looksLatin(word: string): boolean {
  return (
    word.length > 1 &&
    !ASCII.test(word) &&
    Array.from(word).every((letter) => LATIN_OF.has(letter) || ASCII.test(letter))
  );
}

/** The name with the Latin letters that its letters look like. */
export function plainLetters(name: string): string {
  return Array.from(name, (letter) => LATIN_OF.get(letter) ?? letter).join('');
}
