/**
 * Words of others – models, providers, remotes, people – where they stand among our own. A terminal's commands and marks that
 * turn the order of letters round could make ours say something else.
 */
import { replaceHidden, showHidden } from './hidden-characters.ts';

/** A terminal's colours, character sets and links, whole: without their first character the rest would stand there as words. */
const TERMINAL =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[()][0-9A-Z]|(?:\u001b\]|\u009d)8;[^\u0000-\u001f\u007f-\u009f]*(?:\u0007|\u001b\\|\u009c)/g;

/**
 * The same text without a terminal's colours and links, and with an escape such as ⟨U+202E⟩ in place of each other character
 * that is not seen. Tabs and lines are kept.
 */
export function sanitizeText(text: string): string {
  return showHidden(withoutTerminal(text));
}

/** The text without a terminal's colours and links, its lines ended by newlines: for surfaces that show escapes by themselves. */
export function withoutTerminal(text: string): string {
  return text.replaceAll(TERMINAL, '').replaceAll(/\r\n?/g, '\n');
}

/** The first line of a text that says anything, such as a request's title, with single spaces. */
export function firstLineOf(text: string): string {
  const [line = ''] = withoutTerminal(text).trimStart().split('\n', 1);
  return line.replaceAll(/\s+/g, ' ').trim();
}

/** JSON for people to read, in which such characters are escapes: it means the same, and what was stored is seen as it is. */
export function plainJson(value: unknown, indent: number = 2): string {
  return replaceHidden(JSON.stringify(value, null, indent) ?? '', (character) =>
    Array.from({ length: character.length }, (_, index) => escapeUnit(character.charCodeAt(index))).join(''),
  );
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
