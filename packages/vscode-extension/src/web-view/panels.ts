/** Web views: one panel a run or screen, used again by what it shows and restored with the window. */
import { randomBytes } from 'node:crypto';
import type { NewExploration, NewRun, WorkflowSummary } from '@autonomous/shared';
import { launchableOf } from '@autonomous/shared/client';
import type { HostActions, Screen } from '@autonomous/ui';
import * as vscode from 'vscode';
import { connectionNews } from '../connection-words.ts';
import { placeOf, readKeptScreen } from './from-web-view.ts';
import { firstClientOf, type Host, type Panels, runsOf } from '../host.ts';
import { PANEL_TYPE } from '../identifiers.ts';
import { createPanelMemory } from './panel-memory.ts';
import { titleOf } from '../run-tree-view.ts';
import { createWebViewBridge, type WebViewBridge } from './web-view-bridge.ts';
import { webViewOptions, webViewPage } from './web-view-page.ts';

interface OpenPanel {
  readonly panel: vscode.WebviewPanel;
  readonly bridge: WebViewBridge;
  screen: Screen;
  /** By us, since the editor had not restored it. */
  isOpenedAgain: boolean;
}

export interface ScreenPanels extends Panels, vscode.Disposable {
  /** Opens again what the window before had open and this one has not. */
  restore(): void;
  /** Closes what shows one of these runs: they are gone for good. */
  closeRuns(runIds: ReadonlySet<string>): void;
  /** Tells all panels how the connection is now. */
  tellNews(): void;
}

/** @param actions what a web view may ask of the editor beside another screen */
export function createPanels(host: Host, actions: Omit<HostActions, 'openScreen'>): ScreenPanels {
  const open = new Set<OpenPanel>();
  const memory = createPanelMemory(memoryFile(host.context));
  const root = vscode.Uri.joinPath(host.context.extensionUri, 'dist', 'webview');
  const options: vscode.WebviewOptions = webViewOptions(root);

  const adopt = (panel: vscode.WebviewPanel, shown: Screen): void => {
    const { webview } = panel;
    // Only the form keeps the typed text.
    const screen: Screen = shown.name === 'launch' ? { name: 'launch' } : shown;
    const bridge = createWebViewBridge({
      store: host.connection.store,
      client: () => firstClientOf(host),
      post: (message) => void webview.postMessage(message),
      news: () => connectionNews(host.connection.state),
      actions: {
        ...panels,
        openScreen(target) {
          panels.openScreen(target);
          // The run was launched: the form is not needed any more.
          const isLaunched = target.name === 'run' || target.name === 'exploration';
          if (isLaunched && entry.screen.name === 'launch') panel.dispose();
        },
      },
      screen:
        shown.name === 'launch' ? { ...shown, draft: shown.draft ?? host.launches.draft(lastWorkflow(host)) } : shown,
      onLaunched: (launched) => {
        const workflow = launchedWorkflow(host, launched);
        if (workflow !== undefined) host.launches.keepLaunched(workflow, launched);
      },
      onShows(next, title) {
        if (placeOf(next) !== placeOf(entry.screen)) memory.forget(entry.screen);
        entry.screen = next;
        entry.panel.title = title === '' ? titleFor(host, next) : title;
        memory.keep(entry.panel.title, next);
      },
      onRefused: (message) => host.log.warn(`A panel sent a message that is not understood: ${shortJson(message)}`),
    });
    const entry: OpenPanel = { panel, bridge, screen, isOpenedAgain: false };
    open.add(entry);
    memory.keep(panel.title, screen);
    webview.options = options;
    webview.onDidReceiveMessage((message: unknown) => void bridge.receive(message));
    panel.onDidDispose(() => {
      open.delete(entry);
      memory.forget(entry.screen);
      bridge.dispose();
    });
    const icon = (mode: string) => vscode.Uri.joinPath(host.context.extensionUri, 'media', `panel-${mode}.svg`);
    entry.panel.iconPath = { light: icon('light'), dark: icon('dark') };
    webview.html = webViewPage({
      nonce: randomBytes(16).toString('base64'),
      cspSource: webview.cspSource,
      address: (file) => webview.asWebviewUri(vscode.Uri.joinPath(root, file)).toString(),
    });
  };

  const panels: Panels = {
    ...actions,
    openScreen(screen) {
      const known = [...open].find((entry) => placeOf(entry.screen) === placeOf(screen));
      if (known) {
        known.panel.reveal();
        // A run is looked at where it was left, unless a part of it is named.
        const isPart = screen.name === 'run' && (screen.tab ?? screen.gate ?? screen.event) !== undefined;
        // A form goes on with what was typed elsewhere last.
        const isTyped = screen.name === 'launch' && screen.draft !== undefined;
        if (isPart || isTyped) known.bridge.show(screen);
        return;
      }
      const panel = vscode.window.createWebviewPanel(PANEL_TYPE, titleFor(host, screen), vscode.ViewColumn.Active, {
        ...options,
        // Half-written feedback stays while another editor is looked at.
        retainContextWhenHidden: true,
      });
      adopt(panel, screen);
    },
    activeRunId() {
      const active = [...open].find(({ panel }) => panel.active)?.screen;
      return active?.name === 'run' ? active.runId : null;
    },
    isVisible(runId) {
      return [...open].some(({ panel, screen }) => panel.visible && screen.name === 'run' && screen.runId === runId);
    },
  };

  const serializer = vscode.window.registerWebviewPanelSerializer(PANEL_TYPE, {
    async deserializeWebviewPanel(panel, state: unknown) {
      const screen = readKeptScreen(state);
      // A window that closes soon after a panel was opened keeps its title and not its state, or an older one.
      const known = screen === null ? memory.recall(panel.title) : memory.latest(screen);
      const shown = known ?? { name: 'runs' };
      // The editor's own is the one that it knows the place of.
      const again = [...open].find((entry) => entry.isOpenedAgain && placeOf(entry.screen) === placeOf(shown));
      adopt(panel, shown);
      again?.panel.dispose();
      if (again) memory.keep(panel.title, shown);
    },
  });

  // A link may open a run before it is known what was asked for in it.
  const naming = host.connection.store.subscribe(({ context }) => {
    for (const { panel, screen } of open) {
      const isUnnamed =
        screen.name === 'run' && panel.title === screen.runId && context.runs[screen.runId] !== undefined;
      if (!isUnnamed) continue;
      panel.title = titleFor(host, screen);
      // By its title it is known again in the next window.
      memory.keep(panel.title, screen);
    }
  });

  return {
    ...panels,
    restore() {
      for (const screen of memory.lost(panelTitles())) {
        const before = new Set(open);
        panels.openScreen(screen);
        for (const entry of open) if (!before.has(entry)) entry.isOpenedAgain = true;
      }
    },
    closeRuns(runIds) {
      for (const { panel, screen } of open) if (screen.name === 'run' && runIds.has(screen.runId)) panel.dispose();
    },
    tellNews() {
      for (const { bridge } of open) bridge.tellNews();
    },
    dispose() {
      naming.unsubscribe();
      // The panels themselves stay: they are restored with the window.
      serializer.dispose();
    },
  };
}

