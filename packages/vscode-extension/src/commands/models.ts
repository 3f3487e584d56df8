/** The models that a server works with: a key of a provider, or an agent that is found on the server's machine. */
import type { AgentSetup, ProviderSetup, Setup } from '@autonomous/shared';
import { type Client, explainRefusal } from '@autonomous/shared/client';
import * as vscode from 'vscode';
import { clientOf, type Host, type Panels } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';
import { isLoopback } from '../local-server/local-server-place.ts';
import { cleanKey, recognizeProvider, withoutKey } from '../model-keys.ts';
import { plainMessage } from '../plain-message.ts';
import { tryDemo } from './demo.ts';
import type { CommandTable } from './register.ts';
import { startServer } from './start-server.ts';

export function modelCommands(host: Host, panels: Panels): CommandTable {
  return {
    [COMMANDS.chooseModel]: () => chooseModel(host, panels),
    [COMMANDS.tryDemo]: () => tryDemo(host, panels),
  };
}

interface Choice extends vscode.QuickPickItem {
  readonly act?: () => Promise<void>;
}

async function chooseModel(host: Host, panels: Panels): Promise<void> {
  if (!(await isServerReady(host))) return;
  const client = clientOf(host);
  const setup = await client.getSetup();
  const choice = await vscode.window.showQuickPick(choices(host, panels, client, setup), {
    title: 'Which models do the work?',
    placeHolder: setup.isReady ? 'Models can be used. Add or change some.' : 'No model can be used yet.',
    matchOnDescription: true,
    ignoreFocusOut: true,
  });
  await choice?.act?.();
  await host.models.look();
}

/** Starts the local server where none is connected. @returns false when the person went away */
async function isServerReady(host: Host): Promise<boolean> {
  if (host.server.isDemo) {
    const end = 'End the Demo';
    const picked = await vscode.window.showInformationMessage(
      'The demo has no models to choose: a script plays them. End the demo and start the server?',
      { modal: true },
      end,
    );
    return picked === end && (await startServer(host)) && (await isConnected(host));
  }
  const { kind } = host.connection.state;
  if (kind !== 'unconfigured' || host.server.state !== 'stopped') return true;
  return (await startServer(host)) && (await isConnected(host));
}

const CONNECTED_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 100;

