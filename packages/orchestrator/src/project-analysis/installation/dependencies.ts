/**
 * Finds packages that a result depends on and its base did not, read from lockfiles. A person should see them before a
 * misspelt or invented package name enters the project. Pure. It reports what package managers wrote and does not judge
 * it.
 *
 * Agents write these files and the server's event loop reads them, so each reader takes time linear in the text.
 * Patterns are anchored at the beginning of single lines: a pattern that searches a whole text takes quadratic time.
 */
import type { NewDependency } from '@autonomous/shared';

/** Text of files by path; a file that is absent is not there. */
export type Files = ReadonlyMap<string, string>;

interface Package {
  readonly name: string;
  readonly version: string;
  readonly hasInstallScript?: boolean;
  /** Address that the file takes it from. */
  readonly resolved?: string | undefined;
  /** Checksum or commit that the file binds it to. */
  readonly integrity?: string | undefined;
  /** Part of the project itself: never listed. */
  readonly isOwn?: boolean;
}

/** A person reads the list; what is beyond it is in the diff. */
const LISTED = 200;
const VERSIONS_LISTED = 10;
const MAX_SOURCE = 300;

/** Where packages come from when nobody says otherwise. */
const USUAL_ORIGINS = [
  // npm's own registry, and yarn's name for it.
  ...['npmjs.org', 'yarnpkg.com'].map((domain) => `registry.${domain}`),
  'registry+https://github.com/rust-lang/crates.io-index',
  'https://pypi.org/simple',
  'https://rubygems.org/',
];

const READERS: readonly (readonly [pattern: RegExp, read: (text: string) => readonly Package[]])[] = [
  [/(^|\/)(package-lock|npm-shrinkwrap)\.json$/, npmLock],
  [/(^|\/)pnpm-lock\.yaml$/, pnpmLock],
  [/(^|\/)yarn\.lock$/, yarnLock],
  [/(^|\/)bun\.lock$/, bunLock],
  [/(^|\/)(Cargo|poetry|uv)\.lock$/, tomlLock],
  [/^(?:.*\/)?(?=[^/]*requirements)[^/]*\.txt$/, requirements],
  [/(^|\/)go\.mod$/, goModule],
  [/(^|\/)Gemfile\.lock$/, gemLock],
  [/(^|\/)(composer|Pipfile)\.lock$/, jsonLock],
  // The last resort: a project that keeps no lockfile.
  [/(^|\/)package\.json$/, manifest],
];

/** Lockfiles that stand for the package.json beside them, and for those below. */
const OF_MANIFESTS = /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lock)$/;

/** Lockfiles, and manifests that stand in for one. */
export function namesDependencies(path: string): boolean {
  return !/(^|\/)node_modules\//.test(path) && READERS.some(([pattern]) => pattern.test(path));
}

/**
 * Packages of the result that the base does not have in that version and from that source, in the order of their names; the
 * first 200.
 * @param unread paths of the result whose text could not be had: each is listed as itself, since anything may be in there
 */
export function newDependencies(base: Files, result: Files, unread: readonly string[] = []): readonly NewDependency[] {
  const locked = lockedNames(result);
  const found: NewDependency[] = unread.map((file) => ({
    name: file,
    version: 'any',
    file,
    source: 'too large or too slow to be read, or a link',
  }));
  for (const [file, text] of result) {
    const covering = file.endsWith('package.json') ? locked.filter(({ folder }) => file.startsWith(folder)) : [];
    const packages = packagesOf(file, text).filter(
      ({ name, isOwn }) => isOwn !== true && !covering.some(({ names }) => names.has(name)),
    );
    for (const each of addedTo(packagesOf(file, base.get(file) ?? ''), packages, file)) found.push(each);
  }
  return found.sort(byName).slice(0, LISTED);
}

/** Returns the package names in changed lockfiles of npm's kind, with the lockfile's folder (`''` or `a/b/`). */
function lockedNames(files: Files): readonly { readonly folder: string; readonly names: ReadonlySet<string> }[] {
  return [...files]
    .filter(([file]) => OF_MANIFESTS.test(file))
    .map(([file, text]) => ({
      folder: file.slice(0, file.lastIndexOf('/') + 1),
      names: new Set(packagesOf(file, text).map(({ name }) => name)),
    }));
}

