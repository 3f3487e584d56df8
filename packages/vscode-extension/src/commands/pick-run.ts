/** Finds the run of a command: the one it was called on, the one in front, or one that the person picks. */
import { acceptsConcerns, type Decision, type Gate, type RunView, type ShownGate } from '@autonomous/shared';
import { gateLine, statusLabel, waitingFirst } from '@autonomous/ui';
import * as vscode from 'vscode';
import { documentOf, resultInFront } from '../review/diff-documents.ts';
import { type Host, type Panels, runsOf, workflowOf } from '../host.ts';
import { plainMessage } from '../plain-message.ts';
import { iconOf, titleOf } from '../run-tree-view.ts';

export interface RunChoice {
  /** Runs that the command makes sense for. */
  readonly isFit: (run: RunView) => boolean;
  readonly title: string;
  /** Said where no run fits. */
  readonly none: string;
}

/**
 * @param target what the command was called with: a node of a view, an id, or nothing from the palette
 * @returns `null` when the person picked none or there is none, which was said
 */
export async function pickRun(host: Host, panels: Panels, target: unknown, choice: RunChoice): Promise<RunView | null> {
  const runs = runsOf(host);
  const named = runIdOf(target);
  if (named !== null) {
    const run = runs[named];
    if (run === undefined) throw new Error(`Run ${named} is not known; it may belong to another server.`);
    return run;
  }
  const inFront = runs[panels.activeRunId() ?? resultShown(undefined)?.runId ?? ''];
  if (inFront !== undefined && choice.isFit(inFront)) return inFront;
  const fit = waitingFirst(Object.values(runs)).filter(choice.isFit);
  if (fit.length === 0) {
    void vscode.window.showInformationMessage(plainMessage(choice.none));
    return null;
  }
  const items = fit.map((run) => ({
    label: plainMessage(titleOf(run)),
    description: statusLabel(run, workflowOf(host, run)),
    detail: plainMessage(
      [
        host.projects.names.get(run.projectId) ?? run.projectId,
        ...parentWords(runs, run),
        ...(run.gate === null ? [] : [gateLine(run.gate, workflowOf(host, run))]),
      ].join(' – '),
    ),
    iconPath: new vscode.ThemeIcon(iconOf(run, workflowOf(host, run)).name.replace('~spin', '')),
    run,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: choice.title,
    matchOnDetail: true,
    matchOnDescription: true,
  });
  return picked?.run ?? null;
}

/**
 * The open gate that takes this decision, as the person had it in sight; `null` when they picked none, or when the decision
 * would accept concerns: no line, notification, prompt or diff shows those, so that the review is opened, which does.
 * @throws {Error} where the run's gate does not take it, or is another one than the surface showed
 */
export async function pickGate(
  host: Host,
  panels: Panels,
  target: unknown,
  decision: Decision,
  title: string,
): Promise<Gate | null> {
  const run = await pickRun(host, panels, target, {
    isFit: ({ gate }) => gate?.decisions.includes(decision) === true,
    title,
    none: `No run waits for this: ${title.toLowerCase()}.`,
  });
  if (run === null) return null;
  refuseOther(run, target);
  if (run.gate === null)
    throw new Error(`“${titleOf(run)}” is not waiting for a decision: it is ${statusLabel(run).toLowerCase()}.`);
  if (!run.gate.decisions.includes(decision)) {
    throw new Error(`“${titleOf(run)}” waits for another decision: ${run.gate.decisions.join(', ')}.`);
  }
  if (acceptsConcerns(decision, run.gate)) {
    openReview(panels, run, run.gate, title);
    return null;
  }
  const isSeen = shownIn(target) !== null || runIdOf(target) === null || target instanceof vscode.Uri;
  // Another extension, or a key binding: nothing was shown of what would be approved.
  if (!isSeen && decision === 'approve' && !(await confirmed(host, run, run.gate))) return null;
  return run.gate;
}

function parentWords(runs: Readonly<Record<string, RunView>>, { parent }: RunView): readonly string[] {
  const found = parent === undefined ? undefined : runs[parent.runId];
  return found === undefined ? [] : [`child run of “${titleOf(found)}”`];
}

/** @throws {Error} where what the command was called from shows something else than the run waits with now */
function refuseOther(run: RunView, target: unknown): void {
  const shown = shownIn(target);
  if (shown !== null && run.gate?.id !== shown.gateId) {
    const outcome = run.gates.findLast(({ gateId }) => gateId === shown.gateId);
    const why = outcome === undefined ? 'was changed' : `was decided by ${outcome.by}`;
    throw new Error(`What was shown here of “${titleOf(run)}” ${why}: look at what it waits for now.`);
  }
  const result = resultShown(target);
  if (result !== null && result.runId === run.id && result.commit !== (run.headCommit ?? ''))
    throw new Error(`The result of “${titleOf(run)}” was changed since these changes were opened: show them again.`);
}

/** Opens the run at its gate, and says why nothing was decided. */
function openReview(panels: Panels, run: RunView, { id, concerns = [] }: Gate, title: string): void {
  panels.openScreen({ name: 'run', runId: run.id, gate: id });
  const listed = concerns.map((concern) => concern.title).join('; ');
  void vscode.window.showInformationMessage(
    plainMessage(
      `${title} “${titleOf(run)}” in its review: you accept what is listed there with it (${listed}). Nothing was decided yet.`,
    ),
  );
}

async function confirmed(host: Host, run: RunView, gate: Gate): Promise<boolean> {
  const approve = 'Approve';
  const detail = plainMessage(gateLine(gate, workflowOf(host, run)));
  const asked = `Approve “${titleOf(run)}”?`;
  return (await vscode.window.showWarningMessage(plainMessage(asked), { modal: true, detail }, approve)) === approve;
}

/** The result that a command is about: of the document it was called on, or of the editor in front where it was called on none. */
function resultShown(target: unknown): { readonly runId: string; readonly commit: string } | null {
  if (target instanceof vscode.Uri) return documentOf(target) ?? resultInFront();
  if (runIdOf(target) !== null) return null;
  return documentOf(vscode.window.activeTextEditor?.document.uri) ?? resultInFront();
}

/** Lines of views and notifications name the gate that they show. */
function shownIn(target: unknown): ShownGate | null {
  const { shown } = (target ?? {}) as { readonly shown?: Partial<ShownGate> };
  return typeof shown?.gateId === 'string' ? { ...shown, gateId: shown.gateId } : null;
}

/** Views give their nodes, notifications `{ runId, shown }`, a diff its address, other extensions the id itself. */
export function runIdOf(target: unknown): string | null {
  if (target instanceof vscode.Uri) return documentOf(target)?.runId ?? null;
  if (typeof target === 'string' && target !== '') return target;
  if (typeof target !== 'object' || target === null) return null;
  const { runId } = target as { readonly runId?: unknown };
  return typeof runId === 'string' ? runId : null;
}
