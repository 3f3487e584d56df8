/** A real VS Code (code-server) on loopback, with a profile of its own that is thrown away. */
import { execFile, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CODE_SERVER } from './install.ts';

const execute = promisify(execFile);
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const STOP_TIMEOUT_MS = 10_000;

/** Nothing here asks a person, shows news, or reaches the network. */
const QUIET_SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.enableExperiments': false,
  'workbench.tips.enabled': false,
  'workbench.reduceMotion': 'on',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'window.autoDetectColorScheme': false,
  'remote.autoForwardPorts': false,
};

export interface VscodeHostOptions {
  /** Where extensions lie: of {@link installVsix}, or an empty folder. */
  readonly extensions: string;
  /** The folder that is opened; an empty one when absent. */
  readonly folder?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The folder is not trusted: VS Code opens it in restricted mode. */
  readonly restricted?: boolean;
  /** Takes the paths of extension and tests from the address of the page; a built VS Code otherwise ignores them. */
  readonly runsTests?: boolean;
}

export interface VscodeHost {
  readonly origin: string;
  /** `HOME` of everything that runs in it. */
  readonly home: string;
  readonly folder: string;
  /**
   * The page of the window.
   * @param payload what a test runner hands to the workbench, as pairs
   */
  url(payload?: readonly (readonly [string, string])[]): string;
  /** A file of this machine as the window knows it: its authority is that of the page. */
  remote(file: string): string;
  /** Replaces the person's settings; the window takes them at once. */
  writeSettings(settings: Readonly<Record<string, unknown>>): Promise<void>;
  log(): Promise<string>;
  /** Ends it and everything that it started, and removes its profile. May be called again. */
  stop(): Promise<void>;
}

/** Installs a packaged extension as a person does with "Install from VSIX…". @returns the folder for {@link VscodeHostOptions.extensions} */
export async function installVsix(vsix: string, folder: string): Promise<string> {
  const extensions = path.join(folder, 'extensions');
  const profile = await makeProfile(path.join(folder, 'installing'), {});
  await execute(process.execPath, [CODE_SERVER, ...common(profile, extensions), '--install-extension', vsix], {
    env: environment(profile, {}),
  });
  return extensions;
}

/** Starts it; resolves when it answers. */
export async function startVscodeHost(options: VscodeHostOptions): Promise<VscodeHost> {
  const home = await mkdtemp(path.join(tmpdir(), 'autonomous-e2e-vscode-'));
  await makeProfile(home, options.settings ?? {});
  const folder = options.folder ?? path.join(home, 'folder');
  await mkdir(folder, { recursive: true });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const logFile = path.join(home, 'server.log');
  const child = spawn(
    process.execPath,
    [
      CODE_SERVER,
      ...common(home, options.extensions),
      '--auth=none',
      `--bind-addr=127.0.0.1:${port}`,
      '--ignore-last-opened',
      '--disable-proxy',
      '--disable-telemetry',
      '--disable-update-check',
      '--disable-getting-started-override',
      ...(options.restricted ? [] : ['--disable-workspace-trust']),
      ...(options.runsTests ? ['--vscode-option', 'enable-smoke-test-driver'] : []),
      folder,
    ],
    // A group of its own: the extension host and what it starts end with it.
    { env: environment(home, options.env ?? {}), stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => appendFileSync(logFile, chunk));
  const log = (): Promise<string> => readFile(logFile, 'utf8').catch(() => '');
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The group is gone.
    }
  };
  const stop = async (): Promise<void> => {
    kill('SIGTERM');
    const late = new AbortController();
    await Promise.race([ended, delay(STOP_TIMEOUT_MS, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    kill('SIGKILL');
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  const isUp = await answers(`${origin}/healthz`, ended);
  if (!isUp) {
    const said = await log();
    await stop();
    throw new Error(`code-server did not start:\n${said}`);
  }
  return {
    origin,
    home,
    folder,
    url: (payload) => {
      const query = new URLSearchParams({ folder });
      if (payload !== undefined) query.set('payload', JSON.stringify(payload));
      return `${origin}/?${query}`;
    },
    remote: (file) => `vscode-remote://127.0.0.1:${port}${path.resolve(file)}`,
    writeSettings: (settings) => writeSettings(home, settings),
    log,
    stop,
  };
}

async function makeProfile(home: string, settings: Readonly<Record<string, unknown>>): Promise<string> {
  await writeSettings(home, settings);
  await writeFile(path.join(home, 'config.yaml'), 'auth: none\n');
  return home;
}

async function writeSettings(home: string, settings: Readonly<Record<string, unknown>>): Promise<void> {
  const text = JSON.stringify({ ...QUIET_SETTINGS, ...settings }, null, 2);
  // The window is a remote one: settings of a machine count only where its machine keeps them.
  for (const name of ['User', 'Machine']) {
    await mkdir(path.join(home, 'profile', name), { recursive: true });
    await writeFile(path.join(home, 'profile', name, 'settings.json'), text);
  }
}

function common(home: string, extensions: string): readonly string[] {
  return [
    `--user-data-dir=${path.join(home, 'profile')}`,
    `--extensions-dir=${extensions}`,
    `--config=${path.join(home, 'config.yaml')}`,
  ];
}

function environment(home: string, more: Readonly<Record<string, string>>): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    LANG: 'C.UTF-8',
    // Without it, VS Code asks the public gallery about every extension.
    EXTENSIONS_GALLERY: '{"serviceUrl":""}',
    ...more,
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('A port has no number.');
  return address.port;
}

function abortedAfter(end: Promise<void>): AbortSignal {
  const abort = new AbortController();
  void end.then(() => abort.abort());
  return abort.signal;
}

async function answers(url: string, ended: Promise<void>): Promise<boolean> {
  const isOver = AbortSignal.any([AbortSignal.timeout(START_TIMEOUT_MS), abortedAfter(ended)]);
  while (!isOver.aborted) {
    const response = await fetch(url, { signal: isOver }).catch(() => undefined);
    if (response?.ok) return true;
    await delay(POLL_MS);
  }
  return false;
}
