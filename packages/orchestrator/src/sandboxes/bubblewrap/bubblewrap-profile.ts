/**
 * Composes a bubblewrap sandbox: the visible parts of the host, their places, and its limits.
 *
 * Limits of the kernel: file size, processor time, processes (RLIMIT_NPROC, which does not count for root: see
 * `sandbox-cgroup.ts`) and the sizes of /tmp, /dev/shm and a HOME in memory. `sandbox-watch.ts` limits the memory that
 * processes really use. RLIMIT_DATA only stops a single huge request: it counts what V8 merely reserves, 0.5 GB for each
 * isolate, so that a test runner with eight threads has 5 GB. RLIMIT_AS would stop WebAssembly altogether.
 */
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { InvalidRequest } from '@autonomous/shared';
import { EGRESS_SOCKET, proxyVariables, RELAY_FILES, withRelay } from '../egress/egress-relay.ts';
import { nodeExecutable } from '../node-executable.ts';
import { type NpmSettings, SCRIPTS_OFF } from '../npm-settings.ts';
import type { PackageSettings } from '../package-settings.ts';
import type { SandboxSpec } from '../sandbox.ts';
import type { HomePrograms } from './home-programs.ts';
import { systemCallFilter } from './system-call-filter.ts';

export const HOME = '/home/agent';
export const WORKSPACE = '/workspace';
const PRLIMIT = ['/usr/bin/prlimit', '/bin/prlimit'].find((file) => existsSync(file)) ?? 'prlimit';
/** Found by Cargo from every folder. */
const CARGO_CONFIG = '/.cargo/config.toml';
/** Programs of the virtual environment that the install step makes. */
const PYTHON_PROGRAMS = `${HOME}/.venv/bin`;
/** Programs that package managers install for a user. */
const LOCAL_PROGRAMS = `${HOME}/.local/bin`;
/** Not in HOME, which the sandbox writes: see `isWrittenInside`. */
const NPMRC = '/etc/agent-npmrc';
const CERTIFICATES = '/etc/npm-certificates.pem';
const NODE_PREFIX = '/opt/node';
const STATUS_DESCRIPTOR = 3;
/**
 * Options on the command line, which hold also where the server is killed before it has written the others. The next start knows
 * what is left of the sandbox by its pid namespace.
 */
const ON_COMMAND_LINE = ['--unshare-pid', '--die-with-parent'];
/** A shell takes a single digit. */
const START_DESCRIPTOR = 4;
/** Begins the first command line inside; part of no other program's. */
export const SAYS_UP = `echo up >&${START_DESCRIPTOR}; read -r go <&${START_DESCRIPTOR} || exit;`;
const SHARED_MEMORY_BYTES = 256 * 1024 * 1024;
const RESERVED_BY_ISOLATE_BYTES = 640 * 1024 * 1024;

/** Parts of /etc that programs need and that hold no secrets. */
const ETC_ENTRIES = [
  'alternatives',
  'ca-certificates',
  'fonts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'mime.types',
  'pki/ca-trust/extracted',
  'pki/tls/certs',
  'protocols',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'texmf',
];

/** Inside /usr, yet often home to a server's own code, its data, or an npmrc with tokens. */
const HIDDEN_IN_USR = ['/usr/etc', '/usr/local/etc', '/usr/src'];

/** Files in /proc that expose the whole machine, most of them to root alone. Container runtimes mask the same files. */
const HIDDEN_IN_PROC = [
  'kcore',
  'keys',
  'latency_stats',
  'sched_debug',
  'timer_list',
  'timer_stats',
  'vmallocinfo',
].map((name) => `/proc/${name}`);

export interface ProfileRequest {
  readonly spec: SandboxSpec;
  /** Present when anything can be reached. */
  readonly npm: NpmSettings | null;
  /** Registries of other languages; present when anything can be reached. */
  readonly packages: PackageSettings | null;
  /** Socket of the egress proxy on the host; `null` where there is none. */
  readonly egressSocket: string | null;
  /** Programs of the server's user. */
  readonly programs: HomePrograms;
  /** Host folders that stay out of sight even where they lie inside /usr. */
  readonly hiddenFolders: readonly string[];
  /** Variables beside the sandbox's own. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Profile {
  /** Options of bwrap, up to the command: those for its status, and the descriptor that has the others. */
  readonly args: readonly string[];
  /** Contents that bwrap reads from file descriptors 5, 6, …. */
  readonly files: readonly (string | Uint8Array)[];
}

