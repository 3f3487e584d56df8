/**
 * Characters that a screen does not show, or that change how it shows others: control, zero-width, reordering, tag and
 * private-use characters. Every surface shows them as escapes such as ⟨U+202E⟩, so that a person decides on the text that
 * is there.
 */

/** A part of a text: as it is, or the escape of one hidden character. */
export interface TextPart {
  readonly text: string;
  readonly isHidden: boolean;
}

/**
 * Unicode's own sets of what has no shape or no agreed one, and two blanks that are letters to a program. Tabs and newlines
 * are layout; the Arabic, Syriac and Kaithi number signs among the format characters are drawn.
 */
const HIDDEN =
  '[[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Co}\\p{Default_Ignorable_Code_Point}\\u2800\\u{1D159}]--[\\t\\n\\u0600-\\u0605\\u06DD\\u070F\\u0890\\u0891\\u08E2\\u{110BD}\\u{110CD}]]';

/** Scripts in which the joiners U+200C and U+200D are spelling. */
const JOINED = [
  'Arab',
  'Syrc',
  'Mong',
  'Deva',
  'Beng',
  'Guru',
  'Gujr',
  'Orya',
  'Taml',
  'Telu',
  'Knda',
  'Mlym',
  'Sinh',
  'Khmr',
];
const JOINED_LETTER = `[[${JOINED.map((script) => `\\p{Script_Extensions=${script}}`).join('')}]&&[\\p{L}\\p{M}]]`;

/**
 * Hidden characters that are part of what is seen: the end of a line, within an emoji, between letters that they join. Each
 * alternative begins with such a character and looks a bounded distance around it.
 */
const IN_PLACE = [
  '\\r(?=\\n|$)',
  '(?<=\\p{Extended_Pictographic})\\uFE0F',
  '(?<=[0-9#*])\\uFE0F(?=\\u20E3)',
  '(?<=\\p{Extended_Pictographic}(?:\\uFE0F|\\p{Emoji_Modifier})?)\\u200D(?=\\p{Extended_Pictographic})',
  // The flags of England, Scotland and Wales, the only sequences of tags in use.
  '(?<=\\u{1F3F4})\\u{E0067}\\u{E0062}(?:\\u{E0065}\\u{E006E}\\u{E0067}|\\u{E0073}\\u{E0063}\\u{E0074}|\\u{E0077}\\u{E006C}\\u{E0073})\\u{E007F}',
  `(?<=${JOINED_LETTER})[\\u200C\\u200D](?=${JOINED_LETTER})`,
].join('|');

// oxlint-disable-next-line autonomous/linear-expressions -- each alternative is one hidden character, or some, and looks at most four characters around it
const SEEN_OR_HIDDEN = new RegExp(`${IN_PLACE}|(?<hidden>${HIDDEN})`, 'gv');

/** The text with an escape in place of each hidden character. Nothing is left out; tabs and line ends stay. */
export function showHidden(text: string): string {
  return replaceHidden(text, escapeOf);
}

/** The same for a text that is to be one line, such as a file's name: line ends and tabs are escapes as well. */
export function showHiddenInLine(text: string): string {
  return showHidden(text.replaceAll(/[\t\n\r]/g, escapeOf));
}

/** As `showHidden`, in parts, for surfaces that set escapes apart from text that only looks like one. */
export function splitHidden(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const { index, character } of hiddenIn(text)) {
    if (index > end) parts.push({ text: text.slice(end, index), isHidden: false });
    parts.push({ text: escapeOf(character), isHidden: true });
    end = index + character.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isHidden: false });
  return parts;
}

/** Replaces each hidden character and keeps everything else. */
export function replaceHidden(text: string, replacement: (character: string) => string): string {
  return text.replaceAll(SEEN_OR_HIDDEN, (match: string, ...rest: readonly unknown[]) => {
    const groups = rest.at(-1) as { readonly hidden?: string };
    return groups.hidden === undefined ? match : replacement(groups.hidden);
  });
}

/** How many hidden characters there are of each kind, by name such as `U+202E`, in the order of their first place. */
export function countHidden(texts: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const { character } of hiddenIn(text)) {
      const name = nameOf(character);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

function* hiddenIn(text: string): Generator<{ readonly index: number; readonly character: string }> {
  for (const { index, groups } of text.matchAll(SEEN_OR_HIDDEN)) {
    if (groups?.['hidden'] !== undefined) yield { index, character: groups['hidden'] };
  }
}

function escapeOf(character: string): string {
  return `⟨${nameOf(character)}⟩`;
}

function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
