/**
 * Brings the text of a page and a quote of it into one form, so that a quote is found whatever typography, line breaks and Markdown
 * marks the two have. Pure, and linear in the length of the text.
 */

/** A text in the form in which quotes are compared. Made by `normalised` only, once per page. */
export interface NormalisedText {
  readonly normalised: string;
}

/**
 * The comparable form of a text. Case is kept. Each rule looks at a few characters around a mark and applies to pages and quotes
 * alike, so that a quote from the middle of a paragraph gets the form that it has in the paragraph.
 *
 * - Unicode NFKC, which also resolves ligatures (`ﬁ`), `…` and full-width letters. Digits of all scripts are those of ASCII. Fractions and exponents keep their value: `3½`
 *   is `3 1/2`, `10⁶` is `10^6`. `™`, `®` and `©` are dropped.
 * - Soft hyphens, zero-width and other invisible characters are removed.
 * - Typographic quotation marks become `'` or `"`, dashes `-`. A dash between words (`—`, `--`, ` - `) is a space; one between digits
 *   stands without spaces.
 * - Hyphens between letters are dropped, also at a line end: `exam-⏎ple` is `example`, and `well-known` is `wellknown` on both sides.
 *   Beside a digit the hyphen stays and the line break goes (`COVID-⏎19`).
 * - Every run of white space is one space. Beside a character of a script without spaces (Han, Kana, Thai …) it is nothing.
 * - Markdown: targets of links and images, brackets, emphasis, code marks, headings, block quotes, list marks, table bars, escapes,
 *   lines of rule characters, HTML tags and the usual entities are dropped; the words stay. Marks of footnotes (`[12]`, `[^a]`,
 *   `[3, 4]`, `[note 1]`, `[citation needed]`, a superscript number behind a word) are dropped as a whole.
 */
export function normalised(text: string): NormalisedText {
  return { normalised: readable(text).replace(/(?<=\p{L})- ?(?=\p{L})/gu, '') };
}

/** The same form in which hyphens within a line are kept. */
export function readable(text: string): string {
  const lines = withoutLineMarks(plainCharacters(text).split(LINE_BREAK));
  return withOneSpace(joinedHyphens(withoutInlineMarks(lines.map((line) => line.trim()).join('\n'))));
}

/** One character of a script that is written without spaces between words. */
export const SPACELESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

export const LINE_BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
// oxlint-disable-next-line autonomous/linear-expressions -- a space, and one character beside it
const BETWEEN_SPACELESS = new RegExp(`(?<=${SPACELESS.source}) | (?=${SPACELESS.source})`, 'gu');

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  nbsp: ' ',
  shy: '\u00ad',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: "'",
  rsquo: "'",
  ldquo: '"',
  rdquo: '"',
};

/** Everything that one character, or a few, decide. */
function plainCharacters(text: string): string {
  return text
    .replace(/&(#39|[a-z]{2,6});/g, (entity: string, name: string) => ENTITIES[name] ?? entity)
    .replace(/<sup>([\d,–-]{1,20})<\/sup>/gi, (_, digits: string) => asSuperscript(digits))
    .replace(/<\/?([a-z]{1,6})(?:\s[^<>]{0,200})?\/?>/gi, (tag: string, name: string) =>
      tagText(tag, name.toLowerCase()),
    )
    .replace(/\u00ad[ \t]{0,9}(?:\r?\n[ \t]{0,9})?/g, '')
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}™℠®©]/gu, '')
    .replace(/(?<=\d)(?=[¼-¾⅐-⅞])/gu, ' ')
    .replace(/[⁰¹²³⁴-⁹⁻]+/gu, superscriptText)
    .normalize('NFKC')
    .replace(/(?![0-9])\p{Nd}/gu, asciiDigit)
    .replace(/\u066b/g, '.')
    .replace(/\u066c/g, ',')
    .replace(/\u2044/g, '/')
    .replace(/[“”„‟«»″〝〞]/gu, '"')
    .replace(/[‘’‚‛‹›′´ʼ]/gu, "'")
    .replace(/[‐‑‒–−﹣]/gu, '-')
    .replace(/[—―⸺⸻﹘]|(?<!-)---?(?!-)/gu, ' - ');
}

