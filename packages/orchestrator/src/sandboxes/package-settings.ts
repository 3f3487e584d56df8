/**
 * Reads where this machine's user gets packages of Python, Rust and Go from, for install steps in sandboxes. Only addresses
 * are passed on, never user names, passwords or tokens. npm's settings are in `npm-settings.ts`.
 */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'smol-toml';

export interface PackageSettings {
  /** Variables of pip, uv and Go that name the registries. */
  readonly environment: Readonly<Record<string, string>>;
  /** Text of a Cargo configuration file; `null` if the user's own replaces no source. */
  readonly cargoConfig: string | null;
  /** Hosts of all these registries, as entries of an allow-list without a mark. */
  readonly hosts: readonly string[];
}

export interface PackageSettingsPlace {
  readonly home?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Root of the system's files, such as `/etc/pip.conf`. Default `/`. */
  readonly root?: string;
}

/** Read once for each sandbox: the files are few and small. */
export function readPackageSettings({
  home = homedir(),
  env = process.env,
  root = '/',
}: PackageSettingsPlace = {}): PackageSettings {
  const pip = pipSettings(home, env, root);
  const uv = env['UV_DEFAULT_INDEX'] ?? env['UV_INDEX_URL'] ?? pip.PIP_INDEX_URL;
  const environment = Object.fromEntries(
    Object.entries({
      ...pip,
      UV_DEFAULT_INDEX: addressesIn(uv).join(' '),
      GOPROXY: goProxy(home, env),
      GONOSUMDB: env['GONOSUMDB'] ?? '',
    }).filter(([, value]) => value !== ''),
  );
  const cargo = cargoSources(home, env);
  const addresses = [
    ...addressesIn(Object.values(environment).join(' ').replaceAll(/[,|]/g, ' ')),
    ...Object.values(cargo?.addresses ?? {}),
  ];
  return {
    environment,
    cargoConfig: cargo?.text ?? null,
    hosts: [...new Set(addresses.map((address) => new URL(address.replace(/^sparse\+/, '')).host))],
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

function pipSettings(
  home: string,
  env: Environment,
  root: string,
): Readonly<Record<'PIP_INDEX_URL' | 'PIP_EXTRA_INDEX_URL', string>> {
  const files = [join(root, 'etc/pip.conf'), join(home, '.pip/pip.conf'), join(home, '.config/pip/pip.conf')];
  const own = env['PIP_CONFIG_FILE'];
  const lines = [...files, ...(own === undefined ? [] : [own])].flatMap((file) => read(file).split('\n'));
  const said = (name: string): string => {
    const values = lines.flatMap((line, index) => {
      const [key = '', ...rest] = line.split('=');
      if (!/^\S/.test(line) || key.trim() !== name) return [];
      const more = lines.slice(index + 1);
      const end = more.findIndex((each) => !/^\s+\S/.test(each));
      return [[rest.join('='), ...more.slice(0, end === -1 ? more.length : end)].join(' ')];
    });
    return values.at(-1) ?? '';
  };
  return {
    PIP_INDEX_URL: addressesIn(env['PIP_INDEX_URL'] ?? said('index-url')).join(' '),
    PIP_EXTRA_INDEX_URL: addressesIn(env['PIP_EXTRA_INDEX_URL'] ?? said('extra-index-url')).join(' '),
  };
}

function goProxy(home: string, env: Environment): string {
  const stored = read(env['GOENV'] ?? join(home, '.config/go/env')).split('\n');
  const value = env['GOPROXY'] ?? stored.find((line) => line.startsWith('GOPROXY='))?.slice('GOPROXY='.length) ?? '';
  const parts = value.split(/[,|]/).map((part) => part.trim());
  // A list without an address, such as `off` or `direct`, is the default's business.
  if (addressesIn(parts.join(' ')).length === 0) return '';
  return parts.flatMap((part) => (part === 'direct' || part === 'off' ? [part] : addressesIn(part))).join(',');
}

/** Sources that replace crates.io, and registries that crates name. */
function cargoSources(
  home: string,
  env: Environment,
): { readonly text: string; readonly addresses: Readonly<Record<string, string>> } | null {
  const folder = env['CARGO_HOME'] ?? join(home, '.cargo');
  const text = read(join(folder, 'config.toml')) || read(join(folder, 'config'));
  let config: unknown;
  try {
    config = parse(text);
  } catch {
    return null;
  }
  const lines: string[] = [];
  const addresses: Record<string, string> = {};
  for (const [kind, key] of [
    ['source', 'registry'],
    ['registries', 'index'],
  ] as const) {
    for (const [name, entry] of Object.entries(tableOf(config, kind))) {
      if (!/^[\w-]{1,64}$/.test(name)) continue;
      const { [key]: address, 'replace-with': replacement } = tableOf({ entry }, 'entry');
      const [safe] = addressesIn(typeof address === 'string' ? address : '');
      const replaced = typeof replacement === 'string' && /^[\w-]{1,64}$/.test(replacement) ? replacement : null;
      if (safe === undefined && replaced === null) continue;
      lines.push(`[${kind}.${name}]`);
      if (safe !== undefined) lines.push(`${key} = ${JSON.stringify(safe)}`);
      if (replaced !== null) lines.push(`replace-with = ${JSON.stringify(replaced)}`);
      if (safe !== undefined) addresses[`${kind}.${name}`] = safe;
    }
  }
  return lines.length === 0 ? null : { text: `${lines.join('\n')}\n`, addresses };
}

function tableOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  const found = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : null;
  return typeof found === 'object' && found !== null ? (found as Readonly<Record<string, unknown>>) : {};
}

/** HTTP addresses among words, without credentials and queries. */
function addressesIn(text: string): string[] {
  return text.split(/\s+/).flatMap((word) => {
    const sparse = word.startsWith('sparse+') ? 'sparse+' : '';
    const plain = word.slice(sparse.length);
    if (!URL.canParse(plain)) return [];
    const url = new URL(plain);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return [];
    [url.username, url.password, url.search, url.hash] = ['', '', '', ''];
    return [`${sparse}${url.href}`];
  });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