async function isConnected({ connection }: Host): Promise<boolean> {
  for (let waited = 0; waited < CONNECTED_WITHIN_MS; waited += LOOK_EVERY_MS) {
    if (connection.state.kind === 'live' || connection.state.kind === 'polling') return true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return connection.client !== null;
}

function choices(host: Host, panels: Panels, client: Client, setup: Setup): readonly Choice[] {
  const separator = (label: string): Choice => ({ label, kind: vscode.QuickPickItemKind.Separator });
  // An agent that is there comes before those that are not.
  const agents = setup.agents.toSorted((a, b) => rankOf(a) - rankOf(b));
  return [
    {
      label: '$(key) Paste a Key…',
      description: setup.providers
        .filter(takesKey)
        .map(({ title }) => plainMessage(title))
        .join(', '),
      act: () => pasteKey(host, client, setup, null),
    },
    ...(agents.length === 0 ? [] : [separator(`Agents on ${machineOf(host)}`)]),
    ...agents.map((agent) => ({
      label: plainMessage(agent.title),
      iconPath: new vscode.ThemeIcon(AGENT_ICON[agent.status]),
      description: plainMessage([AGENT_WORDS[agent.status], agent.version].filter(Boolean).join(', ')),
      ...detailOf(agent.way ?? agent.detail),
      act: () => chooseAgent(host, client, setup, agent),
    })),
    separator('Providers'),
    ...setup.providers.map((provider) => ({
      label: plainMessage(provider.title),
      iconPath: new vscode.ThemeIcon(PROVIDER_ICON[provider.status]),
      description: plainMessage(providerWords(provider, isOwnServer(host))),
      ...(provider.status === 'no_key' ? {} : detailOf(provider.detail)),
      act: () => openProvider(host, client, setup, provider),
    })),
    separator('Without a model'),
    {
      label: '$(play) Try the Demo',
      description: 'a script plays the model, all else is real',
      act: () => tryDemo(host, panels),
    },
  ];
}

const AGENT_WORDS = {
  ready: 'ready',
  not_signed_in: 'not signed in',
  not_found: 'not found',
  failed: 'does not work',
} as const satisfies Record<AgentSetup['status'], string>;
const AGENT_ICON = {
  ready: 'check',
  not_signed_in: 'account',
  not_found: 'circle-slash',
  failed: 'error',
} as const satisfies Record<AgentSetup['status'], string>;
const PROVIDER_ICON = {
  ready: 'check',
  no_key: 'circle-outline',
  refused: 'error',
  unreachable: 'warning',
} as const satisfies Record<ProviderSetup['status'], string>;

function rankOf({ status }: AgentSetup): number {
  return ['ready', 'not_signed_in', 'failed', 'not_found'].indexOf(status);
}

/** Some are servers of this machine, found by themselves. */
function takesKey({ keysUrl, takesBaseUrl }: ProviderSetup): boolean {
  return keysUrl !== '' || takesBaseUrl === true;
}

function detailOf(text: string | null): { readonly detail?: string } {
  return text === null || text === '' ? {} : { detail: plainMessage(text) };
}

function providerWords({ status, hint, source, models }: ProviderSetup, isOwn: boolean): string {
  const kept = {
    environment: 'from the environment',
    file: 'kept by the server',
    memory: isOwn ? 'kept by this editor' : 'until the server ends',
  };
  const key = [hint === null ? '' : `key ${hint}`, source === null ? '' : kept[source]].filter(Boolean).join(' ');
  switch (status) {
    case 'ready':
      return [key, `${models.length} ${models.length === 1 ? 'model' : 'models'}`].filter(Boolean).join(', ');
    case 'no_key':
      return 'no key';
    case 'refused':
      return `${key} is refused`;
    case 'unreachable':
      return 'not reached';
    default:
      return status satisfies never;
  }
}

/** A provider that has no key gets one; else the person says what to do about the one that it has. */
async function openProvider(host: Host, client: Client, setup: Setup, provider: ProviderSetup): Promise<void> {
  const { id, title, source } = provider;
  if (!takesKey(provider) && provider.status !== 'ready') return testProvider(host, client, provider);
  if (source === null && takesKey(provider)) return pasteKey(host, client, setup, provider);
  const words = providerWords(provider, isOwnServer(host));
  const items: readonly Choice[] = [
    ...(provider.models.length === 0
      ? []
      : [{ label: '$(sparkle) Use It for New Runs…', act: () => chooseModelOf(client, setup, provider) }]),
    { label: '$(beaker) Test It', act: () => testProvider(host, client, provider) },
    ...(source === 'environment' || !takesKey(provider)
      ? []
      : [
          { label: '$(key) Replace the Key…', act: () => pasteKey(host, client, setup, provider) },
          {
            label: '$(trash) Forget the Key',
            act: async () => {
              await client.removeKey(id);
              await host.models.keys.forget(id);
              void vscode.window.showInformationMessage(plainMessage(`The key of ${title} is forgotten.`));
            },
          },
        ]),
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: plainMessage(title),
    placeHolder: plainMessage(
      source === 'environment' ? `${words}. It is changed where the server is started.` : words,
    ),
  });
  await picked?.act?.();
}

async function testProvider(host: Host, client: Client, { id, title }: ProviderSetup): Promise<void> {
  const tested = await withProgress(`Testing the key of ${title}…`, () => client.testProvider(id));
  if (tested.status !== 'ready') throw new Error(tested.detail ?? `${title} cannot be used.`);
  sayReady(host, tested);
}

/**
 * Asks for a key until one is taken or the person goes away; what the provider says of it stands in the box.
 * @param provider `null`: the one that the key itself shows, else the person chooses
 */
