/**
 * Finds programs that the server's user installed in the home folder: toolchains of version managers, and what package
 * managers install for a user. Sandboxes show these folders read-only at their own paths, and nothing else of the home folder:
 * no credentials, no settings, no caches.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

export interface HomePrograms {
  /** Folders, absolute, which are the same inside. */
  readonly folders: readonly string[];
  /** Folders of programs for PATH, in this order, behind those of the system. */
  readonly path: readonly string[];
  /** The same for folders that the configuration names, which come before those of the system. */
  readonly first: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface HomeProgramsRequest {
  /** Absolute folders that the configuration adds. */
  readonly named?: readonly string[];
  /** Host folders that stay out of sight: no folder that contains one of them is shown. */
  readonly hidden?: readonly string[];
  /** Tells where nothing may be mounted. */
  readonly isTaken: (path: string) => boolean;
  readonly home?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Looked for each time: a person may install a program while the server runs. */
export function findHomePrograms({
  named = [],
  hidden = [],
  isTaken,
  home = homedir(),
  env = process.env,
}: HomeProgramsRequest): HomePrograms {
  const at = (...parts: string[]): string => join(home, ...parts);
  const rustup = env['RUSTUP_HOME'] ?? at('.rustup');
  const share = env['XDG_DATA_HOME'] ?? at('.local/share');
  const pyenv = join(env['PYENV_ROOT'] ?? at('.pyenv'), 'versions');
  const nvm = join(env['NVM_DIR'] ?? at('.nvm'), 'versions/node');
  const volta = join(env['VOLTA_HOME'] ?? at('.volta'), 'tools/image');
  const goRoot = env['GOROOT'];
  const groups: readonly Group[] = [
    { shows: [at('.local/bin')], path: [at('.local/bin')] },
    // Programs of these lie in ~/.local/bin as links.
    ...['pipx/venvs', 'pypoetry/venv', 'uv/tools', 'uv/python'].map((each) => ({
      shows: [join(share, each)],
      path: [],
    })),
    {
      shows: [
        join(env['CARGO_HOME'] ?? at('.cargo'), 'bin'),
        join(rustup, 'toolchains'),
        join(rustup, 'settings.toml'),
      ],
      path: [join(env['CARGO_HOME'] ?? at('.cargo'), 'bin')],
    },
    ...[...(goRoot === undefined ? [] : [resolve(goRoot)]), at('.local/go')].map(goInstallation),
    // Either Go itself, or the programs that it installs for a user: then the folder has the person's own code too.
    isGo(at('go')) ? goInstallation(at('go')) : { shows: [at('go/bin')], path: [at('go/bin')] },
    ...versionsIn(at('sdk'), /^go\d/)
      .slice(0, 1)
      .map((version) => goInstallation(at('sdk', version))),
    ...[at('.bun/bin'), at('.deno/bin')].map((each) => ({ shows: [each], path: [each] })),
    { shows: DOTNET_PARTS.map((part) => at('.dotnet', part)), path: [at('.dotnet')] },
    newestOf(nvm, 'bin'),
    newestOf(join(share, 'fnm/node-versions'), 'installation/bin'),
    ...['node', 'yarn', 'pnpm', 'npm'].map((tool) => newestOf(join(volta, tool), 'bin')),
    { shows: [pyenv], path: versionsIn(pyenv, /^3\./).map((version) => join(pyenv, version, 'bin')) },
    newestOf(at('.rbenv/versions'), 'bin'),
    ...['java', 'gradle', 'maven'].map((tool) => ({
      shows: [at('.sdkman/candidates', tool)],
      path: [at('.sdkman/candidates', tool, 'current/bin')],
    })),
    ...[join(share, 'mise/installs'), at('.asdf/installs')].flatMap((folder) =>
      namesIn(folder).map((tool) => newestOf(join(folder, tool), 'bin')),
    ),
    { shows: ['/home/linuxbrew/.linuxbrew'], path: ['/home/linuxbrew/.linuxbrew/bin'] },
  ];
  // The home folder may itself be reached through a link.
  const real = [...hidden, home].filter(existsSync).map((folder) => realpathSync(folder));
  const mayBeShown = (folder: string): boolean =>
    existsSync(folder) &&
    !isTaken(folder) &&
    !['/usr', '/etc', '/proc', '/dev'].some((top) => isWithin(folder, top)) &&
    !contains(folder, real);
  const found = groups.filter(({ path }) => path.length === 0 || path.some(existsSync));
  const own = named.filter(mayBeShown);
  return {
    folders: [...new Set([...own, ...found.flatMap(({ shows }) => shows).filter(mayBeShown)])],
    path: [...new Set(found.flatMap(({ path }) => path))].filter((folder) => existsSync(folder) && !isTaken(folder)),
    first: own.map((folder) => (existsSync(join(folder, 'bin')) ? join(folder, 'bin') : folder)),
    environment:
      existsSync(join(rustup, 'toolchains')) && !isTaken(rustup)
        ? { RUSTUP_HOME: rustup, RUSTUP_AUTO_INSTALL: '0' }
        : {},
  };
}

interface Group {
  readonly shows: readonly string[];
  readonly path: readonly string[];
}

/** Of ~/.dotnet, which also has private keys of certificates. */
const DOTNET_PARTS = ['dotnet', 'host', 'sdk', 'sdk-manifests', 'shared', 'packs', 'tools', 'templates'];

const GO_PARTS = ['VERSION', 'go.env', 'bin', 'lib', 'misc', 'pkg/include', 'pkg/tool'];

/** A Go installation; one that lies in the folder of a person's own modules is shown without these. */
function goInstallation(folder: string): Group {
  if (!isGo(folder)) return { shows: [], path: [] };
  const sources = join(folder, 'src');
  const own = namesIn(sources).filter((name) => !isHost(name));
  const parts = [...GO_PARTS.map((part) => join(folder, part)), ...own.map((name) => join(sources, name))];
  return { shows: parts, path: [join(folder, 'bin')] };
}

function isGo(folder: string): boolean {
  return existsSync(join(folder, 'VERSION'));
}

/** Folders of modules are named for hosts, such as `github.com`; those of the standard library have no dot. */
function isHost(name: string): boolean {
  return name.includes('.') && !/\.(?:go|mod|sum|s|bash|bat|rc|txt|json|md)$/.test(name);
}

/** The newest of several versions, each in a folder of its own. */
function newestOf(folder: string, programs: string, pattern: RegExp = /^v?\d/): Group {
  const [newest] = versionsIn(folder, pattern);
  return newest === undefined ? { shows: [], path: [] } : { shows: [folder], path: [join(folder, newest, programs)] };
}

/** Newest first. */
function versionsIn(folder: string, pattern: RegExp): readonly string[] {
  const versions = namesIn(folder).filter((name) => pattern.test(name));
  return versions.toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Whether a folder is one of the others, or one of them lies in it. */
function contains(folder: string, others: readonly string[]): boolean {
  const real = realpathSync(folder);
  return real === '/' || others.some((other) => isWithin(other, real));
}
