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
  const credentials = realPaths(CREDENTIALS.map((name) => at(name)));
  const inConfig = realPaths(PROGRAMS_IN_CONFIG.map((name) => at('.config', name)));
  // The home folder may itself be reached through a link.
  const homes = realPaths([home]);
  const kept = [...realPaths(hidden), ...homes, ...credentials];
  /** Whether nothing but programs can be expected at a place, whose links are resolved. */
  const isHarmless = (real: string): boolean =>
    real !== '/' &&
    !isOfSystem(real) &&
    !CREDENTIAL_FOLDER.test(real) &&
    (!credentials.some((each) => isWithin(real, each)) || inConfig.some((each) => isWithin(real, each))) &&
    !kept.some((each) => isWithin(each, real));
  const mayBeShown = (folder: string): boolean =>
    existsSync(folder) &&
    !isTaken(folder) &&
    // All of it is there already.
    !isWithin(folder, '/usr') &&
    !isOfSystem(folder) &&
    isHarmless(realpathSync(folder));
  const settings = [env['RUSTUP_HOME'], env['CARGO_HOME'], env['XDG_DATA_HOME'], env['PYENV_ROOT']];
  const chosen = [...settings, env['NVM_DIR'], env['VOLTA_HOME'], goRoot].filter((each) => each !== undefined);
  const roots = [...homes, ...PROGRAM_ROOTS, ...realPaths(chosen).filter(isHarmless)];
  const isOfPrograms = (folder: string): boolean => roots.some((root) => isWithin(realpathSync(folder), root));
  const found = groups.filter(({ path }) => path.length === 0 || path.some(existsSync));
  const own = named.filter(mayBeShown);
  const shown = found.flatMap(({ shows }) => shows).filter((folder) => mayBeShown(folder) && isOfPrograms(folder));
  const folders = [...new Set([...own, ...shown])];
  const isVisible = (folder: string): boolean =>
    existsSync(folder) &&
    !isTaken(folder) &&
    ['/usr', ...folders].some((each) => isWithin(folder, each) || isWithin(each, folder));
  return {
    folders,
    path: [...new Set(found.flatMap(({ path }) => path))].filter(isVisible),
    first: own.map((folder) => (existsSync(join(folder, 'bin')) ? join(folder, 'bin') : folder)),
    environment: isVisible(join(rustup, 'toolchains')) ? { RUSTUP_HOME: rustup, RUSTUP_AUTO_INSTALL: '0' } : {},
  };
}

/** Folders of programs outside of the home folder, to which links in it may lead. */
const PROGRAM_ROOTS = ['/usr', '/opt', '/nix', '/gnu', '/snap', '/home/linuxbrew'];

/** The system's own, with all that lies in them. */
const SYSTEM = ['/proc', '/sys', '/dev', '/run', '/etc', '/boot'];
/** Folders that have programs and much else. */
const SYSTEM_TOPS = new Set(['/', '/var', '/root', '/home']);

/** Folders of credentials, of whichever home folder. */
const CREDENTIAL_FOLDER = /\/\.(?:ssh|aws|azure|gnupg|kube|docker|password-store)(?:\/|$)/;
/** The same and files of credentials in this home folder, where they may be links to other places. */
const CREDENTIALS = [
  '.ssh',
  '.aws',
  '.azure',
  '.gnupg',
  '.kube',
  '.docker',
  '.password-store',
  '.local/share/keyrings',
  '.config',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
];
/** Programs that their managers install among a person's settings. */
const PROGRAMS_IN_CONFIG = ['nvm/versions', 'composer/vendor', 'yarn/global'];

function isOfSystem(path: string): boolean {
  return SYSTEM_TOPS.has(path) || SYSTEM.some((top) => isWithin(path, top));
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

/** The places of those that are there, with their links resolved. */
function realPaths(paths: readonly string[]): readonly string[] {
  return paths.filter(existsSync).map((path) => realpathSync(path));
}
