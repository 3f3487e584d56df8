/** The commands around the server: which one, its token, the one of this machine, and its dashboard. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { connectionLine } from '../connection-words.ts';
import { clientOf, type Host } from '../host.ts';
import { COMMANDS, SETTINGS } from '../identifiers.ts';
import { checkoutCommand, type ServerCommand } from '../local-server.ts';
import { findCheckout, isLoopback, readLocalToken, serverAddress } from '../local-server-place.ts';
import { plainMessage } from '../plain-message.ts';
import { configuredUrl, tokenKey } from '../server-place.ts';
import type { CommandTable } from './register.ts';

export function connectionCommands(host: Host): CommandTable {
  return {
    [COMMANDS.connect]: () => chooseServer(host),
    [COMMANDS.setToken]: () => setToken(host),
    [COMMANDS.refresh]: () => host.connection.connect(),
    [COMMANDS.showLog]: () => host.log.show(),
    [COMMANDS.startServer]: () => startServer(host),
    [COMMANDS.stopServer]: () => host.server.stop().then(() => host.connection.connect()),
    [COMMANDS.openDashboard]: () => openDashboard(host),
    [COMMANDS.showMenu]: () => showMenu(host),
  };
}

async function chooseServer(host: Host): Promise<void> {
  const given = await vscode.window.showInputBox({
    title: 'Connect to an Autonomous server',
    prompt: 'Its address. Leave it empty for the server of this machine.',
    placeHolder: 'http://127.0.0.1:3001',
    value: configuredUrl() ?? '',
    ignoreFocusOut: true,
    validateInput: (text) =>
      text.trim() === '' || serverAddress(text) !== null
        ? null
        : 'An address such as https://autonomous.example.org is needed.',
  });
  if (given === undefined) return;
  const url = given.trim() === '' ? undefined : (serverAddress(given) ?? undefined);
  await setAddress(url);
  if (url !== undefined && !(await hasToken(host, url))) await askToken(host, url);
  await host.connection.connect();
}

/** @throws {Error} where other settings than the person's own come first */
async function setAddress(url: string | undefined): Promise<void> {
  await vscode.workspace.getConfiguration().update(SETTINGS.serverUrl, url, vscode.ConfigurationTarget.Global);
  const counts = configuredUrl();
  if (counts === (url ?? null)) return;
  throw new Error(
    `The server stays ${counts ?? 'the one of this machine'}: ${SETTINGS.serverUrl} is set in the settings of this workspace or this machine as well, which come before your own. Change it there.`,
  );
}

async function hasToken({ context }: Host, url: string): Promise<boolean> {
  if ((await context.secrets.get(tokenKey(url))) !== undefined) return true;
  return isLoopback(url) && (await readLocalToken(process.env)) !== null;
}

async function setToken(host: Host): Promise<void> {
  const { state } = host.connection;
  const url = state.kind === 'unconfigured' ? null : state.url;
  if (url === null) return chooseServer(host);
  if (await askToken(host, url)) await host.connection.connect();
}

/** @returns false when the person went away */
async function askToken({ context }: Host, url: string): Promise<boolean> {
  const token = await vscode.window.showInputBox({
    title: `Token for ${url}`,
    prompt: 'The server prints its address when it starts. Leave empty to forget the stored address.',
    password: true,
    ignoreFocusOut: true,
  });
  if (token === undefined) return false;
  if (token.trim() === '') await context.secrets.delete(tokenKey(url));
  else await context.secrets.store(tokenKey(url), token.trim());
  return true;
}

/** Starts the server of this machine and connects to it; also when the window opens and the person has set so. */
export async function startServer(host: Host): Promise<void> {
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
    if (picked !== use) return;
    await setAddress(undefined);
  }
  const command = await serverCommand();
  if (command === null) return;
  host.log.info(`Starting ${[command.program, ...command.args].join(' ')} in ${command.folder}`);
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Starting the Autonomous server…' },
    () => host.server.start(command),
  );
  await host.connection.connect();
}

/** `null` when there is none and the person chose none. */
async function serverCommand(): Promise<ServerCommand | null> {
  const configuration = vscode.workspace.getConfiguration();
  const [program, ...args] = configuration.get<readonly string[]>(SETTINGS.serverCommand, []);
  const named = configuration.get<string>(SETTINGS.serverFolder, '').trim();
  const opened = (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) =>
    uri.scheme === 'file' ? [uri.fsPath] : [],
  );
  const folder = named === '' ? null : named.startsWith('~/') ? join(homedir(), named.slice(2)) : named;
  if (program !== undefined) return { program, args, folder: folder ?? opened[0] ?? homedir() };
  const checkout = await findCheckout(folder === null ? opened : [folder]);
  if (checkout !== null) return checkoutCommand(checkout);
  const choose = 'Choose Folder…';
  const picked = await vscode.window.showInformationMessage(
    plainMessage(
      folder === null
        ? 'Where is your checkout of Autonomous? The server is started from it.'
        : `${folder} is not a checkout of Autonomous.`,
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
  await configuration.update(SETTINGS.serverFolder, chosen.fsPath, vscode.ConfigurationTarget.Global);
  return checkoutCommand(chosen.fsPath);
}

async function openDashboard(host: Host): Promise<void> {
  const link = vscode.Uri.parse(await clientOf(host).createSignInLink(), true);
  // The browser may run on another machine than this part of the editor.
  const server = await vscode.env.asExternalUri(link.with({ path: '/', query: '', fragment: '' }));
  // Which may reach it below a path of its own.
  const path = server.path.replace(/\/$/, '') + link.path;
  await vscode.env.openExternal(server.with({ path, query: link.query, fragment: link.fragment }));
}

interface MenuItem extends vscode.QuickPickItem {
  readonly command: string;
}

async function showMenu(host: Host): Promise<void> {
  const { state } = host.connection;
  const isConnected = state.kind === 'live' || state.kind === 'polling';
  const when = (condition: boolean, label: string, command: string): readonly MenuItem[] =>
    condition ? [{ label, command }] : [];
  const items = [
    ...when(isConnected, '$(list-tree) Show runs', 'autonomous.waiting.focus'),
    ...when(isConnected, '$(add) Launch a run', COMMANDS.launchRun),
    ...when(isConnected, '$(beaker) Explore approaches', COMMANDS.explore),
    ...when(isConnected, '$(graph) Show metrics', COMMANDS.openMetrics),
    ...when(isConnected, '$(globe) Open dashboard in browser', COMMANDS.openDashboard),
    ...when(!isConnected && host.server.state === 'stopped', '$(play) Start local server', COMMANDS.startServer),
    ...when(host.server.state !== 'stopped', '$(debug-stop) Stop local server', COMMANDS.stopServer),
    ...when(state.kind !== 'unconfigured', '$(refresh) Connect again', COMMANDS.refresh),
    ...when(true, '$(plug) Choose server', COMMANDS.connect),
    ...when(state.kind !== 'unconfigured', '$(key) Set token', COMMANDS.setToken),
    ...when(true, '$(output) Show log', COMMANDS.showLog),
  ];
  const picked = await vscode.window.showQuickPick(items, { title: 'Autonomous', placeHolder: connectionLine(state) });
  if (picked) await vscode.commands.executeCommand(picked.command);
}