/** The workflow that was launched last, else the server's first; `undefined` while none is known. */
function lastWorkflow({ workflows, launches }: Host): WorkflowSummary | undefined {
  const all = launchableOf(workflows.getSnapshot().context);
  return all.find(({ name }) => name === launches.lastWorkflow) ?? all[0];
}

/** Without a name the server takes its own workflow for projects. */
function launchedWorkflow({ workflows }: Host, { workflow }: NewRun | NewExploration): WorkflowSummary | undefined {
  const all = launchableOf(workflows.getSnapshot().context);
  return all.find(({ name, needsProject }) => (workflow === undefined ? needsProject : name === workflow));
}

/** Labels of all panels of ours that the editor has, those that it has restored and not drawn yet among them. */
function panelTitles(): ReadonlySet<string> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const isOurs = ({ input }: vscode.Tab): boolean =>
    input instanceof vscode.TabInputWebview && input.viewType.endsWith(PANEL_TYPE);
  return new Set(tabs.filter(isOurs).map(({ label }) => label));
}

/** Of the folder that is open; of all windows without one. On this machine, where it is there at once. */
function memoryFile({ storageUri, globalStorageUri }: vscode.ExtensionContext): string | null {
  const place = storageUri ?? globalStorageUri;
  return place.scheme === 'file' ? vscode.Uri.joinPath(place, 'panels.json').fsPath : null;
}

function titleFor(host: Host, screen: Screen): string {
  switch (screen.name) {
    case 'run': {
      const run = runsOf(host)[screen.runId];
      const title = run === undefined ? screen.runId : titleOf(run);
      return title.length > 40 ? `${title.slice(0, 39)}…` : title;
    }
    case 'runs':
      return 'Runs';
    case 'exploration':
      return 'Compare approaches';
    case 'launch':
      return 'Launch a run';
    case 'setup':
      return 'Setup';
    case 'metrics':
      return 'Metrics of runs';
    case 'roadmap':
      return 'Roadmap';
    default:
      return screen satisfies never;
  }
}

function shortJson(message: unknown): string {
  try {
    return (JSON.stringify(message) ?? String(message)).slice(0, 200);
  } catch {
    return String(message);
  }
}
