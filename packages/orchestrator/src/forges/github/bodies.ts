/** Lengths of texts that are sent to a forge or come from one, and the hidden marker of the server's own comments. */
import { ForgeRefusal, MAX_BODY_CHARACTERS, MAX_FOREIGN_CHARACTERS, type OwnComment } from '../forge.ts';

/** @throws {ForgeRefusal} `too_long` */
export function assertLength(body: string, what: string): void {
  if (body.length <= MAX_BODY_CHARACTERS) return;
  throw new ForgeRefusal(
    'too_long',
    `${what} has ${body.length} characters, and GitHub takes ${MAX_BODY_CHARACTERS}. Shorten it.`,
  );
}

/** @param limit characters */
export function clip(
  text: string,
  limit = MAX_FOREIGN_CHARACTERS,
): { readonly text: string; readonly isClipped: boolean } {
  // No half of a surrogate pair is left at the end.
  return text.length <= limit
    ? { text, isClipped: false }
    : { text: text.slice(0, limit).replace(/[\ud800-\udbff]$/, ''), isClipped: true };
}

/** The body as it is sent, with its marker. */
export function markedBody({ marker, body }: OwnComment): string {
  const marked = `${body}\n\n${markOf(marker)}`;
  assertLength(marked, 'The comment');
  return marked;
}

export function hasMarker(body: string, marker: string): boolean {
  return body.includes(markOf(marker));
}

const MARK = '<!-- autonomous:';

function markOf(marker: string): string {
  if (!/^[A-Za-z0-9-]{1,200}$/.test(marker)) throw new Error(`'${marker}' is no marker of a comment`);
  return `${MARK}${marker} -->`;
}
