/** Keys of manifests and sources of lockfiles that can run code by themselves, as text by key. Line-wise, in linear time. Pure. */

/** What of a file's text counts: an empty value where the key says it all. */
export type ReadKeys = (text: string) => ReadonlyMap<string, string>;

const MANIFESTS: Readonly<Record<string, ReadKeys>> = {
  'package.json': (text) =>
    jsonKeys(text, [
      'scripts',
      'bin',
      'gypfile',
      'packageManager',
      'devEngines',
      'pnpm',
      'trustedDependencies',
      'husky',
      'gitHooks',
      'simple-git-hooks',
      'pre-commit',
      'lint-staged',
      ...FOREIGN_DEPENDENCIES,
    ]),
  'composer.json': (text) => jsonKeys(text, ['scripts', 'bin', 'repositories', 'config']),
  'deno.json': (text) => jsonKeys(text, ['tasks', 'imports']),
  'deno.jsonc': (text) => sections(text, () => true),
  'pyproject.toml': (text) =>
    sections(text, (name) =>
      /^(?:build-system|project\.(?:scripts|gui-scripts|entry-points)|tool\.(?:poetry\.(?:scripts|plugins|build|source)|hatch\.(?:build|env)|pdm\.(?:build|scripts|source)|setuptools\.cmdclass|uv\.(?:index|sources|pip)|poe\.tasks))\b/.test(
        name,
      ),
    ),
  'setup.cfg': (text) => sections(text, (name) => /^(?:options\.entry_points|easy_install|install|build)/.test(name)),
  'cargo.toml': (text) =>
    sections(
      text,
      (name) => /^(?:build-dependencies|patch|replace|target\..*build-dependencies)/.test(name),
      (name, line) => name === 'package' && /^\s{0,20}(?:build|links)\s{0,20}=/.test(line),
    ),
  'go.mod': (text) => matching(text, /^\s{0,20}(?:replace|toolchain|tool)\s|=>/),
};

/** Of a package.json: dependencies that come from elsewhere than a registry. */
const FOREIGN_DEPENDENCIES = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
  'overrides',
  'resolutions',
];

const LOCKFILES: ReadonlySet<string> = new Set([
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'deno.lock',
  'cargo.lock',
  'poetry.lock',
  'uv.lock',
  'pdm.lock',
  'pipfile.lock',
  'pipfile',
  'gemfile',
  'gemfile.lock',
  'composer.lock',
  'go.sum',
  'mix.lock',
  'pubspec.lock',
  'package.resolved',
  'packages.lock.json',
  'podfile.lock',
  'flake.lock',
  'conan.lock',
]);

