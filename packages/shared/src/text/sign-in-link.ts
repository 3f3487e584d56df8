/** Links that sign a browser in, as the server prints them and as people paste them. */

/** End of the address to which the server sends a browser whose link it refused. */
export const LINK_REFUSED = '#link-refused';

/** The code of a link; `null` for what is no such link. A code alone is none: a token looks like one, and would stand in an address. */
export function codeIn(text: string): string | null {
  const code = URL.parse(text.trim())?.searchParams.get('code') ?? '';
  return /^[\w-]{16,}$/.test(code) ? code : null;
}