async function pasteKey(host: Host, client: Client, setup: Setup, provider: ProviderSetup | null): Promise<void> {
  if (!(await mayBeGiven(host))) return;
  const input = vscode.window.createInputBox();
  input.title = provider === null ? 'Paste a key' : `Paste a key of ${plainMessage(provider.title)}`;
  input.prompt = promptOf(provider, isOwnServer(host));
  input.placeholder = 'sk-…';
  input.password = true;
  input.ignoreFocusOut = true;
  // Choices for a refused key stay for the next one.
  let asked: ProviderSetup | null = provider;
  let address: string | undefined;
  const tryKey = async (): Promise<void> => {
    const key = cleanKey(input.value);
    if (key === '' && provider?.takesBaseUrl !== true) {
      input.validationMessage = 'A key is needed.';
      return;
    }
    const chosen = provider ?? recognized(setup, key) ?? asked ?? (await chooseProvider(setup));
    if (chosen === null) return input.show();
    asked = chosen;
    if (chosen.takesBaseUrl === true) {
      const given = await askAddress(chosen, address);
      if (given === null) return input.show();
      address = given;
    }
    const place = chosen.takesBaseUrl === true && address !== undefined ? { baseUrl: address } : {};
    input.show();
    [input.enabled, input.busy, input.validationMessage] = [false, true, undefined];
    input.prompt = `Testing it with one call to ${plainMessage(chosen.title)}…`;
    try {
      const keep = isOwnServer(host) ? 'memory' : 'file';
      const entry = await client.setKey(chosen.id, { key, ...place, keep });
      if (keep === 'memory') await host.models.keys.keep(chosen.id, { key, ...place });
      input.hide();
      sayReady(host, entry);
    } catch (error) {
      input.validationMessage = plainMessage(withoutKey(explainRefusal(error, Date.now()), key));
      input.prompt = promptOf(provider, isOwnServer(host));
    } finally {
      [input.enabled, input.busy] = [true, false];
    }
  };
  await new Promise<void>((resolve) => {
    let isAsking = false;
    input.onDidChangeValue(() => (input.validationMessage = undefined));
    input.onDidAccept(() => {
      isAsking = true;
      void tryKey().finally(() => (isAsking = false));
    });
    input.onDidHide(() => {
      // Another box may be in front for a moment.
      if (!isAsking || !input.enabled) resolve();
    });
    input.show();
  });
  input.dispose();
}

function promptOf(provider: ProviderSetup | null, isOwn: boolean): string {
  const where = isOwn ? 'It is kept in the secret storage of this editor' : 'The server keeps it in a file of its own';
  const from = provider === null || provider.keysUrl === '' ? '' : ` Keys are made at ${provider.keysUrl}.`;
  return plainMessage(`${where} and tested with one call.${from}`);
}

function recognized({ providers }: Setup, key: string): ProviderSetup | undefined {
  return providers.find(({ id }) => id === recognizeProvider(key));
}

/** The provider whose key it is; `null` when the person went away. */
async function chooseProvider({ providers }: Setup): Promise<ProviderSetup | null> {
  const items = providers.filter(takesKey).map((provider) => ({ label: plainMessage(provider.title), provider }));
  const picked = await vscode.window.showQuickPick(items, { title: 'Whose key is it?', ignoreFocusOut: true });
  return picked?.provider ?? null;
}

/** @returns `null` when the person went away */
async function askAddress({ title, baseUrl }: ProviderSetup, before: string | undefined): Promise<string | null> {
  const given = await vscode.window.showInputBox({
    title: `Address of ${plainMessage(title)}`,
    prompt: 'Where its API answers, with the path.',
    placeHolder: 'http://127.0.0.1:8000/v1',
    value: before ?? baseUrl ?? '',
    ignoreFocusOut: true,
    validateInput: (text) =>
      /^https?:\/\/./.test(text.trim()) ? null : 'An address such as http://127.0.0.1:8000/v1 is needed.',
  });
  return given === undefined ? null : given.trim();
}