export function sandboxProfile({
  spec,
  npm,
  packages,
  egressSocket,
  programs,
  hiddenFolders,
  env = {},
}: ProfileRequest): Profile {
  const files: (string | Uint8Array)[] = [];
  const lastDescriptor = (): string => String(START_DESCRIPTOR + files.length);
  const file = (content: string, path: string): string[] => {
    files.push(content);
    return ['--perms', '0644', '--ro-bind-data', lastDescriptor(), path];
  };
  // Options come by a descriptor: everybody on the machine can read a command line, and the sandbox that of its first process.
  const unseen = (options: readonly string[]): string[] => {
    files.push(options.map((option) => `${option}\0`).join(''));
    return ['--args', lastDescriptor()];
  };
  const filtered = (program: Uint8Array | null): string[] => {
    if (program === null) return [];
    files.push(program);
    return ['--seccomp', lastDescriptor()];
  };
  const open = spec.network === 'open';
  const args = [
    ...isolation(open),
    ...filtered(systemCallFilter()),
    ...environment(programs, {
      ...(egressSocket === null ? {} : egressVariables(spec)),
      // A package that an agent has just added must not run code during its installation.
      ...(npm === null ? {} : { npm_config_userconfig: NPMRC, ...SCRIPTS_OFF }),
      // Yarn 2 and later and Bun read no npmrc for it.
      ...(npm === null || npm.certificates === null ? {} : { NODE_EXTRA_CA_CERTS: CERTIFICATES }),
      ...packages?.environment,
    }),
    ...ownVariables(env),
    ...system(hiddenFolders),
    ...etc(file, open),
    ...devices(spec.limits.memoryBytes),
    // Behind /tmp, where a folder of theirs may lie.
    ...programs.folders.flatMap((folder) => ['--ro-bind', folder, folder]),
    ...(spec.home === undefined ? scratch(HOME, spec.limits.memoryBytes) : ['--bind', spec.home, HOME]),
    ...(npm === null ? [] : packageManagerFiles(file, npm, open)),
    ...(packages === null || packages.cargoConfig === null ? [] : file(packages.cargoConfig, CARGO_CONFIG)),
    ...(egressSocket === null
      ? []
      : [
          ...Object.entries(RELAY_FILES).flatMap(([path, content]) => file(content, path)),
          '--ro-bind',
          egressSocket,
          EGRESS_SOCKET,
        ]),
    '--bind',
    spec.folder,
    WORKSPACE,
    ...spec.readOnly.flatMap(({ host, inside }) => ['--ro-bind', host, inside]),
    '--remount-ro',
    '/',
    '--chdir',
    WORKSPACE,
  ];
  return { args: [...ON_COMMAND_LINE, '--json-status-fd', String(STATUS_DESCRIPTOR), ...unseen(args)], files };
}

/** @throws {InvalidRequest} for what is no variable: bwrap's options end with a NUL character */
function ownVariables(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (!/^[^=\0]+$/.test(name) || value.includes('\0'))
      throw new InvalidRequest(
        `The variable ${JSON.stringify(name)} cannot be set: a name must not be empty or hold '=', and neither name nor value a NUL character`,
      );
    return ['--setenv', name, value];
  });
}

/**
 * True for places in folders that commands write and that outlast them. Nothing may be mounted there: bwrap, which still sees the
 * host as /oldroot then, would follow a link that an earlier command left and create the mount's target on the host.
 */
export function isWrittenInside(path: string): boolean {
  return [WORKSPACE, HOME].some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/**
 * The command under its limits, with the relay to the egress proxy where there is one; it runs inside. It says on file descriptor 4
 * that it is up, and waits there for a line of the server. By then bwrap has told the kernel to end the sandbox with the server;
 * where the server was killed before, there is no line, and the command does not start.
 */
export function limitedCommand({ limits }: SandboxSpec, command: string, hasEgress: boolean): string[] {
  const most = hardLimits();
  const limited = [
    // By its place: the first folder of PATH is one that commands write to.
    PRLIMIT,
    `--data=${Math.min(limits.memoryBytes + isolates() * RESERVED_BY_ISOLATE_BYTES, most('Max data size'))}`,
    `--fsize=${Math.min(limits.fileBytes, most('Max file size'))}`,
    `--nproc=${Math.min(limits.processes, most('Max processes'))}`,
    `--cpu=${Math.min(limits.cpuSeconds, most('Max cpu time'))}`,
    '--core=0',
    '--',
    '/bin/sh',
    '-c',
    command,
  ];
  const wait = `${SAYS_UP} exec ${START_DESCRIPTOR}<&-; exec "$@"`;
  return ['/bin/sh', '-c', wait, 'sh', ...(hasEgress ? withRelay(nodeInside(), limited) : limited)];
}

/** The server's own hard limits, which nothing that it starts can raise, by their names in `/proc`. */
function hardLimits(): (name: string) => number {
  const lines = readFileSync('/proc/self/limits', 'utf8').split('\n');
  return (name) => {
    const [, hard = ''] = (lines.find((line) => line.startsWith(name)) ?? '').slice(name.length).trim().split(/\s+/);
    return /^\d+$/.test(hard) ? Number(hard) : Infinity;
  };
}

/** Test runners start a thread or two for each processor. */
function isolates(): number {
  return Math.max(16, 2 * availableParallelism());
}

function isolation(openNetwork: boolean): string[] {
  return [
    '--unshare-all',
    '--unshare-user',
    ...(openNetwork ? ['--share-net'] : []),
    // Without user and capabilities named, root keeps all its capabilities inside.
    '--uid',
    '1000',
    '--gid',
    '1000',
    '--cap-drop',
    'ALL',
    '--disable-userns',
    '--new-session',
    '--hostname',
    'sandbox',
    '--clearenv',
  ];
}

function environment(programs: HomePrograms, more: Readonly<Record<string, string>>): string[] {
  const variables = {
    PATH: searchPath(programs).join(':'),
    HOME,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    TMPDIR: '/tmp',
    CI: '1',
    ...programs.environment,
    ...more,
  };
  return Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]);
}

