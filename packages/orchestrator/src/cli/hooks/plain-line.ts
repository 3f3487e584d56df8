/** Text of files as one line that a person or an agent is shown. Pure. */

const ELLIPSIS = '…';

/** The text in one line without control characters and characters that are not seen, at most `maxLength` characters of it. */
export function plainLine(text: string, maxLength: number): string {
  const flat = text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, '')
    .trim();
  return flat.length > maxLength ? `${flat.slice(0, maxLength).toWellFormed()}${ELLIPSIS}` : flat;
}