/** The digits of a script follow each other in Unicode, from zero to nine. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value);
}

function asSuperscript(digits: string): string {
  return Array.from(digits.replace(/\D/g, ''), (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.charAt(Number(digit))).join('');
}

const BLOCK_TAGS: ReadonlySet<string> = new Set('br hr p div li ul ol tr td th table'.split(' '));
const INLINE_TAGS: ReadonlySet<string> = new Set(
  'a abbr b cite code del em i ins kbd mark q s small span strong sub sup u wbr'.split(' '),
);

/** Nothing for a tag within a word, a line break for one between lines; other words in angle brackets are text. */
function tagText(tag: string, name: string): string {
  if (BLOCK_TAGS.has(name)) return '\n';
  return INLINE_TAGS.has(name) ? '' : tag;
}

/** An exponent behind digits or a short unit (`km²`); the mark of a footnote behind a word, a year or punctuation. */
function superscriptText(run: string, at: number, whole: string): string {
  const before = whole.slice(Math.max(0, at - 5), at);
  const isYear = /(?:^|\D)(?:1[5-9]|20)\d\d$/.test(before);
  const isExponent = !isYear && (/\d$/.test(before) || /(?:^|[^\p{L}])\p{L}{1,3}$/u.test(before));
  return isExponent ? `^${run}` : '';
}

/** Drops the marks at the beginning of lines, and lines that consist of marks. */
function withoutLineMarks(lines: readonly string[]): readonly string[] {
  // As in Markdown, a number other than 1 begins an item only behind a blank line or another item; elsewhere it is text.
  let mayNumber = true;
  return lines.map((line) => {
    const text = withoutQuoteMarks(line);
    if (text.trim() === '') mayNumber = true;
    if (/^[ \t]*(?:```|~~~)/.test(text) || /^[\s|:+*=_-]*$/.test(text)) return '';
    const mark = /^[ \t]*(?:[-+*•◦▪‣·●○■]|(\d{1,2})[.)])[ \t]+(?:\[[ xX]\][ \t])?/u.exec(text);
    const isMark = mark !== null && (mark[1] === undefined || mark[1] === '1' || mayNumber);
    mayNumber = isMark || (mayNumber && /^[ \t]/.test(text));
    return isMark ? text.slice(mark[0].length) : text;
  });
}

function withoutQuoteMarks(line: string): string {
  const marks = /^[ \t>]*/.exec(line)?.[0] ?? '';
  return marks.includes('>') ? line.slice(marks.length) : line;
}

const LINK_TARGET = /\]\((?:[^()\s]|\([^()\s]*\))*(?:[ \t]"[^"\n]*")?\)/g;
const FOOTNOTE_LINK = /(?<!\[)\[(\d{1,3})\]\(([^()\s]{0,250})\)/g;
const FOOTNOTE =
  /[ \t]?\[{1,2}(?:\^[\w-]{1,40}|\d{1,3}(?:[,;-] ?\d{1,3}){0,9}|[a-z]|(?:note|nb|n) \d{1,3}|citation needed)\]{1,2}/g;

function withoutInlineMarks(text: string): string {
  return text
    .replace(/\\([!-/:-@[-`{-~])/g, '$1')
    .replace(FOOTNOTE_LINK, (_, digits: string, target: string) => (target.includes('#') ? '' : digits))
    .replace(LINK_TARGET, ']')
    .replace(/\]\[[^[\]\n]{0,100}\]/g, ']')
    .replace(FOOTNOTE, '')
    .replace(/!(?=\[)|[[\]]/g, '')
    .replace(/`|~~/g, '')
    .replace(/\*+/g, (marks: string, at: number, whole: string) => (isWithin(/\d/, marks, at, whole) ? marks : ''))
    .replace(/_+/g, (marks: string, at: number, whole: string) =>
      isWithin(/[\p{L}\p{N}]/u, marks, at, whole) ? marks : '',
    )
    .replace(/\|/g, ' ');
}

/** True where a run of marks stands between two characters of a kind: `snake_case`, `2*3`. */
function isWithin(kind: RegExp, marks: string, at: number, whole: string): boolean {
  return kind.test(whole.charAt(at - 1)) && kind.test(whole.charAt(at + marks.length));
}

/** Joins what a hyphen and a line break divide. */
function joinedHyphens(text: string): string {
  return text.replace(/(?<=\p{L})-\n(?=\p{L})/gu, '').replace(/(?<=[\p{L}\p{N}])-\n(?=[\p{L}\p{N}])/gu, '-');
}

function withOneSpace(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/(?<=\d) ?- (?=\d)/g, '-')
    .replace(/(?:^| )(?:-+|#{1,6}|[•◦▪‣·●○■])(?= |$)/gu, '')
    .replace(/ (?=[,.;:!?](?: |$))/g, '')
    .replace(BETWEEN_SPACELESS, '')
    .trim();
}
