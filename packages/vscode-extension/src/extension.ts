/** Puts the parts together: one connection and one store, from which trees, status, notifications and panels follow. */
import { createWorkflowCatalog, syncWorkflowCatalog } from '@autonomous/shared/client';
import { pathOf, screenOf } from '@autonomous/ui';
import * as vscode from 'vscode';
import { createBranchItem } from './git/branch-item.ts';
import { createCheckedOutRuns } from './git/checked-out-runs.ts';
import { connectionCommands } from './commands/connection.ts';
import { decisionCommands } from './commands/decisions.ts';
import { launchCommands } from './commands/launch.ts';
import { modelCommands } from './commands/models.ts';
import { registerCommands, sayFailure } from './commands/register.ts';
import { checkout, resolveConflict, runCommands } from './commands/runs.ts';
import { startServer } from './commands/start-server.ts';
import { type ConnectionOptions, type ConnectionState, createConnection } from './connection.ts';
import { createDiffDocuments, type DiffDocuments, resultInFront } from './review/diff-documents.ts';
import { createForgeThreads } from './review/forge-threads.ts';
import { firstClientOf, type Host, type Panels, runsOf } from './host.ts';
import { CONTEXT_KEYS, SETTINGS } from './identifiers.ts';
import { createLaunchMemory } from './launch-memory.ts';
import { LocalServer } from './local-server/local-server.ts';
import { createModelKeys } from './model-keys.ts';
import { createModelReadiness } from './model-readiness.ts';
import { createNotifications } from './notifications.ts';
import { createPanels, type ScreenPanels } from './web-view/panels.ts';
import { createPendingDecisions } from './pending-decisions.ts';
import { plainMessage } from './plain-message.ts';
import { createProjectNames } from './project-names.ts';
import { createReviewComments } from './review/review-comments.ts';
import { titleOf } from './run-tree-view.ts';
import { locateServer } from './local-server/server-place.ts';
import { createStatusItem } from './status-item.ts';
import { createTrees } from './trees.ts';

/** Delay that gathers the events of a burst into one redraw. */
const DRAW_AFTER_MS = 30;

let localServer: LocalServer | null = null;

/** @returns what tests and other extensions may look at */
export function activate(context: vscode.ExtensionContext): { readonly host: Host } {
  let draw = (): void => {};
  let onState = (_state: ConnectionState): void => {};
  const host: Host = createHost(context, {
    onChange: () => draw(),
    onState: (state) => onState(state),
    onDemoEnd: () => panels.closeRuns(new Set(Object.keys(runsOf(host)))),
  });
  const { connection, pending, projects, workflows, models } = host;
  localServer = host.server;

  const diffs = createDiffDocuments(host);
  const comments = createReviewComments(host, diffs);
  const checkedOut = createCheckedOutRuns(host);
  const forgeThreads = createForgeThreads(host, diffs, checkedOut);
  const actions = panelActions(host, diffs, () => panels);
  const panels: ScreenPanels = createPanels(host, actions);
  const trees = createTrees(host);
  const status = createStatusItem();
  const branchItem = createBranchItem();
  const notifications = createNotifications(host, panels);
  const contexts = createContextKeys();

  draw = throttled(DRAW_AFTER_MS, () => {
    const runs = runsOf(host);
    pending.settle();
    trees.refresh();
    comments.draw();
    forgeThreads.draw();
    branchItem.show(checkedOut.list());
    status.show(connection.state, runs);
    contexts.show(connection.state, runs);
    const { kind } = connection.state;
    if (kind !== 'live' && kind !== 'polling') return;
    projects.know(Object.values(runs), connection.client);
    notifications.look();
  });
  let url: string | null = null;
  onState = (state) => {
    trees.showConnection(state);
    panels.tellNews();
    if (state.kind === 'live' || state.kind === 'polling') void models.look();
    const next = state.kind === 'unconfigured' ? null : state.url;
    if (url !== null && next !== null && next !== url) {
      notifications.forget();
      workflows.trigger.forgotten();
    }
    url = next ?? url;
    draw();
  };
  const subscription = connection.store.subscribe(() => draw());
  const described = workflows.subscribe(() => draw());

  registerCommands(host, {
    ...connectionCommands(host),
    ...modelCommands(host, panels),
    ...launchCommands(host, panels),
    ...decisionCommands(host, panels),
    ...runCommands(host, panels, diffs),
  });

  context.subscriptions.push(
    { dispose: () => subscription.unsubscribe() },
    { dispose: () => described.unsubscribe() },
    diffs,
    comments,
    checkedOut,
    checkedOut.onDidChange(() => draw()),
    forgeThreads,
    branchItem,
    panels,
    trees,
    status,
    notifications,
    vscode.window.tabGroups.onDidChangeTabs(() => contexts.showResult(resultInFront() !== null)),
    vscode.window.tabGroups.onDidChangeTabGroups(() => contexts.showResult(resultInFront() !== null)),
    vscode.window.registerUriHandler({
      async handleUri(uri) {
        // The link may be what started the extension: what it leads to is asked for when there is somebody to ask.
        await firstClientOf(host).catch((error: unknown) => sayFailure(host, error));
        panels.openScreen(screenOf(uri.path));
      },
    }),
    ...reconnectOnChange(host),
  );

  void setContext(CONTEXT_KEYS.localServer, host.server.state);
  onState(connection.state);
  panels.restore();
  void connection.connect().then(() => startWithWindow(host));
  return { host };
}

interface HostListeners extends Pick<ConnectionOptions, 'onState'> {
  readonly onChange: () => void;
  readonly onDemoEnd: () => void;
}

