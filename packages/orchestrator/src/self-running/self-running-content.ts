/**
 * Keys of manifests and sources of lockfiles that can run code by themselves, as text by key. Each file is read as what it is:
 * JSON and TOML by their parsers, with every text at any depth; the formats of single package managers by their lines, where
 * a line that could hold more than it shows counts as it stands. Pure.
 */
import { parse as parseToml } from 'smol-toml';
import { type PartlyRunningFormat, partlyRunningFormat } from './self-running-paths.ts';
import { aliasOf, isElsewhere, isPathLike, placesIn } from './self-running-places.ts';

/**
 * Reads the parts of a file's text that count, by key. A value is empty where the key alone identifies the part.
 * @throws {Error} for a text that does not have the format of the file's name
 */
export type ReadKeys = (text: string) => ReadonlyMap<string, string>;

/** Reader for a file of which only parts can run code by themselves; `null` for any other file. */
export function contentReader(path: string): ReadKeys | null {
  const format = partlyRunningFormat(path);
  return format === null ? null : READERS[format];
}

// ---- values at any depth

interface Leaf {
  /** Keys of tables and places in lists, from the root. */
  readonly path: readonly string[];
  /** The keys of tables alone. */
  readonly keys: readonly string[];
  readonly value: unknown;
  /** The table or list that it stands in. */
  readonly parent: unknown;
}

/** All values that hold no others, with their paths. */
function* leavesOf(root: unknown): Iterable<Leaf> {
  const open: Leaf[] = [{ path: [], keys: [], value: root, parent: null }];
  for (let leaf = open.pop(); leaf !== undefined; leaf = open.pop()) {
    const { path, keys, value } = leaf;
    if (!isTable(value)) {
      yield leaf;
      continue;
    }
    for (const [key, each] of Object.entries(value).toReversed())
      open.push({
        path: [...path, key],
        keys: Array.isArray(value) ? keys : [...keys, key],
        value: each,
        parent: value,
      });
  }
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}

/** Keys from the root, `*` for any. */
type Position = readonly string[];

function isAt(path: readonly string[], position: Position): boolean {
  return position.every((key, index) => index < path.length && (key === '*' || key === path[index]));
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'bigint' ? `${value}` : JSON.stringify(value);
}

function parseJson(text: string): unknown {
  return text.trim() === '' ? {} : JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
}

