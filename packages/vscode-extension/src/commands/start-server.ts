/** Starts the server of this machine: the installed package, which is installed first where it is missing, or a checkout. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@autonomous/shared/client';
import * as vscode from 'vscode';
import type { Host } from '../host.ts';
import { COMMANDS, SETTINGS } from '../identifiers.ts';
import { checkoutCommand, type ServerCommand } from '../local-server/local-server.ts';
import { findCheckout, localServerUrl, readLocalToken } from '../local-server/local-server-place.ts';
import { handKeys } from '../model-keys.ts';
import { plainMessage } from '../plain-message.ts';
import {
  findInstalled,
  type InstalledServer,
  installServer,
  type InstallStep,
  markUsed,
  removeOtherVersions,
} from '../server-package/install.ts';
import { chooseRuntime } from '../server-package/node-runtime.ts';
import { megabytes, registryAddress } from '../server-package/package-registry.ts';
import { type PinnedPackage, readPinnedPackage } from '../server-package/pinned-package.ts';
import { configuredUrl, setAddress } from '../local-server/server-place.ts';

/** A server that can be started; `installed` where it is the package. */
interface Startable {
  readonly command: ServerCommand;
  readonly installed: InstalledServer | null;
}

/**
 * Starts it and connects to it; also when the window opens and the person has set so.
 * @returns false when the person went away, or was told why it could not be installed
 */
export function startServer(host: Host): Promise<boolean> {
  // A person who asks twice waits for the same server.
  starting ??= start(host).finally(() => (starting = null));
  return starting;
}

let starting: Promise<boolean> | null = null;

async function start(host: Host): Promise<boolean> {
  if (!vscode.workspace.isTrusted) {
    throw new Error('This workspace is in restricted mode: a server is started only from a workspace that you trust.');
  }
  const setting = configuredUrl();
  if (setting !== null) {
    const use = 'Use the Local One';
    const picked = await vscode.window.showWarningMessage(
      plainMessage(`${setting} is set as the server. Start one on this machine and use it instead?`),
      { modal: true },
      use,
    );
    if (picked !== use) return false;
    await setAddress(undefined);
  }
  const startable = await findServer(host);
  if (startable === null) return false;
  if (host.server.isDemo) await host.server.stop();
  const { command, installed } = startable;
  // Another window may have started it meanwhile.
  if (await isThere(host)) return true;
  host.log.info(`Starting ${[command.program, ...command.args].join(' ')} in ${command.folder}`);
  try {
    await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: 'Starting the Autonomous server…' },
      () => host.server.start(command),
    );
  } catch (error) {
    if (await isThere(host, OTHER_STARTS_WITHIN_MS)) return true;
    throw error;
  }
  if (installed !== null) await keepOnly(host, installed);
  await handKeysTo(host);
  await host.connection.connect();
  return true;
}

/** How long the server of another window, which has the data folder, may take until it answers. */
const OTHER_STARTS_WITHIN_MS = 10_000;
const ANSWERS_WITHIN_MS = 1_000;
const LOOK_EVERY_MS = 250;

/** Connects to the server of this machine where it answers to its token within this time. */
async function isThere(host: Host, withinMs = 0): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  do {
    const token = await readLocalToken(process.env);
    const answer =
      token === null
        ? null
        : await fetch(`${localServerUrl(process.env)}/api/me`, {
            headers: { Authorization: `Bearer ${token}` },
            signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
          }).catch(() => null);
    if (answer?.ok === true) {
      host.log.info('The server of this machine runs already.');
      await host.connection.connect();
      return true;
    }
    if (withinMs > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  } while (Date.now() < deadline);
  return false;
}

/**
 * The program of the demo, with everything that it makes in `out`.
 * @returns `null` when the person went away
 * @throws {Error} where there is neither a package nor a checkout
 */
export async function demoCommand(host: Host, out: string): Promise<ServerCommand | null> {
  const args = ['--attach', '--out', out];
  const checkout = await findCheckout(checkoutFolders());
  if (checkout !== null) {
    const demo = ['tools/run.mjs', 'node', 'packages/orchestrator/demo/main.ts'];
    return { program: 'node', args: [...demo, ...args], folder: checkout };
  }
  const pinned = await pinnedPackage(host);
  if (pinned === null)
    throw new Error(`The demo is a part of the server. Name a checkout of Autonomous in ${SETTINGS.serverFolder}.`);
  const installed = await installedPackage(host, pinned);
  return installed === null ? null : commandOf(host, installed, ['demo', ...args]);
}

/** `null` when there is none and the person chose none. */
async function findServer(host: Host): Promise<Startable | null> {
  const configuration = vscode.workspace.getConfiguration();
  const [program, ...args] = configuration.get<readonly string[]>(SETTINGS.serverCommand, []);
  const folder = namedFolder();
  if (program !== undefined) {
    return { command: { program, args, folder: folder ?? openedFolders()[0] ?? homedir() }, installed: null };
  }
  const checkout = await findCheckout(checkoutFolders());
  if (checkout !== null) return { command: checkoutCommand(checkout), installed: null };
  const pinned = folder === null ? await pinnedPackage(host) : null;
  if (pinned === null) return chooseCheckout(folder);
  const installed = await installedPackage(host, pinned);
  return installed === null ? null : { command: await commandOf(host, installed, ['serve']), installed };
}

/** Folder of the setting; `null` when it is empty. */
function namedFolder(): string | null {
  const named = vscode.workspace.getConfiguration().get<string>(SETTINGS.serverFolder, '').trim();
  if (named === '') return null;
  return named.startsWith('~/') ? join(homedir(), named.slice(2)) : named;
}

function openedFolders(): readonly string[] {
  return (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) => (uri.scheme === 'file' ? [uri.fsPath] : []));
}

