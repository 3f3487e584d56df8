/**
 * Tells a person who looks elsewhere that they are needed, that a run was merged, or that one failed. Each thing once; what is
 * needed of them is taken down when its gate goes.
 */
import * as vscode from 'vscode';
import { type Host, type Panels, runsOf, workflowOf } from './host.ts';
import { COMMANDS, SETTINGS } from './identifiers.ts';
import { isOver, linksOf, messageOf, type Notice, noticesOf, ToldNotices } from './notices.ts';
import { plainMessage } from './plain-message.ts';

export interface Notifications extends vscode.Disposable {
  /** Looks at the runs as they are now; only to be called while they are complete. */
  look(): void;
  /** Another server: what was told says nothing of its runs. */
  forget(): void;
}

/** More than these at once become one. */
const MAX_AT_ONCE = 3;
const MEMORY = 'autonomous.toldUntil';
/** The editor shows a text given here instead of “Cancel”, although the type is boolean. “Cancel” may mean the run. */
const DISMISS = 'Dismiss' as unknown as boolean;

/** A notification on the screen, and the condition that ends it. */
interface Standing {
  readonly isOver: () => boolean;
  readonly takeDown: () => void;
}

export function createNotifications(host: Host, panels: Panels): Notifications {
  const { globalState } = host.context;
  const told = new ToldNotices(globalState.get<string>(MEMORY) ?? null, now());
  const standing = new Set<Standing>();

  /**
   * Shows a text until it is over or the person dismisses it. Only the reader can close an ordinary message of the
   * editor, but the extension can close a progress. So the text is shown as a progress that is complete from the start.
   */
  const stand = (words: string, links: string, isDone: () => boolean): void => {
    const { promise: down, resolve: takeDown } = Promise.withResolvers<void>();
    const entry: Standing = { isOver: isDone, takeDown };
    standing.add(entry);
    void down.then(() => standing.delete(entry));
    void vscode.window.withProgress(
      // No title: the editor would put a colon behind it.
      { location: vscode.ProgressLocation.Notification, cancellable: DISMISS },
      (progress, dismissed) => {
        progress.report({ message: messageOf(words, links), increment: 100 });
        dismissed.onCancellationRequested(takeDown);
        return down;
      },
    );
  };
  const withdraw = (): void => {
    for (const { isOver: isDone, takeDown } of standing) if (isDone()) takeDown();
  };
  const isGone = (notice: Notice): boolean => isOver(notice, runsOf(host)) || panels.isVisible(notice.runId);

  const tell = (notice: Notice): void => {
    if (notice.kind === 'needed') stand(notice.text, linksOf(notice), () => isGone(notice));
    else void tellOfEnd(notice);
  };
  const tellSummary = (notices: readonly Notice[]): void => {
    const needed = notices.filter(({ kind }) => kind === 'needed');
    const ended = notices.length - needed.length;
    const show = `[Show](command:autonomous.waiting.focus "Show the runs that wait")`;
    if (needed.length > 0)
      stand(`${counted(needed.length, 'run waits', 'runs wait')} for you`, show, () => needed.every(isGone));
    if (ended > 0)
      void vscode.window.showInformationMessage(plainMessage(`${counted(ended, 'run has', 'runs have')} ended.`));
  };

  // A run that is looked at now needs no word.
  const tabs = vscode.window.tabGroups.onDidChangeTabs(withdraw);
  return {
    look() {
      withdraw();
      const before = told.until;
      const fresh = told.fresh(noticesOf(runsOf(host), (run) => workflowOf(host, run)));
      if (told.until !== before) void globalState.update(MEMORY, told.until);
      const wanted = fresh.filter((notice) => isWanted(notice) && !panels.isVisible(notice.runId));
      if (wanted.length > MAX_AT_ONCE) tellSummary(wanted);
      else for (const notice of wanted) tell(notice);
    },
    forget() {
      for (const { takeDown } of standing) takeDown();
      told.forget(now());
      void globalState.update(MEMORY, told.until);
    },
    dispose() {
      tabs.dispose();
      for (const { takeDown } of standing) takeDown();
    },
  };
}

const now = (): string => new Date().toISOString();
const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

function isWanted({ kind }: Notice): boolean {
  const setting = vscode.workspace.getConfiguration().get<string>(SETTINGS.notifications, 'all');
  return setting === 'all' || (setting === 'needed' && kind === 'needed');
}

async function tellOfEnd({ kind, text, runId }: Notice): Promise<void> {
  const show = kind === 'failed' ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
  const open = { title: 'Open', command: COMMANDS.openRun };
  const actions = kind === 'merged' ? [{ title: 'Show Changes', command: COMMANDS.showDiff }, open] : [open];
  const picked = await show(plainMessage(text), ...actions.map(({ title }) => title));
  const action = actions.find(({ title }) => title === picked);
  if (action) await vscode.commands.executeCommand(action.command, { runId });
}