function egressVariables({ network }: SandboxSpec): Readonly<Record<string, string>> {
  return proxyVariables(typeof network === 'object' ? network.allow : []);
}

function searchPath({ first, path }: HomePrograms): string[] {
  const own = nodeLiesOutside() ? [join(NODE_PREFIX, 'bin')] : [];
  const go = existsSync('/usr/local/go/bin') ? ['/usr/local/go/bin'] : [];
  return [PYTHON_PROGRAMS, ...first, ...own, '/usr/local/bin', '/usr/bin', '/bin', ...go, ...path, LOCAL_PROGRAMS];
}

/** Programs and libraries, as the host lays them out: /bin and its like are links into /usr or folders of their own. */
function system(hiddenFolders: readonly string[]): string[] {
  const args = ['--ro-bind', '/usr', '/usr'];
  for (const folder of ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']) {
    const kind = existsSync(folder) ? lstatSync(folder) : undefined;
    if (kind?.isSymbolicLink()) args.push('--symlink', readlinkSync(folder), folder);
    else if (kind?.isDirectory()) args.push('--ro-bind', folder, folder);
  }
  const hidden = [...HIDDEN_IN_USR, ...hiddenFolders].filter(existsSync).map((folder) => realpathSync(folder));
  for (const folder of new Set(hidden)) {
    if (folder.startsWith('/usr/')) args.push('--tmpfs', folder, '--remount-ro', folder);
  }
  return nodeLiesOutside() ? [...args, ...node()] : args;
}

/** True when the Node that runs this server is not one that the sandbox has in its /usr. */
function nodeLiesOutside(): boolean {
  return !['/usr/bin', '/usr/local/bin'].includes(dirname(nodeExecutable()));
}

function nodeInside(): string {
  return nodeLiesOutside() ? join(NODE_PREFIX, 'bin/node') : nodeExecutable();
}

/** The server's own Node, with the npm beside it if there is one; nothing else of the folder they lie in. */
function node(): string[] {
  const executable = nodeExecutable();
  const args = ['--ro-bind', executable, `${NODE_PREFIX}/bin/node`];
  const npm = join(dirname(executable), '../lib/node_modules/npm');
  if (existsSync(npm)) {
    args.push('--ro-bind', npm, `${NODE_PREFIX}/lib/node_modules/npm`);
    for (const name of ['npm', 'npx']) {
      args.push('--symlink', `../lib/node_modules/npm/bin/${name}-cli.js`, `${NODE_PREFIX}/bin/${name}`);
    }
  }
  return args;
}

function etc(file: (content: string, path: string) => string[], openNetwork: boolean): string[] {
  const java = readdirSync('/etc').filter((name) => /^java-\d+-openjdk$/.test(name));
  const network = openNetwork ? ['resolv.conf', 'hosts'] : [];
  return [
    ...[...ETC_ENTRIES, ...java, ...network].flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...file('root:x:0:0:root:/root:/bin/false\nagent:x:1000:1000:Agent:/home/agent:/bin/sh\n', '/etc/passwd'),
    ...file('root:x:0:\nagent:x:1000:\n', '/etc/group'),
    ...file('passwd: files\ngroup: files\nhosts: files dns\n', '/etc/nsswitch.conf'),
    ...(openNetwork ? [] : file('127.0.0.1 localhost\n::1 localhost\n', '/etc/hosts')),
  ];
}

function devices(memoryBytes: number): string[] {
  return [
    '--dev',
    '/dev',
    ...scratch('/dev/shm', Math.min(memoryBytes, SHARED_MEMORY_BYTES)),
    '--remount-ro',
    '/dev',
    // Where the server runs as root, the sandbox's user is root to the kernel's eyes and could write /proc/sys.
    '--proc',
    '/proc',
    ...HIDDEN_IN_PROC.filter(existsSync).flatMap((file) => ['--ro-bind', '/dev/null', file]),
    '--remount-ro',
    '/proc',
    ...scratch('/tmp', memoryBytes),
    '--symlink',
    '../tmp',
    '/var/tmp',
  ];
}

function scratch(path: string, bytes: number): string[] {
  return ['--size', String(bytes), '--tmpfs', path];
}

/** Settings of npm, which pnpm and yarn 1 read too. */
function packageManagerFiles(
  file: (content: string, path: string) => string[],
  npm: NpmSettings,
  openNetwork: boolean,
): string[] {
  // The egress proxy is the only one that can be reached.
  const npmrc = openNetwork ? npm.npmrc : npm.npmrc.replace(/^(?:https-)?proxy=.*\n/gm, '');
  return [
    ...(npm.certificates === null ? [] : file(npm.certificates, CERTIFICATES)),
    ...file(npm.certificates === null ? npmrc : `${npmrc}cafile=${CERTIFICATES}\n`, NPMRC),
  ];
}
