/** The one item in the status bar: how the connection is and how many runs wait. */
import type { RunView } from '@autonomous/shared';
import { isWaiting, RESUMING } from '@autonomous/ui';
import * as vscode from 'vscode';
import { connectionLine } from './connection-words.ts';
import type { ConnectionState } from './connection.ts';
import { COMMANDS } from './identifiers.ts';
import { activeCount } from './run-tree-view.ts';

export interface StatusItem extends vscode.Disposable {
  show(state: ConnectionState, runs: Readonly<Record<string, RunView>>): void;
}

export function createStatusItem(): StatusItem {
  const item = vscode.window.createStatusBarItem('autonomous.status', vscode.StatusBarAlignment.Left, 10);
  item.name = 'Autonomous';
  item.command = COMMANDS.showMenu;
  item.show();
  return {
    show(state, runs) {
      const { text, tooltip, isUrgent } = wordsOf(state, Object.values(runs));
      item.text = text;
      item.tooltip = tooltip;
      item.accessibilityInformation = { label: `Autonomous: ${tooltip}` };
      item.backgroundColor = isUrgent ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    },
    dispose: () => item.dispose(),
  };
}

interface Words {
  readonly text: string;
  readonly tooltip: string;
  readonly isUrgent: boolean;
}

function wordsOf(state: ConnectionState, runs: readonly RunView[]): Words {
  switch (state.kind) {
    case 'unconfigured':
      return { text: '$(plug) Autonomous', tooltip: 'No server is connected', isUrgent: false };
    case 'signedOut':
      return { text: '$(key) Autonomous: sign in', tooltip: connectionLine(state), isUrgent: true };
    case 'connecting':
      return { text: '$(sync~spin) Autonomous', tooltip: `Connecting to ${state.url}`, isUrgent: false };
    case 'resuming':
      return { text: `$(sync~spin) Autonomous: ${RESUMING}`, tooltip: connectionLine(state), isUrgent: false };
    case 'offline':
      return {
        text: '$(debug-disconnect) Autonomous: offline',
        tooltip: connectionLine(state),
        isUrgent: true,
      };
    case 'live':
    case 'polling': {
      const waiting = runs.filter(isWaiting).length;
      const active = activeCount(runs);
      const how = state.kind === 'polling' ? `, asked every few seconds since no WebSocket gets through` : '';
      const tooltip = `${waiting} waiting for you, ${active} active, connected to ${state.url}${how}`;
      if (waiting > 0) return { text: `$(bell-dot) ${waiting} waiting`, tooltip, isUrgent: false };
      if (active > 0) return { text: `$(sync~spin) ${active} active`, tooltip, isUrgent: false };
      return { text: '$(check) Autonomous', tooltip, isUrgent: false };
    }
    default:
      return state satisfies never;
  }
}