/** Where packages come from when nobody says otherwise. */
const USUAL_HOSTS: ReadonlySet<string> = new Set([
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

/** How to read a manifest, by its name in small letters; `null` for any other file. */
export function manifestKeys(name: string): ReadKeys | null {
  return MANIFESTS[name] ?? null;
}

/** How to read a lockfile, by its name in small letters; `null` for any other file. */
export function lockfileSources(name: string): ReadKeys | null {
  if (LOCKFILES.has(name)) return name === 'composer.lock' ? composerSources : sourcesIn;
  const isRequirements = name.endsWith('.txt') && (name.includes('requirements') || name.startsWith('constraints'));
  return isRequirements ? (text) => new Map([...sourcesIn(text), ...matching(text, /^\s{0,20}-{1,2}[a-z]/i)]) : null;
}

function jsonKeys(text: string, keys: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (text.trim() === '') return found;
  let json: unknown;
  try {
    json = JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch {
    return new Map([['it is no JSON, so that nobody knows what it runs', text]]);
  }
  for (const key of keys) {
    const value = valueOf(json, key);
    const isForeign = FOREIGN_DEPENDENCIES.includes(key);
    for (const [name, text_] of entriesOf(key, value)) if (!isForeign || isElsewhere(text_)) found.set(name, text_);
  }
  return found;
}

function valueOf(json: unknown, key: string): unknown {
  return typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>)[key] : undefined;
}

/** `scripts.test`, and the like one level deep. */
function entriesOf(key: string, value: unknown): readonly (readonly [string, string])[] {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'object' || Array.isArray(value)) return [[key, asText(value)]];
  return Object.entries(value).map(([name, each]) => [`${key}.${name}`, asText(each)]);
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A version is a version; whatever has a scheme or a path in it is fetched from there. */
function isElsewhere(specifier: string): boolean {
  return /[:/]/.test(specifier) && !/^(?:workspace|npm|catalog|\{)/.test(specifier);
}

/** The text of sections `[name]` that count, by their name; single lines of others where `isLine` says so. */
function sections(
  text: string,
  isSection: (name: string) => boolean,
  isLine: (name: string, line: string) => boolean = () => false,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let name = '';
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    if (trimmed.startsWith('[')) name = trimmed.replaceAll(/[[\]"'\s]/g, '').slice(0, 200);
    if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith(';')) continue;
    if (isSection(name))
      found.set(`[${name}]`, `${found.get(`[${name}]`) ?? ''}${trimmed.startsWith('[') ? '' : `${trimmed}\n`}`);
    else if (isLine(name, line)) found.set(`[${name}] ${trimmed}`, '');
  }
  return found;
}

function matching(text: string, pattern: RegExp): ReadonlyMap<string, string> {
  return new Map(
    text
      .split('\n')
      .map((line) => line.slice(0, 1_000))
      .filter((line) => pattern.test(line))
      .map((line) => [line.trim(), '']),
  );
}

/** Hosts, repositories and paths from which a lockfile takes packages. */
function sourcesIn(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const whole of text.split('\n')) {
    const line = whole.length > 20_000 ? whole.slice(0, 20_000) : whole;
    // Whom to pay for a package is no place that it comes from.
    if (/^\s{0,40}"?(?:url|funding|homepage|deprecated)"?\s{0,4}:/.test(line)) continue;
    for (const source of sourcesOfLine(line)) found.set(`packages from ${source}`, '');
  }
  return found;
}

function sourcesOfLine(line: string): string[] {
  const sources: string[] = [];
  for (const [, scheme = '', rest = ''] of line.matchAll(
    /([a-z][a-z0-9+.-]{0,20}):\/\/([^\s"'`,;)\]}<>#?]{1,500})/gi,
  )) {
    const source = placeOf(scheme.toLowerCase(), rest);
    if (!USUAL_HOSTS.has(source)) sources.push(source);
  }
  for (const [, local = ''] of line.matchAll(/(?:^|[\s"'@=])((?:file|link|portal|path):(?!\/\/)[^\s"',)}\]]{1,300})/gi))
    sources.push(local);
  for (const [, remote = ''] of line.matchAll(/(?:^|[\s"'@=])(git@[^\s"',)}\]]{1,300})/gi)) sources.push(remote);
  return sources;
}

function placeOf(scheme: string, rest: string): string {
  const [authority = '', ...parts] = rest.split('/');
  const host = (authority.split('@').at(-1) ?? '').toLowerCase();
  const transport = scheme.split('+').at(-1) ?? scheme;
  const isForge = FORGES.some((forge) => host === forge || host.endsWith(`.${forge}`));
  const path = isForge ? parts.slice(0, 2).map((part) => `/${part.replace(/\.git$/, '')}`) : [];
  return `${transport}://${host}${path.join('')}`;
}

/** Packages of a composer.lock name their source and their archive; its other addresses are for people. */
function composerSources(text: string): ReadonlyMap<string, string> {
  if (text.trim() === '') return new Map();
  try {
    const json: unknown = JSON.parse(text);
    const packages = ['packages', 'packages-dev'].flatMap((key) => {
      const list = valueOf(json, key);
      return Array.isArray(list) ? (list as unknown[]) : [];
    });
    const urls = packages.flatMap((each) =>
      ['source', 'dist'].map((key) => asText(valueOf(valueOf(each, key), 'url') ?? '')),
    );
    return sourcesIn(urls.join('\n'));
  } catch {
    return new Map([['it is no JSON, so that nobody knows where its packages come from', text]]);
  }
}