/** Creates the services that the parts share. */
function createHost(context: vscode.ExtensionContext, { onChange, onState, onDemoEnd }: HostListeners): Host {
  const log = vscode.window.createOutputChannel('Autonomous', { log: true });
  let isDemo = false;
  const server = new LocalServer({
    logFile: vscode.Uri.joinPath(context.globalStorageUri, 'server.log').fsPath,
    onState: (state) => {
      void setContext(CONTEXT_KEYS.localServer, state);
      void setContext(CONTEXT_KEYS.isDemo, server.isDemo);
      if (isDemo && !server.isDemo) onDemoEnd();
      isDemo = server.isDemo;
    },
    onLine: (line) => log.info(`[server] ${withoutCode(line)}`),
  });
  const connection = createConnection({ locate: () => locateServer(context.secrets, server), log, onState });
  const workflows = createWorkflowCatalog();
  const catalog = syncWorkflowCatalog({ catalog: workflows, runs: connection.store, client: () => connection.client });
  context.subscriptions.push(log, { dispose: () => connection.dispose() }, { dispose: () => catalog.stop() });
  const host: Host = {
    context,
    log,
    connection,
    server,
    workflows,
    projects: createProjectNames(onChange, (error) =>
      log.warn(`The names of projects cannot be had: ${String(error)}`),
    ),
    pending: createPendingDecisions({ onChange, onLate: (runId, label) => warnOfLate(host, runId, label) }),
    launches: createLaunchMemory(context.globalState),
    models: createModelReadiness({
      keys: createModelKeys(context.secrets),
      client: () => connection.client,
      onChange: (hasModel) => void setContext(CONTEXT_KEYS.hasModel, hasModel),
      onFault: (error) => log.warn(`Whether there are models to work with cannot be had: ${String(error)}`),
    }),
  };
  return host;
}

/** Warns of a decision that the server has not confirmed. @param label of its command */
function warnOfLate(host: Host, runId: string, label: string): void {
  const run = runsOf(host)[runId];
  const what = `${label.replace('…', '')} ${run === undefined ? runId : `“${titleOf(run)}”`}`;
  const words = `${what}: the server has not confirmed it yet. Repeat it if nothing happens.`;
  void vscode.window.showWarningMessage(plainMessage(words));
}

/** Actions of the editor that a web view may ask for. */
function panelActions(host: Host, diffs: DiffDocuments, panels: () => Panels): Parameters<typeof createPanels>[1] {
  const failed = (error: unknown): void => sayFailure(host, error);
  return {
    openDiff: (runId, path) => void diffs.show(runId, path).catch(failed),
    copyLink: (screen) => {
      const { state } = host.connection;
      if (state.kind !== 'unconfigured') void vscode.env.clipboard.writeText(state.url + pathOf(screen));
    },
    openExternal: (url) => void vscode.env.openExternal(vscode.Uri.parse(url, true)),
    checkout: (runId) => {
      const run = runsOf(host)[runId];
      if (run) void checkout(run).catch(failed);
    },
    resolveConflict: (runId) => {
      const run = runsOf(host)[runId];
      if (run) void resolveConflict(panels(), run).catch(failed);
    },
  };
}

/** Reconnects when the address, the token or the trust in the workspace changes. */
function reconnectOnChange({ connection, context }: Host): readonly vscode.Disposable[] {
  return [
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(SETTINGS.serverUrl)) void connection.connect();
    }),
    context.secrets.onDidChange(({ key }) => {
      if (key.startsWith('autonomous.token:')) void connection.connect();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void connection.connect()),
  ];
}

/** The local server ends with the window that started it, unless the person wants it to go on. */
export function deactivate(): void {
  const stops = vscode.workspace.getConfiguration().get<boolean>(SETTINGS.serverStopWithWindow, true);
  if (stops) localServer?.stopNow();
  else localServer?.leave();
}

async function startWithWindow(host: Host): Promise<void> {
  const wanted = vscode.workspace.getConfiguration().get<boolean>(SETTINGS.serverAutoStart, false);
  if (!wanted || !vscode.workspace.isTrusted || host.connection.state.kind !== 'unconfigured') return;
  await startServer(host).catch((error: unknown) => sayFailure(host, error));
}

/** Sets what `when` clauses ask for, each time that it is different. */
function createContextKeys() {
  const known = new Map<string, unknown>();
  const set = (key: string, value: unknown): void => {
    if (known.get(key) === value) return;
    known.set(key, value);
    void setContext(key, value);
  };
  return {
    showResult: (isShown: boolean) => set(CONTEXT_KEYS.resultInFront, isShown),
    show(state: ConnectionState, runs: ReturnType<typeof runsOf>): void {
      const decisions = new Set(Object.values(runs).flatMap(({ gate }) => gate?.decisions ?? []));
      // Welcome views say the same of both.
      set(CONTEXT_KEYS.connection, state.kind === 'resuming' ? 'connecting' : state.kind);
      set(CONTEXT_KEYS.hasRuns, Object.keys(runs).length > 0);
      set(CONTEXT_KEYS.decisions, `;${[...decisions].toSorted().join(';')};`);
    },
  };
}

function setContext(key: string, value: unknown): Thenable<unknown> {
  return vscode.commands.executeCommand('setContext', key, value);
}

/** At once, then at most once in `ms`, and always a last time. */
function throttled(ms: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isDue = false;
  return function request(): void {
    if (timer !== undefined) {
      isDue = true;
      return;
    }
    act();
    timer = setTimeout(() => {
      timer = undefined;
      if (isDue) {
        isDue = false;
        request();
      }
    }, ms);
  };
}

/** The link signs a browser in, once: it is for this person and no log. */
function withoutCode(line: string): string {
  return line
    .replace(/^(\s*sign in\s+)\S.*$/, '$1(see “Open Dashboard in Browser”)')
    .replace(/(\/auth\?code=)[\w-]+/, '$1…');
}
