/**
 * RunSlots that text names: addresses of hosts and repositories, paths and short forms from which a package manager would take
 * code. What looks like none of the usual forms is given as it stands, so that nobody takes it for a known host. Linear. Pure.
 */

/** Where packages come from when nobody says otherwise. */
const USUAL_PLACES: ReadonlySet<string> = new Set([
  // npm's own registry, and yarn's name for it.
  ...['npmjs.org', 'npmjs.com', 'yarnpkg.com'].map((domain) => `https://registry.${domain}`),
  'https://pypi.org',
  'https://files.pythonhosted.org',
  'https://index.crates.io',
  'https://static.crates.io',
  'https://github.com/rust-lang/crates.io-index',
  'https://rubygems.org',
  'https://proxy.golang.org',
  'https://sum.golang.org',
  'https://repo.packagist.org',
  'https://pub.dev',
  'https://hex.pm',
  'https://repo.hex.pm',
]);

/** Hosts that carry everybody's code: there the owner and the repository count as well. */
const FORGES = ['github.com', 'gitlab.com', 'bitbucket.org', 'codeberg.org', 'sr.ht', 'githubusercontent.com'];

/** Schemes that name a place without `//`, and such of an address that is written in an unusual way. */
const SHORT_SCHEMES =
  /(?<![\w+.-])(?:(?:git|hg|svn|bzr|registry|sparse)\+)?(?:file|link|portal|path|exec|patch|github|gitlab|bitbucket|gist|git|ssh|https?|hg|svn|bzr|ftp|data):(?!\/\/)[^\s"',)}\]]+/gi;
/** As `git@host:owner/repository`. */
const SECURE_COPY = /(?<![\w.+-])(?:git@[\w.-]{1,200}|[\w.+-]{1,100}@[\w-]{1,100}\.[\w.-]{1,200}):(?=\S)[^\s"',)}\]]+/g;
/** Of an address; a longer one is none that a package manager writes. */
const MAX_ADDRESS = 2_000;

/** RunSlots that a text names, beside the usual ones. */
export function placesIn(text: string): readonly string[] {
  if (!text.includes(':')) return text.startsWith('//') ? [text.slice(0, 500)] : [];
  const places = [...addressesIn(text)];
  for (const pattern of [SHORT_SCHEMES, SECURE_COPY])
    for (const [place] of text.matchAll(pattern)) if (!isBuiltIn(place)) places.push(place.slice(0, 500));
  // The address goes on in the next line.
  if (/(?<![\w+.-])https?:$/i.test(text.trimEnd())) places.push('https:');
  return places.filter((place) => !USUAL_PLACES.has(place));
}

/** Patches that yarn itself brings along for some packages. */
function isBuiltIn(place: string): boolean {
  return /^patch:[^/#]*#(?:~|optional!|optional!~)?builtin<compat\/\w+>(?:::[\w=&.%+-]*)?$/.test(place);
}

function* addressesIn(text: string): Iterable<string> {
  for (let at = text.indexOf('://'); at !== -1; at = text.indexOf('://', at + 3)) {
    let from = at;
    while (from > 0 && at - from < 30 && /[a-z0-9+.-]/i.test(text[from - 1] ?? '')) from--;
    yield placeOf(text.slice(from, at).toLowerCase(), text.slice(at + 3, at + 3 + MAX_ADDRESS));
  }
}

/** @param rest begins with the host, and has more of the text at its end */
function placeOf(scheme: string, rest: string): string {
  const end = rest.search(/[\s"/?#]/);
  const authority = withoutEnd(end === -1 ? rest : rest.slice(0, end));
  const transport = scheme.split('+').at(-1) ?? scheme;
  // Readers of addresses disagree about the host of anything else.
  const host = /^(?:[\w.~%!$&*+=:-]*@)?([\w-][\w.-]*(?::\d*)?)$/.exec(authority)?.[1]?.toLowerCase();
  if (host === undefined) return `${transport}://${authority}`;
  const path = end === -1 ? '' : (/^[^\s"'`,;)\]}<>#?]*/.exec(rest.slice(end))?.[0] ?? '');
  if (/\.\.|%2e|\\/i.test(path) || end + path.length >= MAX_ADDRESS) return `${transport}://${host}${path}`;
  const isForge = FORGES.some((forge) => host === forge || host.endsWith(`.${forge}`));
  const [, owner, repository] = path.split('/');
  if (!isForge || owner === undefined) return `${transport}://${host}`;
  return `${transport}://${host}/${[owner, ...(repository === undefined ? [] : [repository.replace(/\.git$/, '')])].join('/')}`;
}

/** Without the marks that follow an address in a text. */
function withoutEnd(authority: string): string {
  let end = authority.length;
  while (end > 0 && "`'),;]}>".includes(authority[end - 1] ?? '')) end--;
  return authority.slice(0, end);
}

/** Is it the path of a file or folder, or the short form `owner/repository`, where a version would stand otherwise? */
export function isPathLike(value: string): boolean {
  return /^(?:\.\.?$|~?[/\\]|[^\d\s(:][^\s(:]*[/\\])/.test(value);
}

/**
 * The other package that a dependency is by an alias such as `npm:other@^1.0.0`; `null` where it is none.
 * @param name may have a range at its end, as the keys of overrides have
 */
export function aliasOf(name: string, specifier: string): string | null {
  const other = /^\s*npm:((?:@[\w.~-]+\/)?[\w.~-]+)/.exec(specifier)?.[1];
  return other === undefined || other === name || name.startsWith(`${other}@`) ? null : other;
}

/**
 * Is a dependency of a package.json taken from elsewhere than a registry? Whatever has a scheme or a path in it is, and the name
 * of an archive.
 */
export function isElsewhere(specifier: string): boolean {
  const text = specifier.trim();
  if (/^npm:(?:@[\w.~-]+\/)?[\w.~-]+(?:@[^:/\\]*)?$/.test(text)) return false;
  if (/^(?:workspace|catalog):/.test(text)) return placesIn(text.slice(text.indexOf(':') + 1)).length > 0;
  return /[:/\\]/.test(text) || text.startsWith('.') || /\.(?:tgz|tar|tar\.gz)$/i.test(text);
}
