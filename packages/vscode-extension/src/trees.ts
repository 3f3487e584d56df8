/** The three views in the activity bar: native trees over the store, of which only what changed is drawn again. */
import type { RunView, ShownGate } from '@autonomous/shared';
import { foreseenConflictText } from '@autonomous/shared/presentation';
import { isResuming } from '@autonomous/shared/client';
import * as vscode from 'vscode';
import { connectionBrief } from './connection-words.ts';
import type { ConnectionState } from './connection.ts';
import { type Host, runsOf, workflowOf } from './host.ts';
import { COMMANDS, VIEWS } from './identifiers.ts';
import {
  changedNodes,
  childrenOf,
  SECTIONS,
  sectionOf,
  type Section,
  titleOf,
  tooltipOf,
  type TreeNode,
  treesOf,
} from './run-tree-view.ts';

export interface Trees extends vscode.Disposable {
  /** Draws what is different from before. */
  refresh(): void;
  /** Says beside the first view's title how the connection is. */
  showConnection(state: ConnectionState): void;
}

/** Argument of commands from a view. The node's id stays the same over all refreshes. */
export interface TreeElement {
  readonly id: string;
  readonly runId?: string;
  /** The open gate as the line shows it; the same for as long as the id is. */
  readonly shown?: ShownGate;
  readonly explorationId?: string;
}

/** Ages are written in minutes. */
const AGES_EVERY_MS = 30_000;
/** Conflicts of a run that its tooltip names. */
const MOST_CONFLICTS = 5;

export function createTrees(host: Host): Trees {
  const views = new Map(SECTIONS.map((section) => [section, createTree(host, section)]));
  const waiting = views.get('waiting');
  const refresh = (): void => {
    const { names: projects } = host.projects;
    const { context } = host.connection.store.getSnapshot();
    const trees = treesOf({
      runs: context.runs,
      projects,
      workflowOf: (run) => workflowOf(host, run),
      pending: host.pending.labels,
      resuming: new Set(context.resuming.filter((id) => isResuming(context, id))),
      pulses: context.pulses,
      conflicts: context.conflicts,
      now: Date.now(),
    });
    for (const section of SECTIONS) views.get(section)?.show(trees[section]);
    waiting?.setBadge(Object.values(context.runs).filter((run) => sectionOf(run) === 'waiting').length);
    const isCut = typeof context.older === 'string';
    views.get('finished')?.setMessage(isCut ? 'Older ones are in the list of runs.' : undefined);
  };
  const timer = setInterval(refresh, AGES_EVERY_MS);
  refresh();
  return {
    refresh,
    // Never as a message: it would take the lines away from under the pointer as it comes and goes.
    showConnection: (state) => waiting?.setDescription(connectionBrief(state)),
    dispose() {
      clearInterval(timer);
      for (const view of views.values()) view.dispose();
    },
  };
}

