/** The item in the status bar for the run whose branch is checked out: its title and its pull request. */
import { pullRequestOf, statusLabel } from '@autonomous/ui';
import * as vscode from 'vscode';
import type { CheckedOutRun } from './checked-out-runs.ts';
import { COMMANDS } from '../identifiers.ts';
import { plainMessage } from '../plain-message.ts';
import { titleOf } from '../run-tree-view.ts';

export interface BranchItem extends vscode.Disposable {
  /** Shows the first of them, or nothing. */
  show(checkedOut: readonly CheckedOutRun[]): void;
}

const MAX_TITLE = 30;

export function createBranchItem(): BranchItem {
  const item = vscode.window.createStatusBarItem('autonomous.branch', vscode.StatusBarAlignment.Left, 9);
  item.name = 'Autonomous: run of the branch';
  return {
    show([first]) {
      if (first === undefined) return item.hide();
      const { run } = first;
      const title = plainMessage(titleOf(run));
      const number = pullRequestOf(run) === null ? undefined : run.published?.pullRequest?.number;
      const short = title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1)}…` : title;
      item.text = number === undefined ? `$(git-branch) ${short}` : `$(git-pull-request) #${number} ${short}`;
      const words = number === undefined ? 'no pull request' : `pull request ${number}`;
      item.tooltip = `The branch is of the run “${title}”: ${statusLabel(run).toLowerCase()}, ${words}`;
      item.accessibilityInformation = { label: item.tooltip };
      item.command = { command: COMMANDS.openRun, title: 'Open Run', arguments: [run.id] };
      item.show();
    },
    dispose: () => item.dispose(),
  };
}