/** A key leaves this editor for a server that somebody else started only after the person agreed. */
async function mayBeGiven(host: Host): Promise<boolean> {
  if (isOwnServer(host)) return true;
  const { state } = host.connection;
  const url = state.kind === 'unconfigured' ? '' : state.url;
  const give = 'Give It to This Server';
  const where = isLoopback(url) ? 'a server that was not started by this window' : 'a server on another machine';
  const picked = await vscode.window.showWarningMessage(
    plainMessage(`Give the key to ${url}?`),
    {
      modal: true,
      detail: plainMessage(
        `This is ${where}. It keeps the key in a file that its own account alone can read, and uses it for the runs of everybody who has access to it. The key is not kept in this editor.`,
      ),
    },
    give,
  );
  return picked === give;
}

/** True for the server that this window started: it gets keys in memory, at each start. */
function isOwnServer({ server }: Host): boolean {
  return server.state === 'running';
}

async function chooseAgent(host: Host, client: Client, setup: Setup, agent: AgentSetup): Promise<void> {
  const { id, title } = agent;
  const tested =
    agent.status === 'not_found' ? agent : await withProgress(`Starting ${title}…`, () => client.testAgent(id));
  if (tested.status === 'ready') return useModel(client, setup, `acp:${id}`, title);
  const other = 'Choose Something Else…';
  const words = [tested.detail ?? `${title} cannot be used: ${AGENT_WORDS[tested.status]}.`, tested.way];
  host.log.warn(words.filter(Boolean).join(' '));
  const picked = await vscode.window.showErrorMessage(plainMessage(words.filter(Boolean).join(' ')), other);
  if (picked === other) await vscode.commands.executeCommand(COMMANDS.chooseModel);
}

async function chooseModelOf(client: Client, setup: Setup, { models, title }: ProviderSetup): Promise<void> {
  const picked = await vscode.window.showQuickPick(models.map(plainMessage), {
    title: `A model of ${plainMessage(title)}`,
    placeHolder: 'Which one is used for new runs?',
  });
  const model = models.find((each) => plainMessage(each) === picked);
  if (model !== undefined) await useModel(client, setup, model, model);
}

/** Makes it the default of the roles that the person picks: all of them, unless some are taken out. */
async function useModel(client: Client, { defaultModels }: Setup, model: string, title: string): Promise<void> {
  const roles = Object.entries(defaultModels).map(([role, current]) => ({
    label: plainMessage(role),
    description: current === '' ? '' : plainMessage(`now ${current}`),
    picked: true,
    role,
  }));
  const picked = await vscode.window.showQuickPick(roles, {
    title: `Which roles does ${plainMessage(title)} perform in new runs?`,
    canPickMany: true,
    ignoreFocusOut: true,
  });
  if (picked === undefined || picked.length === 0) return;
  await client.setDefaultModels(Object.fromEntries(picked.map(({ role }) => [role, model])));
  void offerLaunch(`New runs use ${title} for ${picked.map(({ role }) => role).join(', ')}.`);
}

function sayReady(host: Host, { title, hint, models }: ProviderSetup): void {
  const kept = isOwnServer(host) ? 'in the secret storage of this editor' : 'by the server';
  const key = hint === null ? '' : ` The key ${hint} is kept ${kept}.`;
  const count = `${models.length} ${models.length === 1 ? 'model' : 'models'}`;
  void offerLaunch(`${title} is ready: ${count}.${key}`);
}

async function offerLaunch(words: string): Promise<void> {
  const launch = 'Launch a Run…';
  const picked = await vscode.window.showInformationMessage(plainMessage(words), launch);
  if (picked === launch) await vscode.commands.executeCommand(COMMANDS.launchRun);
}

function machineOf({ connection: { state } }: Host): string {
  return state.kind === 'unconfigured' || isLoopback(state.url) ? 'this machine' : 'the server’s machine';
}

function withProgress<Result>(title: string, act: () => Promise<Result>): Thenable<Result> {
  const location = vscode.ProgressLocation.Notification;
  return vscode.window.withProgress({ location, title: plainMessage(title) }, act);
}