function checkoutFolders(): readonly string[] {
  const named = namedFolder();
  return named === null ? openedFolders() : [named];
}

function pinnedPackage({ context }: Host): Promise<PinnedPackage | null> {
  return readPinnedPackage(vscode.Uri.joinPath(context.extensionUri, 'server.json').fsPath);
}

function rootOf({ context }: Host): string {
  return vscode.Uri.joinPath(context.globalStorageUri, 'server').fsPath;
}

/** The installed package; `null` when the person went away, or chose another way after it had failed. */
async function installedPackage(host: Host, pinned: PinnedPackage): Promise<InstalledServer | null> {
  for (;;) {
    const root = rootOf(host);
    const found = await findInstalled(root, pinned);
    if (found !== null) return found;
    const cancelled = new AbortController();
    try {
      return await install(host, pinned, cancelled);
    } catch (error) {
      if (cancelled.signal.aborted) return null;
      if (!(await isTriedAgain(host, error))) return null;
    }
  }
}

async function install(host: Host, pinned: PinnedPackage, cancelled: AbortController): Promise<InstalledServer> {
  const setting = vscode.workspace.getConfiguration().get<string>(SETTINGS.serverRegistry, '');
  const registry = registryAddress(setting, process.env);
  host.log.info(`Installing ${pinned.name} ${pinned.version} from ${registry} (${megabytes(pinned.bytes)} MB)`);
  const installed = await vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Notification,
      title: plainMessage(`Installing the Autonomous server ${pinned.version}`),
      cancellable: true,
    },
    (progress, token) => {
      token.onCancellationRequested(() => cancelled.abort());
      let shown = 0;
      const onStep = (step: InstallStep): void => {
        const percent = step.kind === 'downloading' ? Math.floor((step.bytes / step.ofBytes) * 100) : shown;
        progress.report({ message: wordsOf(step), increment: percent - shown });
        shown = percent;
      };
      return installServer({ root: rootOf(host), pinned, registry, signal: cancelled.signal, onStep });
    },
  );
  host.log.info(`Installed ${pinned.name} ${pinned.version} in ${installed.program}`);
  return installed;
}

function wordsOf(step: InstallStep): string {
  switch (step.kind) {
    case 'asking':
      return 'asking the registry…';
    case 'downloading':
      return `${megabytes(step.bytes)} of ${megabytes(step.ofBytes)} MB`;
    case 'unpacking':
      return 'unpacking…';
    case 'waiting':
      return 'another window is installing it…';
    default:
      return step satisfies never;
  }
}

/** Says why it could not be installed, and offers the ways out. */
async function isTriedAgain(host: Host, error: unknown): Promise<boolean> {
  const words = error instanceof Error ? error.message : String(error);
  host.log.error(`The server was not installed: ${words}`);
  const [again, choose, settings] = ['Try Again', 'Connect to a Server…', 'Open Settings'];
  const picked = await vscode.window.showErrorMessage(
    plainMessage(`The Autonomous server was not installed. ${words}`),
    again,
    choose,
    settings,
  );
  if (picked === choose) await vscode.commands.executeCommand(COMMANDS.connect);
  if (picked === settings) await vscode.commands.executeCommand('workbench.action.openSettings', 'autonomous.server');
  return picked === again;
}

async function commandOf(host: Host, installed: InstalledServer, args: readonly string[]): Promise<ServerCommand> {
  const { program, env, isElectron } = await chooseRuntime(installed.node, process);
  if (isElectron)
    host.log.warn(
      'The server runs on the Node of the editor. Tests of your projects need a Node of their own: install one from https://nodejs.org.',
    );
  return { program, args: [installed.program, ...args], folder: rootOf(host), env };
}

/** Older versions go once the new one runs. What cannot be removed now is removed the next time. */
async function keepOnly(host: Host, { version }: InstalledServer): Promise<void> {
  const root = rootOf(host);
  try {
    if (host.server.pid !== null) await markUsed(root, version, host.server.pid);
    const removed = await removeOtherVersions(root, version);
    if (removed.length > 0) host.log.info(`Removed from ${root}: ${removed.join(', ')}`);
  } catch (error) {
    host.log.warn(`Older versions of the server stay in ${root}: ${String(error)}`);
  }
}

/** The keys that this editor keeps, for the server that was just started. */
async function handKeysTo({ server, models, log }: Host): Promise<void> {
  const place = await server.place();
  if (place === null) return;
  const { url, token } = place;
  const client = createClient({ baseUrl: url, ...(token === null ? {} : { token }) });
  for (const fault of await handKeys(models.keys, client)) log.warn(fault);
}

/** Only where the extension was not packaged, or the setting names a folder that is no checkout. */
async function chooseCheckout(folder: string | null): Promise<Startable | null> {
  const choose = 'Choose Folder…';
  const picked = await vscode.window.showInformationMessage(
    plainMessage(
      folder === null
        ? 'Where is your checkout of Autonomous? The server is started from it.'
        : `${folder} is not a checkout of Autonomous. Choose one, or empty ${SETTINGS.serverFolder} to use the installed server.`,
    ),
    { modal: true },
    choose,
  );
  if (picked !== choose) return null;
  const [chosen] =
    (await vscode.window.showOpenDialog({
      canSelectFolders: true,
      canSelectFiles: false,
      openLabel: 'Start from Here',
    })) ?? [];
  if (chosen === undefined) return null;
  if ((await findCheckout([chosen.fsPath])) === null)
    throw new Error(`${chosen.fsPath} is not a checkout of Autonomous.`);
  await vscode.workspace
    .getConfiguration()
    .update(SETTINGS.serverFolder, chosen.fsPath, vscode.ConfigurationTarget.Global);
  return { command: checkoutCommand(chosen.fsPath), installed: null };
}
