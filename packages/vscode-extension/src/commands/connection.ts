/** The commands around the server: which one, its token, the one of this machine, and its dashboard. */
import * as vscode from 'vscode';
import { connectionLine } from '../connection-words.ts';
import { clientOf, type Host } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';
import { isLoopback, readLocalToken, serverAddress } from '../local-server/local-server-place.ts';
import { configuredUrl, setAddress, tokenKey } from '../local-server/server-place.ts';
import type { CommandTable } from './register.ts';
import { startServer } from './start-server.ts';

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

async function openDashboard(host: Host): Promise<void> {
  const link = vscode.Uri.parse(await clientOf(host).createSignInLink(), true);
  // The browser may run on another machine than this part of the editor.
  const server = await vscode.env.asExternalUri(link.with({ path: '/', query: '', fragment: '' }));
  // The external address may have a path of its own.
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
    ...when(isConnected, '$(project) Show roadmap', COMMANDS.openRoadmap),
    ...when(isConnected, '$(graph) Show metrics', COMMANDS.openMetrics),
    ...when(isConnected, '$(globe) Open dashboard in browser', COMMANDS.openDashboard),
    ...when(true, '$(sparkle) Choose a model', COMMANDS.chooseModel),
    ...when(!isConnected && host.server.state === 'stopped', '$(play) Start local server', COMMANDS.startServer),
    ...when(host.server.isDemo, '$(play) End the demo and start the local server', COMMANDS.startServer),
    ...when(!host.server.isDemo && host.server.state === 'stopped', '$(beaker) Try the demo', COMMANDS.tryDemo),
    ...when(
      host.server.state !== 'stopped',
      host.server.isDemo ? '$(debug-stop) End the demo' : '$(debug-stop) Stop local server',
      COMMANDS.stopServer,
    ),
    ...when(state.kind !== 'unconfigured', '$(refresh) Connect again', COMMANDS.refresh),
    ...when(true, '$(plug) Choose server', COMMANDS.connect),
    ...when(state.kind !== 'unconfigured', '$(key) Set token', COMMANDS.setToken),
    ...when(true, '$(output) Show log', COMMANDS.showLog),
  ];
  const picked = await vscode.window.showQuickPick(items, { title: 'Autonomous', placeHolder: connectionLine(state) });
  if (picked) await vscode.commands.executeCommand(picked.command);
}
