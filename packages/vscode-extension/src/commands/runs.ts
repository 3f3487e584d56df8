/** The commands about a run that decide no gate: looking at it, its result, steering and cancelling it. */
import { FINAL_STATUSES, presentedAt, type RunView } from '@autonomous/shared';
import { branchConflictOf } from '@autonomous/shared/presentation';
import { documentTab, pullRequestOf, type RunTab, tabsOf } from '@autonomous/ui';
import path from 'node:path';
import * as vscode from 'vscode';
import type { DiffDocuments } from '../review/diff-documents.ts';
import { isWebAddress } from '../web-view/from-web-view.ts';
import { type Fetched, fetchBranch, inTheWay, startMerge, switchTo, uncommitted } from '../git/git-checkout.ts';
import { clientOf, type Host, type Panels, runsOf, workflowOf } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';
import { type PullRequestPlace, pullRequestAtGitHub } from '../pull-request-address.ts';
import { titleOf } from '../run-tree-view.ts';
import { askText } from './decisions.ts';
import { pickRun, type RunChoice } from './pick-run.ts';
import type { CommandTable } from './register.ts';
import { plainMessage } from '../plain-message.ts';

export function runCommands(host: Host, panels: Panels, diffs: DiffDocuments): CommandTable {
  const withRun = (choice: RunChoice, perform: (run: RunView) => unknown) => async (target: unknown) => {
    const run = await pickRun(host, panels, target, choice);
    return run === null ? undefined : perform(run);
  };
  const open = (title: string, tab?: RunTab) =>
    withRun({ isFit: () => true, title, none: 'There are no runs yet.' }, ({ id }) =>
      panels.openScreen({ name: 'run', runId: id, ...(tab === undefined ? {} : { tab }) }),
    );
  return {
    [COMMANDS.openRuns]: () => panels.openScreen({ name: 'runs' }),
    [COMMANDS.openRoadmap]: () => panels.openScreen({ name: 'roadmap' }),
    [COMMANDS.openMetrics]: () => panels.openScreen({ name: 'metrics' }),
    [COMMANDS.openRun]: open('Open run'),
    [COMMANDS.openPlan]: withRun({ isFit: () => true, title: 'Open document', none: 'There are no runs yet.' }, (run) =>
      panels.openScreen({ name: 'run', runId: run.id, ...documentOfRun(host, run) }),
    ),
    [COMMANDS.openStatechart]: open('Open statechart', 'statechart'),
    [COMMANDS.openExploration]: (target) => openExploration(host, panels, target),
    [COMMANDS.showDiff]: withRun(
      { isFit: hasResult, title: 'Show changes', none: 'No run has changed anything yet.' },
      ({ id }) => diffs.show(id),
    ),
    [COMMANDS.checkout]: withRun(
      { isFit: isPushed, title: 'Check out branch', none: 'No run has pushed its branch yet.' },
      (run) => checkout(run),
    ),
    [COMMANDS.resolveConflict]: withRun(
      {
        isFit: (run) => branchConflictOf(run) !== null,
        title: 'Resolve merge conflict',
        none: 'No run waits because of a conflict with its base branch.',
      },
      (run) => resolveConflict(panels, run),
    ),
    [COMMANDS.openPullRequest]: withRun(
      {
        // Of the run that is looked at it is said why there is none.
        isFit: (run) => pullRequestOf(run) !== null || (run.id === panels.activeRunId() && isPushed(run)),
        title: 'Open pull request',
        none: 'No run has opened a pull request.',
      },
      openPullRequest,
    ),
    [COMMANDS.copyId]: withRun({ isFit: () => true, title: 'Copy id', none: 'There are no runs yet.' }, ({ id }) =>
      vscode.env.clipboard.writeText(id),
    ),
    // A run that waits is shared for the sake of its gate.
    [COMMANDS.copyLink]: withRun({ isFit: () => true, title: 'Copy link', none: 'There are no runs yet.' }, (run) =>
      panels.copyLink({ name: 'run', runId: run.id, ...(run.gate === null ? {} : { gate: run.gate.id }) }),
    ),
    [COMMANDS.sendMessage]: withRun(
      { isFit: ({ status }) => status === 'running', title: 'Message the agent', none: 'No agent is at work.' },
      (run) => sendMessage(host, run),
    ),
    [COMMANDS.cancelRun]: withRun(
      { isFit: ({ status }) => !FINAL_STATUSES.has(status), title: 'Cancel run', none: 'No run is under way.' },
      (run) => cancelRun(host, run),
    ),
  };
}

/** The tab of the document that the run's gate presents, else of its first document; none where it has none. */
function documentOfRun(host: Host, run: RunView): { readonly tab?: RunTab } {
  const workflow = workflowOf(host, run);
  const presented = run.gate === null ? null : presentedAt(workflow, run.gate, run.artifacts);
  if (presented?.kind === 'document') return { tab: documentTab(workflow, presented.type) };
  const first = tabsOf(run, workflow).find(({ document }) => document !== undefined);
  return first === undefined ? {} : { tab: first.name };
}

const hasResult = ({ headCommit, baseCommit }: RunView): boolean =>
  headCommit !== undefined && headCommit !== baseCommit;
const isPushed = ({ published }: RunView): boolean => published?.pushed === true;

async function openExploration(host: Host, panels: Panels, target: unknown): Promise<void> {
  const { explorationId: named } = (target ?? {}) as { readonly explorationId?: unknown };
  if (typeof named === 'string') return panels.openScreen({ name: 'exploration', explorationId: named });
  const run = await pickRun(host, panels, target, {
    isFit: ({ explorationId }) => explorationId !== undefined,
    title: 'Compare approaches',
    none: 'There are no explorations yet.',
  });
  if (run === null) return;
  if (run.explorationId === undefined) throw new Error(`“${titleOf(run)}” belongs to no exploration.`);
  panels.openScreen({ name: 'exploration', explorationId: run.explorationId });
}

