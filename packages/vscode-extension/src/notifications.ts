/** Tells a person who looks elsewhere that they are needed, that a run was merged, or that one failed. Each thing once. */
import * as vscode from 'vscode';
import { type Host, type Panels, runsOf } from './host.ts';
import { COMMANDS, SETTINGS } from './identifiers.ts';
import { type Notice, noticesOf, ToldNotices } from './notices.ts';
import { plainMessage } from './plain-message.ts';

export interface Notifications {
  /** Looks at the runs as they are now; only to be called while they are complete. */
  look(): void;
  /** Another server: what was told says nothing of its runs. */
  forget(): void;
}

/** More than these at once become one. */
const MAX_AT_ONCE = 3;
const MEMORY = 'autonomous.toldUntil';

export function createNotifications(host: Host, panels: Panels): Notifications {
  const { globalState } = host.context;
  const told = new ToldNotices(globalState.get<string>(MEMORY) ?? null, now());
  return {
    look() {
      const before = told.until;
      const fresh = told.fresh(noticesOf(runsOf(host)));
      if (told.until !== before) void globalState.update(MEMORY, told.until);
      const wanted = fresh.filter((notice) => isWanted(notice) && !panels.isVisible(notice.runId));
      if (wanted.length > MAX_AT_ONCE) void tellSummary(wanted);
      else for (const notice of wanted) void tell(notice);
    },
    forget() {
      told.forget(now());
      void globalState.update(MEMORY, told.until);
    },
  };
}

const now = (): string => new Date().toISOString();

function isWanted({ kind }: Notice): boolean {
  const setting = vscode.workspace.getConfiguration().get<string>(SETTINGS.notifications, 'all');
  return setting === 'all' || (setting === 'needed' && kind === 'needed');
}

interface Action {
  readonly title: string;
  readonly command: string;
}

async function tell(notice: Notice): Promise<void> {
  const show = notice.kind === 'failed' ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
  const titles = actionsOf(notice);
  const picked = await show(plainMessage(notice.text), ...titles.map(({ title }) => title));
  const action = titles.find(({ title }) => title === picked);
  if (action) await vscode.commands.executeCommand(action.command, { runId: notice.runId });
}

async function tellSummary(notices: readonly Notice[]): Promise<void> {
  const needed = notices.filter(({ kind }) => kind === 'needed').length;
  const others = notices.length - needed;
  const parts = [
    ...(needed > 0 ? [`${needed} ${needed === 1 ? 'run waits' : 'runs wait'} for you`] : []),
    ...(others > 0 ? [`${others} ${others === 1 ? 'run has' : 'runs have'} ended`] : []),
  ];
  const picked = await vscode.window.showInformationMessage(plainMessage(`${parts.join(', ')}.`), 'Show');
  if (picked !== undefined) await vscode.commands.executeCommand('autonomous.waiting.focus');
}

function actionsOf({ kind, gate }: Notice): readonly Action[] {
  const open = { title: 'Open', command: COMMANDS.openRun };
  switch (kind) {
    case 'merged':
      return [{ title: 'Show Changes', command: COMMANDS.showDiff }, open];
    case 'failed':
      return [open];
    case 'needed': {
      const decisions = gate?.decisions ?? [];
      return [
        gate?.kind === 'plan' ? { title: 'Review', command: COMMANDS.openPlan } : { ...open, title: 'Review' },
        ...(decisions.includes('answer') ? [{ title: 'Answer', command: COMMANDS.answer }] : []),
        ...(decisions.includes('approve') ? [{ title: 'Approve', command: COMMANDS.approve }] : []),
        ...(decisions.includes('retry') ? [{ title: 'Retry', command: COMMANDS.retry }] : []),
      ];
    }
    default:
      return kind satisfies never;
  }
}
