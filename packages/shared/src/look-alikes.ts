/** Names that look like other names: letters of two alphabets in one word, or letters of one that look like those of another. */

/** Letters that most fonts draw like the Latin one below them. Not whole: it holds what words can be written with. */
const LOOKS_LIKE = 'аеорсухіјѕһԁԛԝӏѵкАВЕКМНОРСТУХІЈЅԌԚԜӀοανικρυγΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհԱՏՕ';
const LATIN_FOR_IT = 'aeopcyxijshdqwlvkABEKMHOPCTYXIJSGQWIoavikpuyABEZHIKMNOPTYXonughUSO';
const LATIN_OF = new Map(Array.from(LOOKS_LIKE, (letter, index) => [letter, LATIN_FOR_IT[index] ?? letter]));

const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const LATIN = /\p{Script=Latin}/u;
/** Their letters stand beside Latin ones in words of East Asia, and none looks like a Latin one. */
const OTHER_SCRIPT =
  /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Greek}]/u;
/** Greek letters are used as signs in names (`Δt`, `μm`): among Latin ones only those that look like one count. */
const GREEK = /\p{Script=Greek}/u;
/** Letters with a compatibility form, such as `𝐞` or `ｅ`: some languages read them as the plain ones. The ordinals are Spanish. */
const STYLED = /[\p{L}&&[\u{2100}-\u{214F}\u{FB00}-\u{FB06}\u{FF21}-\u{FF5A}\u{1D400}-\u{1D7CB}]]/v;
/** `ℹ` in front of a line's words is a sign, as runners of tests print it; elsewhere it may be the name `i`. */
const SIGN = /(?<=^ {0,8})ℹ(?=\uFE0F? [\p{L}\p{N}])/gmu;
/** Spaces and dots that look like the plain ones. */
const LOOKS_LIKE_MARK = /[\p{Zs}--\x20]|[\u2024\u2044\u2215\u29F8\uFF0E\uFF0F\uA789\uFF1A]/v;
const ASCII = /^[\x20-\x7E\t\n\r]*$/;

/** Words of a text in which letters of other alphabets pass for Latin ones; each once, at most `limit` of them. */
export function lookAlikeWords(text: string, limit: number = 20): readonly string[] {
  if (ASCII.test(text)) return [];
  const found = new Set<string>();
  for (const [word] of text.replaceAll(SIGN, '').matchAll(WORD)) {
    if (!ASCII.test(word) && (isMixed(word) || STYLED.test(word))) found.add(word);
    if (found.size >= limit) break;
  }
  return [...found];
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