function addedTo(before: readonly Package[], packages: readonly Package[], file: string): readonly NewDependency[] {
  const known = new Set(before.map((each) => keyOf(each, each.resolved, each.integrity)));
  const addresses = new Set(before.map((each) => keyOf(each, each.resolved)));
  const origins = new Set([...USUAL_ORIGINS, ...before.map(({ resolved = '' }) => originOf(resolved))]);
  const names = Map.groupBy(before, ({ name }) => name);
  const versions = new Set(before.map((each) => keyOf(each)));
  const added = new Map<string, NewDependency>();
  for (const each of packages) {
    const { name, version, hasInstallScript, resolved, integrity } = each;
    const isForeign = resolved !== undefined && !origins.has(originOf(resolved));
    // Where the base says nothing of an address or a checksum, none has changed.
    const same = isForeign ? [resolved] : [resolved, undefined];
    if (same.some((address) => known.has(keyOf(each, address, integrity)) || known.has(keyOf(each, address)))) continue;
    const hadVersion = versions.has(keyOf(each));
    const hadAddress = hadVersion && same.some((address) => addresses.has(keyOf(each, address)));
    const was = new Set(
      names
        .get(name)
        ?.slice(0, VERSIONS_LISTED)
        .map((older) => older.version),
    );
    added.set(keyOf(each, resolved, integrity), {
      name,
      version,
      file,
      ...(was.size === 0 ? {} : { was: [...was].join(', ') }),
      ...(hasInstallScript === true ? { hasInstallScript } : {}),
      ...(isForeign || hadVersion ? { source: hadAddress ? 'another checksum, or none' : printable(resolved) } : {}),
    });
  }
  return [...added.values()];
}

function keyOf({ name, version }: Package, resolved = '', integrity = ''): string {
  return JSON.stringify([name, version, resolved, integrity]);
}

/** A registry's host; of all else, which may be anybody's on a host of many, the address itself. */
function originOf(resolved: string): string {
  const url = URL.parse(resolved);
  const isArchive = url !== null && /^https?:$/.test(url.protocol) && /\.(tgz|tar\.gz)$/.test(url.pathname);
  return isArchive && url.host !== 'codeload.github.com' ? url.host : resolved;
}

/** Without what an address may hold of a password. */
function printable(resolved = 'no address'): string {
  return resolved.replace(/\/\/[^/@]*@/, '//').slice(0, MAX_SOURCE);
}

function byName(a: NewDependency, b: NewDependency): number {
  return a.name < b.name ? -1 : Number(a.name > b.name);
}

function packagesOf(file: string, text: string): readonly Package[] {
  try {
    return READERS.find(([pattern]) => pattern.test(file))?.[1](text.replaceAll('\r\n', '\n')) ?? [];
  } catch {
    // A lockfile that cannot be read is one that its package manager will complain of.
    return [];
  }
}

/** An entry of a lockfile in JSON, as a stranger may have written it. */
interface Entry {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly hasInstallScript?: unknown;
  readonly link?: unknown;
  readonly resolved?: unknown;
  readonly integrity?: unknown;
}
type Entries = Readonly<Record<string, Entry>>;

function npmLock(text: string): readonly Package[] {
  const { packages, dependencies } = JSON.parse(text) as {
    readonly packages?: Entries;
    readonly dependencies?: Entries;
  };
  if (packages === undefined) return Object.entries(dependencies ?? {}).map(([name, entry]) => named(name, entry));
  return Object.entries(packages).flatMap(([path, entry]) => {
    const at = path.lastIndexOf('node_modules/');
    if (at < 0) return [];
    const found = named(entry.name ?? path.slice(at + 'node_modules/'.length), entry);
    return [entry.link === true ? { ...found, isOwn: true } : found];
  });
}