/** JSON with comments and commas at the end of lists. */
function parseJsonc(text: string): unknown {
  const plain = text.replaceAll(
    // A text without its end is a part as well, so that nothing is read twice; such a file is none anyway.
    /"[^"\\]*(?:\\.[^"\\]*)*"?|\/\/[^\n]*|\/\*[^*]*(?:\*(?!\/)[^*]*)*(?:\*\/)?/g,
    (part) => (part.startsWith('"') ? part : ' '),
  );
  return parseJson(plain.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"?|,(?=\s*[\]}])/g, (part) => (part === ',' ? ' ' : part)));
}

// ---- manifests

interface ManifestKeys {
  /** All that stands there counts. */
  readonly counted: readonly Position[];
  /** Of what stands here, that which names another place. */
  readonly isDependency: (keys: readonly string[]) => boolean;
  /** Does a text there name another place than a registry? */
  readonly isElsewhere: (value: string, keys: readonly string[]) => boolean;
}

function manifestReader(parse: (text: string) => unknown, rules: ManifestKeys): ReadKeys {
  return (text) => {
    const counted = new Map<string, string>();
    for (const { path, keys, value } of leavesOf(parse(text))) {
      if (value === null || value === undefined) continue;
      const isCounted =
        rules.counted.some((position) => isAt(keys, position)) ||
        (rules.isDependency(keys) &&
          typeof value === 'string' &&
          (rules.isElsewhere(value, keys) || keys.some((key) => placesIn(key).length > 0)));
      const alias = rules.isDependency(keys) && typeof value === 'string' ? aliasOf(keys.at(-1) ?? '', value) : null;
      // Another version of the other package is one of a package.
      if (alias !== null && !isCounted) counted.set(`${keys.join('.')} is the package ${alias}`, '');
      if (!isCounted) continue;
      // Another entry of a list leaves this one as it is.
      const isListed = keys.length < path.length;
      counted.set(isListed ? `${keys.join('.')}: ${asText(value)}` : keys.join('.'), isListed ? '' : asText(value));
    }
    return counted;
  };
}

const PLACES: Pick<ManifestKeys, 'isElsewhere'> = {
  // Where dependencies stand by their names, a key is one of these names.
  isElsewhere: (value, keys) =>
    placesIn(value).length > 0 ||
    (isPlaceKey(keys.at(-1) ?? '') && !/dependenc/.test(keys.at(-2) ?? '') && !['', '.'].includes(value)),
};

/** Keys of tables that say where a dependency lies. */
function isPlaceKey(key: string): boolean {
  return ['path', 'directory', 'git', 'url', 'editable', 'virtual', 'registry', 'registry-index', 'index'].includes(
    key,
  );
}

const under =
  (...keys: readonly string[]) =>
  (path: readonly string[]): boolean =>
    keys.includes(path[0] ?? '');

/** From keys with `/` between, and a space between positions. */
const positions = (keys: string): readonly Position[] => keys.split(' ').map((position) => position.split('/'));

const packageJson = manifestReader(parseJson, {
  counted: positions(
    'scripts bin directories/bin gypfile packageManager devEngines pnpm dependenciesMeta trustedDependencies ' +
      'husky gitHooks simple-git-hooks pre-commit lint-staged',
  ),
  isDependency: (path) =>
    under('dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies')(path) ||
    under('overrides', 'resolutions', 'patchedDependencies', 'catalog', 'catalogs')(path) ||
    (path[0] === 'workspaces' && (path[1] ?? '').startsWith('catalog')),
  isElsewhere,
});

const composerJson = manifestReader(parseJson, {
  counted: positions('scripts bin repositories config'),
  isDependency: (path) => under('extra', 'require', 'require-dev')(path),
  ...PLACES,
});

const denoJson = manifestReader(parseJsonc, {
  counted: positions('tasks imports scopes importMap links patch allowScripts'),
  isDependency: () => false,
  ...PLACES,
});

/** Of Heroku, which runs its scripts, and of Expo, which runs its plugins. */
const appJson = manifestReader(parseJson, {
  counted: positions('scripts buildpacks addons environments hooks plugins expo/plugins expo/hooks expo/updates'),
  isDependency: () => false,
  ...PLACES,
});

const pyproject = manifestReader(parseToml, {
  counted: positions(
    'build-system project/scripts project/gui-scripts project/entry-points ' +
      'tool/poetry/scripts tool/poetry/plugins tool/poetry/build tool/poetry/source ' +
      'tool/hatch/build tool/hatch/env tool/hatch/metadata/hooks ' +
      'tool/pdm/build tool/pdm/scripts tool/pdm/source tool/pdm/plugins ' +
      'tool/setuptools/cmdclass tool/setuptools/ext-modules ' +
      'tool/uv/index tool/uv/sources tool/uv/pip tool/uv/index-url tool/uv/extra-index-url tool/uv/find-links ' +
      'tool/poe/tasks tool/pixi tool/rye/sources tool/rye/scripts tool/flit/scripts ' +
      'tool/maturin tool/scikit-build tool/mesonpy',
  ),
  isDependency: (path) => path.some((key) => /dependenc|requires/i.test(key)),
  ...PLACES,
});

const cargo = manifestReader(parseToml, {
  counted: positions(
    'build-dependencies build_dependencies target/*/build-dependencies target/*/build_dependencies ' +
      'patch replace package/build package/links lib/proc-macro lib/proc_macro lib/plugin',
  ),
  isDependency: (path) => path.some((key) => key.endsWith('dependencies')),
  ...PLACES,
});

/** Python's own format: a section goes on to the next header, which may be indented where no value is open. */
const setupCfg: ReadKeys = (text) => {
  const found = new Map<string, string>();
  let name = '';
  for (const line of text.split(/\r\n|[\n\r]/)) {
    const trimmed = line.trim();
    const header = trimmed.startsWith('[') ? trimmed.slice(1, Math.max(1, trimmed.lastIndexOf(']'))).trim() : null;
    // An indented header may also be a value: it begins a section only if that section counts.
    if (header !== null && (!/^\s/.test(line) || isCountedSection(header))) name = header;
    else if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith(';')) continue;
    else if (isCountedSection(name)) found.set(`[${name}]`, `${found.get(`[${name}]`) ?? ''}${trimmed}\n`);
    else if (name.startsWith('options')) {
      const places = placesIn(trimmed);
      if (places.length > 0) found.set(`[${name}] ${trimmed}`, '');
    }
  }
  return found;
};

function isCountedSection(name: string): boolean {
  return /^(?:options\.entry_points|easy_install|install|build)/.test(name);
}

const goMod: ReadKeys = (text) => {
  const found = new Map<string, string>();
  let block = '';
  for (const line of text.split(/\r\n|[\n\r]/)) {
    const words = (line.split('//')[0] ?? '').trim().split(/\s+/);
    const [first = '', second] = words;
    if (first === ')') block = '';
    const directive = block === '' ? first : block;
    const isCounted = ['replace', 'toolchain', 'tool', 'godebug'].includes(directive) || words.includes('=>');
    if (second === '(' && block === '') block = first;
    else if (isCounted && first !== ')') found.set(block === '' ? words.join(' ') : `${block} ${words.join(' ')}`, '');
  }
  return found;
};

// ---- lockfiles

function asKeys(places: Iterable<string>): ReadonlyMap<string, string> {
  return new Map([...places].map((place) => [`packages from ${place}`, '']));
}

/**
 * RunSlots of a lockfile that a parser reads, in any text and any key.
 * @param free positions of text that is for people: no package manager takes anything from there
 */
function lockReader(parse: (text: string) => unknown, free = ''): ReadKeys {
  const prose = free === '' ? [] : positions(free);
  return (text) => {
    const places = new Set<string>();
    for (const { path, value, parent } of leavesOf(parse(text))) {
      if (prose.some((position) => isAt(path, position))) continue;
      for (const place of [...path, ...(typeof value === 'string' ? [value] : [])].flatMap(placesIn)) places.add(place);
      const place = typeof value === 'string' ? placeOfKey(path.at(-1) ?? '', value, parent) : null;
      if (place !== null) places.add(place);
    }
    return asKeys(places);
  };
}

/** Place that a text names only because of its key; `null` if it names none. */
function placeOfKey(key: string, value: string, parent: unknown): string | null {
  const { link, owner, type, host } = isTable(parent) ? parent : {};
  // The format of flake.lock.
  if (key === 'repo' && typeof owner === 'string')
    return `${asText(type ?? 'repository')}:${host === undefined ? '' : `${asText(host)}/`}${owner}/${value}`;
  if (['', '.'].includes(value)) return null;
  // A package may have such a name; its value is then a version.
  if (['path', 'directory', 'git', 'editable'].includes(key))
    return isPathLike(value) || !/^[\d*^~=<>!]/.test(value) ? `path:${value}` : null;
  if (!['url', 'resolved', 'version', 'from', 'location', 'tarball', 'registry'].includes(key)) return null;
  // A package of the project itself, in one of its folders.
  if (link === true && !/^[/\\]|\.\.|:/.test(value)) return null;
  return isPathLike(value) ? `path:${value}` : null;
}

const npmLock = lockReader(parseJson, 'packages/*/funding packages/*/deprecated packages/*/license');

const COMPOSER_PROSE =
  'homepage support funding authors description keywords license notification-url extra suggest abandoned'.split(' ');
const composerLock = lockReader(
  parseJson,
  ['_readme', ...['packages', 'packages-dev'].flatMap((list) => COMPOSER_PROSE.map((key) => `${list}/*/${key}`))].join(
    ' ',
  ),
);

/** A text in quotes in which only the escapes of JSON stand. */
const QUOTED = /"[^"\\]*(?:\\.[^"\\]*)*"?/g;
/** In a lockfile that is read by its lines: where something lies, beside an address. */
const PLACE_KEY = /(?:^|[\s{,])["']?:?(?:path|directory|remote|tarball)["']?:\s+["']?([^\s"',}]+)/g;

/**
 * RunSlots of a lockfile that is read by its lines: parsers of YAML take half a minute for what package managers write. What a line
 * does not show by itself counts as it stands: escapes other than JSON's, and quotes that go on in the next line.
 */
function linesReader(linesOf: (text: string) => Iterable<string> = allLines): ReadKeys {
  return (text) => {
    const places = new Set<string>();
    const unclear = new Map<string, string>();
    for (const line of linesOf(text)) {
      const read = line.includes('\\') ? unescaped(line) : line;
      for (const place of placesIn(read)) places.add(place);
      for (const [, place = ''] of read.matchAll(PLACE_KEY))
        if (isPathLike(place) && place !== '.') places.add(`path:${place}`);
      if (read.includes('\\') || isOdd(read, '"') || isOdd(read, "'"))
        unclear.set(`a line that may hold more than it shows: ${line.trim()}`, '');
    }
    return new Map([...asKeys(places), ...unclear]);
  };
}

function allLines(text: string): readonly string[] {
  return text.split(/\r\n|[\n\r]/);
}

function unescaped(line: string): string {
  return line.replaceAll(QUOTED, (quoted) => {
    if (!quoted.includes('\\')) return quoted;
    try {
      const text: unknown = JSON.parse(quoted);
      return ` ${String(text).replaceAll(/["'\\\s]/g, '')} `;
    } catch {
      return quoted;
    }
  });
}

function isOdd(line: string, quote: string): boolean {
  let count = 0;
  for (let at = line.indexOf(quote); at !== -1; at = line.indexOf(quote, at + 1)) count++;
  return count % 2 === 1;
}

/** pnpm's lockfile has a sentence of each package that is deprecated, which may name an address. */
function* pnpmLines(text: string): Iterable<string> {
  let section = '';
  let inSentence = false;
  for (const line of allLines(text)) {
    if (/^\S/.test(line)) section = line;
    const isSentence = section.startsWith('packages:') && /^ {4}deprecated: /.test(line);
    inSentence = isSentence ? /: [|>][+-]?$/.test(line) : inSentence && /^(?: {6}|$)/.test(line);
    if (!(isSentence || inSentence) || hasMore(line)) yield line;
  }
}

/** Could the line hold another key, where lines above began a table or a text in quotes? */
function hasMore(line: string): boolean {
  return /[{}[\]]/.test(line) || /,[^,]*(?:["']\s*:|:(?:\s|$))/.test(line);
}

/** Reads lines as pip does: a line continues after a backslash, and Python has more line endings than others. */
const requirements: ReadKeys = (text) => {
  const counted = new Map<string, string>();
  for (const line of text.replaceAll(/\\\r?\n/g, ' ').split(/\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/)) {
    const read = withoutComment(line)
      .replaceAll(/\s--hash[= ]\S+/g, ' ')
      .trim();
    if (read === '') continue;
    for (const place of placesIn(read)) counted.set(`packages from ${place}`, '');
    const [requirement = ''] = read.split(';');
    const isPath = /[/\\]/.test(requirement) || /\.(?:whl|zip|tar|tgz|tar\.\w+)$/i.test(requirement.trimEnd());
    if (read.startsWith('-') || /\s--?[a-z]/i.test(read) || requirement.startsWith('.') || isPath)
      counted.set(read, '');
  }
  return counted;
};

function withoutComment(line: string): string {
  const at = line.search(/(?<!\S)#/);
  return at === -1 ? line : line.slice(0, at);
}

// ---- manifests that are programs

interface Program {
  /** Lines that only declare something, by how they begin. */
  readonly declares: RegExp;
  /** Words that may stand in them beside texts, symbols and keys. */
  readonly words: ReadonlySet<string>;
  /** Lines that order the declarations and do nothing by themselves. */
  readonly orders?: RegExp;
}

const words = (...all: readonly string[]): ReadonlySet<string> => new Set([...all, 'true', 'false', 'nil']);

const GEMFILE: Program = {
  declares: /^(?:gem|source|ruby)\b/,
  orders: /^(?:(?:group|platforms?|source)\b.*\bdo|end|gemspec)$/,
  words: words('gem', 'source', 'ruby', 'group', 'platform', 'platforms', 'do', 'end', 'gemspec'),
};
const GEMSPEC: Program = {
  declares:
    /^\w+\.(?:add_(?:runtime_|development_)?dependency|version|summary|description|homepage|authors?|email|licenses?)\b/,
  words: words(),
};
const PODFILE: Program = {
  declares: /^(?:pod|source|platform)\b/,
  orders: /^(?:(?:abstract_)?target\b.*\bdo|end|use_frameworks!|inhibit_all_warnings!)$/,
  words: words(
    'pod',
    'source',
    'platform',
    'target',
    'abstract_target',
    'do',
    'end',
    'use_frameworks',
    'inhibit_all_warnings',
  ),
};
const MIX: Program = { declares: /^(?:\{:|version:|elixir:)/, words: words() };
const SWIFT: Program = { declares: /^\.(?:package|product)\(/, words: words('package', 'product') };
const GRADLE_PROPERTIES: Program = {
  declares: /^(?!org\.gradle|systemprop|[^=:\s]*jvmargs)[\w.-]+\s*[=:][^\\]*$/i,
  words: words(),
};

/**
 * Lines of a manifest that is a program, other than those that declare a package by name and version; and their order, which may
 * be all that keeps one from being run.
 */
function programReader(program: Program): ReadKeys {
  return (text) => {
    const found = new Map<string, string>();
    const structure: string[] = [];
    for (const line of text.split(/\r\n|[\n\r]/)) {
      const trimmed = line.trim();
      if (trimmed === '' || trimmed.startsWith('#') || (program === SWIFT && trimmed.startsWith('//'))) continue;
      for (const place of placesIn(trimmed)) found.set(`packages from ${place}`, '');
      if (isDeclaration(trimmed, program)) continue;
      structure.push(trimmed);
      if (!isOrder(trimmed, program)) found.set(`code: ${trimmed}`, '');
    }
    const hasCode = structure.some((line) => !isOrder(line, program));
    return hasCode ? found.set('the order of its code', structure.join('\n')) : found;
  };
}

function isOrder(line: string, { orders, words: known }: Program): boolean {
  const bare = bareOf(line);
  return bare !== null && orders?.test(bare) === true && onlyHas(bare, known);
}

function isDeclaration(line: string, program: Program): boolean {
  const { declares, words: known } = program;
  if (!declares.test(line)) return false;
  if (program === GRADLE_PROPERTIES) return true;
  const bare = bareOf(program === GEMSPEC ? line.replace(declares, '') : line);
  return bare !== null && onlyHas(bare, known);
}

/** A line without its texts and its comment; `null` where a text goes on, or holds code. */
function bareOf(line: string): string | null {
  const [bare = ''] = line.replaceAll(/"[^"\\#]*"|'[^'\\#]*'/g, '""').split('#');
  return /["'\\`]/.test(bare.replaceAll('""', '')) ? null : bare.trim();
}

/** Keys that say where a package comes from. */
const FROM_ELSEWHERE =
  /(?:^|[\s,({])(?::(?:git|github|gist|bitbucket|gitlab|path|source|svn|hg|http|podspec|compile|system_env|repo)\b|(?:git|github|gist|bitbucket|gitlab|path|source|svn|hg|http|podspec|compile|system_env|repo):)/;

function onlyHas(bare: string, known: ReadonlySet<string>): boolean {
  if (FROM_ELSEWHERE.test(bare)) return false;
  const rest = bare.replaceAll(/(?<![\w:]):\w+|\b\w+:(?!:)|""/g, ' ');
  return /^[\w\s,()[\]{}=>.!]*$/.test(rest) && (rest.match(/[A-Za-z_]\w*/g) ?? []).every((word) => known.has(word));
}

const READERS: Readonly<Record<PartlyRunningFormat, ReadKeys>> = {
  'package.json': packageJson,
  'composer.json': composerJson,
  'deno.json': denoJson,
  'deno.jsonc': denoJson,
  'app.json': appJson,
  'pyproject.toml': pyproject,
  'setup.cfg': setupCfg,
  'cargo.toml': cargo,
  'go.mod': goMod,
  'go.work': goMod,
  gemfile: programReader(GEMFILE),
  'gems.rb': programReader(GEMFILE),
  podfile: programReader(PODFILE),
  'mix.exs': programReader(MIX),
  'package.swift': programReader(SWIFT),
  'gradle.properties': programReader(GRADLE_PROPERTIES),

  'package-lock.json': npmLock,
  'npm-shrinkwrap.json': npmLock,
  'composer.lock': composerLock,
  'deno.lock': lockReader(parseJson),
  'pipfile.lock': lockReader(parseJson),
  'packages.lock.json': lockReader(parseJson),
  'package.resolved': lockReader(parseJson),
  'flake.lock': lockReader(parseJson),
  'conan.lock': lockReader(parseJson),
  'bun.lock': lockReader(parseJsonc),
  'cargo.lock': lockReader(parseToml),
  'poetry.lock': lockReader(parseToml, 'package/*/description'),
  'pdm.lock': lockReader(parseToml, 'package/*/summary'),
  'uv.lock': lockReader(parseToml),
  pipfile: lockReader(parseToml),
  'pnpm-lock.yaml': linesReader(pnpmLines),
  'yarn.lock': linesReader(),
  'gemfile.lock': linesReader(),
  'gems.locked': linesReader(),
  'mix.lock': linesReader(),
  'pubspec.lock': linesReader(),
  'podfile.lock': linesReader(),
  'go.sum': linesReader(),
  'bun.lockb': () => {
    throw new Error('it is no text');
  },

  '*.gemspec': programReader(GEMSPEC),
  requirements,
};