function createTree(host: Host, section: Section) {
  const changed = new vscode.EventEmitter<TreeElement | readonly TreeElement[] | undefined>();
  const elements = new Map<string, TreeElement>();
  let nodes = new Map<string, TreeNode>();
  let roots: readonly TreeNode[] = [];

  const elementOf = (node: TreeNode): TreeElement => {
    const known = elements.get(node.id);
    if (known) return known;
    const made: TreeElement = {
      id: node.id,
      ...(node.kind === 'run' ? { runId: node.runId } : {}),
      ...(node.kind === 'run' && node.shown !== undefined ? { shown: node.shown } : {}),
      ...(node.kind === 'exploration' && node.explorationId !== undefined ? { explorationId: node.explorationId } : {}),
    };
    elements.set(node.id, made);
    return made;
  };
  const provider: vscode.TreeDataProvider<TreeElement> = {
    // The editor takes an array as well, which its type does not say.
    onDidChangeTreeData: changed.event as vscode.Event<TreeElement | undefined>,
    getChildren(element) {
      const node = element === undefined ? undefined : nodes.get(element.id);
      return (element === undefined ? roots : node === undefined ? [] : childrenOf(node)).map(elementOf);
    },
    getTreeItem(element) {
      const node = nodes.get(element.id);
      return node === undefined ? new vscode.TreeItem('') : itemOf(node);
    },
    resolveTreeItem(item, element) {
      const run = element.runId === undefined ? undefined : runsOf(host)[element.runId];
      const resolved = item;
      if (run) resolved.tooltip = tooltip(host, run);
      return resolved;
    },
  };
  const view = vscode.window.createTreeView(VIEWS[section], {
    treeDataProvider: provider,
    showCollapseAll: section === 'finished',
  });

  return {
    show(next: readonly TreeNode[]): void {
      const changes = changedNodes(roots, next);
      if (changes !== 'all' && changes.length === 0) return;
      roots = next;
      nodes = indexOf(next);
      for (const id of elements.keys()) if (!nodes.has(id)) elements.delete(id);
      if (changes === 'all') return changed.fire(undefined);
      const shown = changes.flatMap((id) => elements.get(id) ?? []);
      // The editor waits for ever for the end of a refresh of nothing. What it has not asked for yet, it will.
      if (shown.length > 0) changed.fire(shown);
    },
    setBadge(value: number): void {
      const tooltip = value === 1 ? '1 run waits for you' : `${value} runs wait for you`;
      if (view.badge?.value === value || (view.badge === undefined && value === 0)) return;
      view.badge = value === 0 ? undefined : { value, tooltip };
    },
    setDescription(description: string | undefined): void {
      if (view.description === description) return;
      // As with the message.
      (view as { description: string | undefined }).description = description;
    },
    setMessage(message: string | undefined): void {
      if (view.message === message) return;
      // The types say that `undefined` takes a message away only where it is not exact.
      (view as { message: string | undefined }).message = message;
    },
    dispose(): void {
      view.dispose();
      changed.dispose();
    },
  };
}

function itemOf(node: TreeNode): vscode.TreeItem {
  const isGroup = node.kind !== 'run';
  const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const hasChildren = childrenOf(node).length > 0;
  // Ended runs are collapsed until a person opens them.
  const isClosed = node.kind === 'run' && node.isOver;
  const item = new vscode.TreeItem(node.label, !hasChildren ? None : isClosed ? Collapsed : Expanded);
  item.id = node.id;
  item.description = node.description;
  item.contextValue = node.contextValue;
  item.accessibilityInformation = { label: node.spoken };
  const { name, color } = node.icon;
  item.iconPath = new vscode.ThemeIcon(name, color === undefined ? undefined : new vscode.ThemeColor(color));
  if (!isGroup)
    item.command = { command: COMMANDS.openRun, title: 'Open Run', arguments: [{ id: node.id, runId: node.runId }] };
  return item;
}

function tooltip(host: Host, run: RunView): vscode.MarkdownString {
  const project = host.projects.names.get(run.projectId);
  const parent = run.parent === undefined ? undefined : runsOf(host)[run.parent.runId];
  const text = new vscode.MarkdownString();
  // Requests and failures are other people's words: text, never Markdown.
  text.appendText(titleOf(run));
  const nameOf = (runId: string): string => {
    const other = runsOf(host)[runId];
    return other === undefined ? `run ${runId}` : `“${titleOf(other)}”`;
  };
  const found = host.connection.store.getSnapshot().context.conflicts[run.id] ?? [];
  const conflicts = found.slice(0, MOST_CONFLICTS).map((conflict) => foreseenConflictText(conflict, nameOf));
  if (found.length > MOST_CONFLICTS) conflicts.push(`Conflicts with ${found.length - MOST_CONFLICTS} more runs`);
  for (const line of tooltipOf(run, project, workflowOf(host, run), parent, conflicts)) {
    text.appendMarkdown('\n\n');
    text.appendText(line);
  }
  return text;
}

function indexOf(nodes: readonly TreeNode[]): Map<string, TreeNode> {
  const index = new Map<string, TreeNode>();
  const add = (node: TreeNode): void => {
    index.set(node.id, node);
    for (const child of childrenOf(node)) add(child);
  };
  for (const node of nodes) add(node);
  return index;
}
