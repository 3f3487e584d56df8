/** Which run a command is about: the one it was called on, the one in front, or one that the person picks. */
import type { Decision, Gate, RunView } from '@autonomous/shared';
import { statusLabel, waitingFirst } from '@autonomous/ui';
import * as vscode from 'vscode';
import { documentOf } from '../diff-documents.ts';
import { type Host, type Panels, runsOf } from '../host.ts';
import { plainMessage } from '../plain-message.ts';
import { iconOf, titleOf } from '../run-tree.ts';

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
  const inFront = runs[panels.activeRunId() ?? runIdOf(vscode.window.activeTextEditor?.document.uri) ?? ''];
  if (inFront !== undefined && choice.isFit(inFront)) return inFront;
  const fit = waitingFirst(Object.values(runs)).filter(choice.isFit);
  if (fit.length === 0) {
    void vscode.window.showInformationMessage(plainMessage(choice.none));
    return null;
  }
  const items = fit.map((run) => ({
    label: plainMessage(titleOf(run)),
    description: statusLabel(run),
    detail: plainMessage(host.projects.names.get(run.projectId) ?? run.projectId),
    iconPath: new vscode.ThemeIcon(iconOf(run).name.replace('~spin', '')),
    run,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: choice.title,
    matchOnDetail: true,
    matchOnDescription: true,
  });
  return picked?.run ?? null;
}

/** The open gate that takes this decision; `null` when the person picked none. @throws {Error} where the run's gate does not */
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
  if (run.gate === null)
    throw new Error(`“${titleOf(run)}” waits for nobody: it is ${statusLabel(run).toLowerCase()}.`);
  if (!run.gate.decisions.includes(decision)) {
    throw new Error(`“${titleOf(run)}” waits for another decision: ${run.gate.decisions.join(', ')}.`);
  }
  return run.gate;
}

/** Views give their nodes, notifications `{ runId }`, a diff its address, other extensions the id itself. */
export function runIdOf(target: unknown): string | null {
  if (target instanceof vscode.Uri) return documentOf(target)?.runId ?? null;
  if (typeof target === 'string' && target !== '') return target;
  if (typeof target !== 'object' || target === null) return null;
  const { runId } = target as { readonly runId?: unknown };
  return typeof runId === 'string' ? runId : null;
}
