/**
 * Words of others – models, providers, remotes, people – where they stand among our own. A terminal's commands and marks that
 * turn the order of letters round could make ours say something else.
 */

/** A terminal's colours and links, whole: without their first character the rest would stand there as words. */
const TERMINAL =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)8;[^\u0000-\u001f\u007f-\u009f]*(?:\u0007|\u001b\\|\u009c)/g;
const REORDERING = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';
const UNSEEN = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f${REORDERING}]`, 'g');
const UNSEEN_IN_JSON = new RegExp(`[\\u007f-\\u009f${REORDERING}]`, 'g');

/** The same text without control characters and reordering marks; tabs and lines are kept. */
export function plainWords(text: string): string {
  return text.replaceAll(TERMINAL, '').replaceAll(/\r\n?/g, '\n').replaceAll(UNSEEN, '');
}

/** JSON for people to read, in which such characters are escapes: what was stored is to be seen as it is. */
export function plainJson(value: unknown): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return (JSON.stringify(value, null, 2) ?? '').replaceAll(UNSEEN_IN_JSON, escaped);
}