function named(name: unknown, { version, hasInstallScript, resolved, integrity }: Entry): Package {
  return {
    name: word(name),
    version: word(version),
    hasInstallScript: hasInstallScript === true,
    resolved: textOrNone(resolved),
    integrity: textOrNone(integrity),
  };
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : 'any';
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Of each document of the file: the newest pnpm writes two. */
function pnpmLock(text: string): readonly Package[] {
  let section = '';
  const lines = text.split('\n').filter((line) => {
    if (/^\S/.test(line)) section = line;
    return section.startsWith('packages:');
  });
  return blocks(lines, /^ {2}\S/).flatMap(([head = '', ...entry]) => {
    const [, name, version] = /^ {2}['"]?\/?((?:@[^/@\s]+\/)?[^@/\s]+)[@/]([^('":\s]+)/.exec(head) ?? [];
    if (name === undefined || version === undefined) return [];
    const resolution = entry.filter((line) => /^ {4}resolution:|^ {6}\w+:/.test(line));
    const field = (key: string): string | undefined =>
      resolution.flatMap((line) => line.split(/[{},]|^ {6}/)).flatMap((part) => valueAfter(part.trim(), `${key}: `))[0];
    return [
      {
        name,
        version,
        hasInstallScript: entry.includes('    requiresBuild: true'),
        resolved: field('tarball') ?? field('repo'),
        integrity: field('integrity') ?? field('commit'),
      },
    ];
  });
}

function yarnLock(text: string): readonly Package[] {
  return blocks(text.split('\n'), /^\S/).flatMap(([head = '', ...entry]) => {
    const name = /^"?((?:@[^/@"]+\/)?[^@"\s,]+)@/.exec(head)?.[1];
    const field = (key: string): string | undefined =>
      entry.flatMap((line) => [...valueAfter(line, `  ${key} `), ...valueAfter(line, `  ${key}: `)])[0];
    const version = field('version');
    if (name === undefined || version === undefined) return [];
    return [
      {
        name,
        version,
        resolved: field('resolved') ?? addressOf(field('resolution'), `${name}@npm:${version}`),
        integrity: field('integrity') ?? field('checksum'),
        isOwn: head.includes('@workspace:'),
      },
    ];
  });
}

/** Nothing where the newer yarn's `resolution` says what name and version say, or names a patch of yarn's own. */
function addressOf(resolution: string | undefined, usual: string): string | undefined {
  return resolution === usual || resolution?.includes('#optional!builtin') ? undefined : resolution;
}

function bunLock(text: string): readonly Package[] {
  return text.split('\n').flatMap((line) => {
    const [, name, version] = /^[ \t]+"[^"]+": \["((?:@[^/@"]+\/)?[^@"]+)@([^"]+)"/.exec(line) ?? [];
    if (name === undefined || version === undefined) return [];
    const [, resolved] = /^[ \t]+"[^"]+": \["[^"]+", "([^"]+)"/.exec(line) ?? [];
    const integrity = line.split('"').findLast((part) => /^sha\d+-/.test(part));
    return [{ name, version, resolved, integrity, isOwn: version.startsWith('workspace:') }];
  });
}

/** Cargo's, Poetry's and uv's. */
function tomlLock(text: string): readonly Package[] {
  return blocks(text.split('\n'), /^\[\[package\]\]|^\[metadata/).flatMap((entry) => {
    const field = (key: string): string | undefined => entry.flatMap((line) => valueAfter(line, `${key} = `))[0];
    const [name, version] = [field('name'), field('version')];
    if (name === undefined || version === undefined) return [];
    const source = field('source') ?? field('url');
    const checksums = entry.flatMap((line) => /(?:\bhash = |^checksum = )"[^"]+"/.exec(line) ?? []);
    return [
      {
        name,
        version,
        resolved: sourceOfTable(source),
        integrity: checksums.sort().join(' ') || undefined,
        isOwn: /^\{ *(virtual|editable) *=/.test(source ?? ''),
      },
    ];
  });
}

/** uv writes `{ registry = "https://…" }`. */
function sourceOfTable(source: string | undefined): string | undefined {
  return source?.startsWith('{') ? (source.split('"')[1] ?? source) : source;
}

function requirements(text: string): readonly Package[] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .flatMap((line): readonly Package[] => {
      const [requirement = ''] = line.trim().split(/[ \t]#|;/);
      const address = /^(?:-e|--editable)?[ \t]*((?:git\+|hg\+|svn\+|bzr\+|https?:)\S+)/.exec(requirement)?.[1];
      if (address !== undefined) return [{ name: printable(address), version: 'any', resolved: address }];
      const [, name, extra = ''] = /^([A-Za-z0-9][\w.-]*)[ \t]*(.*)/.exec(requirement) ?? [];
      if (name === undefined) return [];
      const said = extra.startsWith('[') ? extra.slice(extra.indexOf(']') + 1).trim() : extra;
      const [constraint = '', ...hashes] = said.split(/[ \t]--hash=/);
      const version = /^[=<>!~]/.test(constraint) ? constraint.trim() : 'any';
      const resolved = constraint.startsWith('@') ? constraint.slice(1).trim() : undefined;
      return [{ name, version, resolved, integrity: hashes.join(' ') || undefined }];
    });
}

/** Returns the required modules and the replacements of a go.mod. */
function goModule(text: string): readonly Package[] {
  return text.split('\n').flatMap((line) => {
    const words =
      line
        .split('//')[0]
        ?.trim()
        .split(/[ \t]+/) ?? [];
    const arrow = words.indexOf('=>');
    const [name = '', version = ''] = arrow < 0 && words[0] === 'require' ? words.slice(1) : words.slice(arrow + 1);
    const isModule = name.includes('/') && (name.split('/')[0] ?? '').includes('.');
    return isModule && /^v\d/.test(version) ? [{ name, version }] : [];
  });
}

function gemLock(text: string): readonly Package[] {
  let resolved: string | undefined;
  let integrity: string | undefined;
  return text.split('\n').flatMap((line) => {
    if (/^\S/.test(line)) [resolved, integrity] = [undefined, undefined];
    resolved = valueAfter(line, '  remote: ')[0] ?? resolved;
    integrity = valueAfter(line, '  revision: ')[0] ?? integrity;
    const [, name, version] = /^ {4}(\S+) \(([^)]+)\)/.exec(line) ?? [];
    return name === undefined || version === undefined ? [] : [{ name, version, resolved, integrity }];
  });
}

/** Composer's, which lists packages, and Pipenv's, which has them by name. */
function jsonLock(text: string): readonly Package[] {
  const lock = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const lists = ['packages', 'packages-dev'].flatMap((key) => (lock[key] ?? []) as readonly (Entry & Composed)[]);
  const maps = ['default', 'develop'].flatMap((key) =>
    Object.entries((lock[key] ?? {}) as Readonly<Record<string, Entry & Composed>>),
  );
  const entries = [...lists.map((entry) => [entry.name, entry] as const), ...maps];
  return entries.map(([name, entry]) => ({
    ...named(name, entry),
    integrity: JSON.stringify([entry.dist, entry.source, entry.hashes, entry.git, entry.ref, entry.file, entry.index]),
  }));
}

/** Where a package comes from, in the words of Composer and of Pipenv. */
interface Composed {
  readonly dist?: unknown;
  readonly source?: unknown;
  readonly hashes?: unknown;
  readonly git?: unknown;
  readonly ref?: unknown;
  readonly file?: unknown;
  readonly index?: unknown;
}

function manifest(text: string): readonly Package[] {
  const parsed = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies'];
  return groups
    .flatMap((group) => Object.entries((parsed[group] ?? {}) as Readonly<Record<string, unknown>>))
    .map(([name, version]) => ({ name, version: word(version), isOwn: word(version).startsWith('workspace:') }));
}

/** Lines in groups that begin where `head` matches; what stands before the first is left out. */
function blocks(lines: readonly string[], head: RegExp): readonly (readonly string[])[] {
  const found: string[][] = [];
  for (const line of lines) {
    if (head.test(line)) found.push([line]);
    else found.at(-1)?.push(line);
  }
  return found;
}

/** Returns the rest of a line after a beginning, without quotes; empty when the line begins otherwise. */
function valueAfter(line: string, beginning: string): readonly string[] {
  if (!line.startsWith(beginning)) return [];
  const value = line.slice(beginning.length).trim();
  return [/^(["']).*\1$/.test(value) ? value.slice(1, -1) : value];
}
