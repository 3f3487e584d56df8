/** Addresses of pages, compared by what they lead to. Pure. */

/** Parameters that tell where a reader comes from, and not which page is meant. Those that begin with `utm_` are dropped as well. */
const TRACKING: ReadonlySet<string> = new Set(
  '_ga _gl _hsenc _hsmi dclid fbclid gad_source gbraid gclid gclsrc igshid mc_cid mc_eid mkt_tok msclkid ref_src ref_url spm srsltid twclid vero_id wbraid wickedid yclid'.split(
    ' ',
  ),
);

/**
 * One form for all addresses of a page: without scheme (`http` and `https`), credentials, `www.`, default port, fragment, tracking
 * parameters and slashes at the end; with the host in small letters, percent-encoding only where it is needed, and parameters in
 * alphabetical order. Text that is no address of the web is returned without the white space around it.
 */
export function normalisedAddress(address: string): string {
  const text = address.trim();
  const url = URL.parse(/^https?:/i.test(text) ? text : `https://${text.replace(/^\/\//, '')}`);
  if (url === null || !isWebHost(url.hostname) || /^[a-z][a-z\d+.-]*:(?!\d)/i.test(text.replace(/^https?:/i, '')))
    return text;
  const host = url.hostname.replace(/\.$/, '').replace(/^www\./, '');
  const isDefault = url.port === '' || url.port === '80' || url.port === '443';
  const path = withoutNeedlessEscapes(url.pathname);
  return `${host}${isDefault ? '' : `:${url.port}`}${withoutEndSlashes(path)}${queryOf(url.searchParams)}`;
}

function isWebHost(host: string): boolean {
  return host.includes('.') || host === 'localhost' || host.startsWith('[');
}

/** `%7E` is `~`, and `%c3` is `%C3`. Escapes of characters with a meaning, such as `%2F`, stay. */
function withoutNeedlessEscapes(path: string): string {
  return path.replace(/%[\da-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
  });
}

function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (path.charAt(end - 1) === '/') end -= 1;
  return path.slice(0, end);
}

function queryOf(parameters: URLSearchParams): string {
  const kept = [...parameters]
    .filter(([name]) => !TRACKING.has(name.toLowerCase()) && !name.toLowerCase().startsWith('utm_'))
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .sort();
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}
