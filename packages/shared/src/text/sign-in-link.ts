/** Links that sign a browser in, as the server prints them and as people paste them. */

/** End of the address to which the server sends a browser whose link it refused. */
export const LINK_REFUSED = '#link-refused';

/**
 * The first link in a pasted text, such as the line that the server printed; `null` if it does not sign in. A code alone does
 * not: a token looks like one, and would stand in an address.
 */
export function signInLinkIn(text: string): { readonly code: string; readonly origin: string } | null {
  const url = URL.parse(/https?:\/\/[^\s"'<>()]+/.exec(text)?.[0] ?? '');
  const code = url?.searchParams.get('code') ?? '';
  return url !== null && /^[\w-]{16,}$/.test(code) ? { code, origin: url.origin } : null;
}