/** Fetches the run's branch from a remote of an open folder and switches to it; changes of the person's own stay. */
export async function checkout(run: RunView): Promise<void> {
  const branch = run.published?.branch ?? run.branch;
  const fetched = await fetchIntoWorkspace(branch);
  const changed = await uncommitted(fetched.folder);
  if (changed.length > 0) throw new Error(inTheWay(changed));
  await switchTo(fetched, branch);
  void vscode.window.showInformationMessage(plainMessage(`${branch} is checked out.`));
}

/** @throws {Error} where no open folder has a remote with the branch, or the person trusts none */
async function fetchIntoWorkspace(branch: string): Promise<Fetched> {
  if (!vscode.workspace.isTrusted)
    throw new Error(
      'This workspace is in restricted mode: branches are checked out only in a workspace that you trust.',
    );
  const folders = (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) =>
    uri.scheme === 'file' ? [uri.fsPath] : [],
  );
  if (folders.length === 0) throw new Error(`Open a clone of the project to check ${branch} out.`);
  const fetched = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: plainMessage(`Fetching ${branch}…`) },
    () => fetchBranch(folders, branch),
  );
  if (fetched === null) throw new Error(`No remote of the open folders has the branch ${branch}.`);
  return fetched;
}

/** Names of files that a message has room for. */
const FILES_NAMED = 3;

/** Checks the run's branch out with its base merged in, and opens the conflicts that a person is to resolve. */
export async function resolveConflict(panels: Pick<Panels, 'openScreen'>, run: RunView): Promise<void> {
  const conflict = branchConflictOf(run);
  if (conflict === null)
    throw new Error(
      `“${titleOf(run)}” does not wait because of a conflict with its base branch. Open the run to see its state.`,
    );
  const { branch, baseBranch } = conflict;
  const fetched = await fetchIntoWorkspace(branch);
  const files = await startMerge(fetched, branch, baseBranch);
  const [first] = files;
  if (first === undefined) {
    const words = `${baseBranch} merges into ${branch} without a conflict now, and nothing was changed here. Retry the run.`;
    void vscode.window.showInformationMessage(plainMessage(words));
    return;
  }
  await openConflict(first);
  const names = files.slice(0, FILES_NAMED).map((file) => path.relative(fetched.folder, file));
  const rest = files.length > FILES_NAMED ? ` and ${files.length - FILES_NAMED} more` : '';
  const gate = 'Open Gate';
  const words = `${branch} is checked out with ${baseBranch} merged in; conflicts are in ${names.join(', ')}${rest}. Resolve them, commit, push the branch, and choose at the gate to take in what was pushed.`;
  void vscode.window.showInformationMessage(plainMessage(words), gate).then((picked) => {
    if (picked === gate)
      panels.openScreen({ name: 'run', runId: run.id, ...(run.gate === null ? {} : { gate: run.gate.id }) });
  });
}

/** In the editor's merge editor, or with its markers where git's own extension is switched off. The other files are listed beside it. */
async function openConflict(file: string): Promise<void> {
  const uri = vscode.Uri.file(file);
  await vscode.commands.executeCommand('workbench.view.scm');
  await vscode.window.showTextDocument(uri, { preview: false });
  try {
    // It has not seen the merge yet.
    await vscode.commands.executeCommand('git.refresh');
    await vscode.commands.executeCommand('git.openMergeEditor', uri);
  } catch {
    // The file with its markers is open.
  }
}

/** In the view of GitHub's own extension where that is installed, else as a page in the browser. */
async function openPullRequest(run: RunView): Promise<void> {
  const address = pullRequestOf(run);
  if (address === null || !isWebAddress(address))
    throw new Error(`“${titleOf(run)}” has opened no pull request. ${run.published?.note ?? ''}`.trim());
  const place = pullRequestAtGitHub(address);
  const isInEditor = place !== null && vscode.extensions.getExtension(GITHUB_EXTENSION) !== undefined;
  await vscode.env.openExternal(isInEditor ? viewOf(place) : vscode.Uri.parse(address, true));
}

const GITHUB_EXTENSION = 'GitHub.vscode-pull-request-github';

/** The address that the extension's own links have. */
function viewOf(place: PullRequestPlace): vscode.Uri {
  return vscode.Uri.from({
    scheme: vscode.env.uriScheme,
    authority: GITHUB_EXTENSION,
    path: '/open-pull-request-webview',
    query: JSON.stringify(place),
  });
}

async function sendMessage(host: Host, run: RunView): Promise<void> {
  const text = await askText(
    'Message the agent',
    'What should the agent know? It reads this at its next step.',
    titleOf(run),
  );
  if (text === null) return;
  const { unreached = [] } = await clientOf(host).sendMessage(run.id, text);
  const others = unreached.map(({ runId, why }) => `Run ${runId}: ${why}`);
  if (others.length > 0)
    void vscode.window.showWarningMessage(plainMessage(`The message did not reach all runs. ${others.join(' ')}`));
}

async function cancelRun(host: Host, run: RunView): Promise<void> {
  const cancel = 'Cancel Run';
  const picked = await vscode.window.showWarningMessage(
    plainMessage(`Cancel “${titleOf(run)}”?`),
    { modal: true, detail: 'Its agents stop. What it has committed so far stays on its branch.' },
    cancel,
  );
  if (picked !== cancel) return;
  await host.pending.during(
    run.id,
    'Cancelling…',
    () => clientOf(host).cancelRun(run.id),
    (view) => (runsOf(host)[view.id]?.lastSequence ?? 0) >= view.lastSequence,
  );
}
