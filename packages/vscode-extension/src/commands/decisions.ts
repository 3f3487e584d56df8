/** The commands that decide an open gate, with native input. What is sent names exactly what was shown. */
import { basename } from 'node:path';
import {
  bindingOf,
  BUDGET_NAMES,
  fieldOf,
  gateInfoOf,
  type Decision,
  type DecisionField,
  type Gate,
  type GateDecision,
  missingBudgetOf,
  type Question,
} from '@autonomous/shared';
import { ApiError, createDecisionKeys } from '@autonomous/shared/client';
import { carriesComments, countedComments } from '@autonomous/shared/presentation';
import { documentTab, gateLine } from '@autonomous/ui';
import * as vscode from 'vscode';
import { clientOf, type Host, type Panels, runsOf, workflowOf } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';
import { plainMessage } from '../plain-message.ts';
import { pickGate } from './pick-run.ts';
import type { CommandTable } from './register.ts';

/** @returns the decision as the person completed it; `null` when they went away */
type Complete = (gate: Gate) => Promise<GateDecision | null>;

interface DecisionCommand {
  readonly title: string;
  /** At the run until the server has confirmed it. */
  readonly underWay: string;
  readonly complete: Complete;
}

export function decisionCommands(host: Host, panels: Panels): CommandTable {
  const unsent = (gate: Gate): number => runsOf(host)[gate.runId]?.comments?.length ?? 0;
  const table: Readonly<Record<Decision, DecisionCommand>> = {
    approve: { title: 'Approve', underWay: 'Approving…', complete: (gate) => completeApproval(host, panels, gate) },
    reject: { title: 'Reject', underWay: 'Rejecting…', complete: (gate) => completeRejection(gate, unsent(gate)) },
    answer: { title: 'Answer', underWay: 'Answering…', complete: (gate) => completeAnswer(host, gate) },
    ask: { title: 'Ask a Question', underWay: 'Asking…', complete: completeQuestion },
    retry: { title: 'Retry', underWay: 'Trying again…', complete: (gate) => completeRetry(gate, unsent(gate)) },
    accept: { title: 'Accept', underWay: 'Accepting…', complete: (gate) => completeAcceptance(gate, unsent(gate)) },
    extend: { title: 'Extend', underWay: 'Extending…', complete: completeExtension },
    close: { title: 'Close the Pull Request', underWay: 'Closing…', complete: completeClosing },
    ignore: { title: 'Ignore', underWay: 'Ignoring…', complete: () => Promise.resolve({ decision: 'ignore' }) },
  };
  // A decision that the server has not confirmed may be sent again.
  const keys = createDecisionKeys();
  const perform = async (decision: Decision, target: unknown): Promise<void> => {
    const { title, underWay, complete } = table[decision];
    const gate = await pickGate(host, panels, target, decision, title);
    const words = gate === null ? null : await complete(gate);
    if (gate === null || words === null) return;
    // Exactly what the surface showed: another gate by now is refused by the server.
    const completed: GateDecision = { ...words, ...bindingOf(decision, gate) };
    const client = clientOf(host);
    await host.pending.during(
      gate.runId,
      underWay,
      () =>
        client.decideGate(gate.id, completed, keys.keyOf(gate.id, completed)).catch((error: unknown) => {
          if (error instanceof ApiError) keys.forget(gate.id, completed);
          offerWords(completed);
          throw error;
        }),
      (view) => (runsOf(host)[view.id]?.lastSequence ?? 0) >= view.lastSequence,
    );
    const left = unsent(gate);
    if (left > 0 && !carriesComments(decision))
      void vscode.window.showInformationMessage(
        plainMessage(
          `${countedComments(left)} ${left === 1 ? 'was' : 'were'} not sent: the gate was decided without them. The next decision with text sends them.`,
        ),
      );
  };
  return Object.fromEntries(
    Object.keys(table).map((name) => {
      // The keys of the table are the decisions.
      const decision = name as Decision;
      return [COMMANDS[decision], (target: unknown) => perform(decision, target)];
    }),
  );
}

async function completeApproval(host: Host, panels: Panels, gate: Gate): Promise<GateDecision | null> {
  const workflow = workflowOf(host, runsOf(host)[gate.runId]);
  const info = gateInfoOf(workflow, gate.kind);
  const asked = fieldOf(info, 'approve');
  if (asked === null || (asked.field === 'editedPlan' && !asked.isNeeded)) return { decision: 'approve' };
  if (asked.field === 'editedPlan') {
    // A correction takes more than one line.
    const tab = info.document === undefined ? undefined : documentTab(workflow, info.document);
    panels.openScreen({ name: 'run', runId: gate.runId, tab });
    return null;
  }
  const prompt = `${APPROVAL_PROMPTS[asked.field] ?? 'Words that go with the approval'}${asked.isNeeded ? '' : '. May be left empty.'}`;
  const text = asked.isNeeded
    ? await askText('Approve', prompt, gateLine(gate, workflow))
    : await askOptional('Approve', prompt, gateLine(gate, workflow));
  if (text === null) return null;
  return {
    decision: 'approve',
    ...(text === '' ? {} : { [asked.field]: asked.field === 'minutes' ? Number(text) : text }),
  };
}

const APPROVAL_PROMPTS: Readonly<Partial<Record<DecisionField, string>>> = {
  notes: 'Your notes',
  feedback: 'Your feedback',
  reason: 'The reason, which is recorded',
  minutes: 'Minutes',
};

async function completeRejection(gate: Gate, comments: number): Promise<GateDecision | null> {
  const hint = withComments('What should be different?', comments);
  const general = await vscode.window.showInputBox({
    title: 'Reject',
    prompt: plainMessage(`${hint} (${gateLine(gate)})`),
    ignoreFocusOut: true,
    validateInput: (text) =>
      text.trim() === '' && comments === 0 ? 'Feedback is needed: the agent works from it.' : null,
  });
  if (general === undefined) return null;
  return { decision: 'reject', ...(general.trim() === '' ? {} : { feedback: general.trim() }) };
}

async function completeAnswer(host: Host, gate: Gate): Promise<GateDecision | null> {
  const response = await askResponse(host, gate.question, gateLine(gate));
  return response === null ? null : { decision: 'answer', response };
}

async function askResponse(
  host: Host,
  question: Question | undefined,
  line: string,
): Promise<string | readonly string[] | null> {
  // The list shows plain text; the option is sent as the agent gave it.
  const options = (question?.options ?? []).map((option) => ({ label: plainMessage(option), option }));
  const asked = plainMessage(question?.question ?? line);
  const context = plainMessage(question?.context ?? '');
  const pick = { title: asked, placeHolder: context, ignoreFocusOut: true };
  switch (question?.responseType ?? 'text') {
    case 'text':
      return askText('Answer', asked, context);
    case 'single_choice':
      return (await vscode.window.showQuickPick(options, pick))?.option ?? null;
    case 'multiple_choice': {
      const picked = await vscode.window.showQuickPick(options, { ...pick, canPickMany: true });
      return picked === undefined || picked.length === 0 ? null : picked.map(({ option }) => option);
    }
    case 'file_upload': {
      const files = await vscode.window.showOpenDialog({ title: asked, canSelectMany: true, openLabel: 'Send' });
      return files === undefined ? null : Promise.all(files.map((file) => upload(host, file)));
    }
    default:
      return null;
  }
}

async function upload(host: Host, file: vscode.Uri): Promise<string> {
  const content = new Uint8Array(await vscode.workspace.fs.readFile(file));
  return (await clientOf(host).upload(basename(file.path), content)).id;
}

async function completeQuestion(gate: Gate): Promise<GateDecision | null> {
  const question = await askText('Ask a question', 'Your question before you decide', gateLine(gate));
  return question === null ? null : { decision: 'ask', question };
}

async function completeRetry(gate: Gate, comments: number): Promise<GateDecision | null> {
  const notes = await vscode.window.showInputBox({
    title: 'Retry',
    prompt: plainMessage(
      `${withComments('What should the agent know? May be left empty.', comments)} (${gateLine(gate)})`,
    ),
    ignoreFocusOut: true,
  });
  if (notes === undefined) return null;
  return { decision: 'retry', ...(notes.trim() === '' ? {} : { notes: notes.trim() }) };
}

async function completeAcceptance(gate: Gate, comments: number): Promise<GateDecision | null> {
  const prompt = withComments('Why is it good enough? The reason is recorded.', comments);
  const reason = await askText('Accept as it is', prompt, gateLine(gate));
  return reason === null ? null : { decision: 'accept', reason };
}

async function completeClosing(gate: Gate): Promise<GateDecision | null> {
  const reason = await askText('Close the pull request', 'Why? The reason is recorded.', gateLine(gate));
  return reason === null ? null : { decision: 'close', reason };
}

async function completeExtension(gate: Gate): Promise<GateDecision | null> {
  if (gate.reason !== 'budget') {
    const minutes = await askNumber('Extend', 'Minutes that the stage gets', '30');
    return minutes === null ? null : { decision: 'extend', minutes };
  }
  const missing = missingBudgetOf(gate);
  const choices = BUDGET_NAMES.toSorted((one, other) => Number(other === missing) - Number(one === missing)).map(
    (label) => ({ label, ...(label === missing ? { description: 'used up' } : {}) }),
  );
  const budget = (await vscode.window.showQuickPick(choices, { title: 'Which budget is raised?' }))?.label;
  if (budget === undefined) return null;
  const value = await askNumber('Extend', `The new ${budget}, in all`, '');
  return value === null ? null : { decision: 'extend', [budget]: value };
}

/** Words that are not empty; `null` when the person goes away. */
export async function askText(title: string, prompt: string, detail: string): Promise<string | null> {
  const text = await vscode.window.showInputBox({
    title,
    prompt: plainMessage(detail === '' ? prompt : `${prompt} (${detail})`),
    ignoreFocusOut: true,
    validateInput: (value) => (value.trim() === '' ? 'Text is required.' : null),
  });
  return text?.trim() || null;
}

/** Words that may be empty; `null` when the person goes away. */
async function askOptional(title: string, prompt: string, detail: string): Promise<string | null> {
  const text = await vscode.window.showInputBox({
    title,
    prompt: plainMessage(`${prompt} (${detail})`),
    ignoreFocusOut: true,
  });
  return text?.trim() ?? null;
}

async function askNumber(title: string, prompt: string, value: string): Promise<number | null> {
  const text = await vscode.window.showInputBox({
    title,
    prompt,
    value,
    validateInput: (given) => (Number(given) > 0 ? null : 'A number above 0 is needed.'),
  });
  return text === undefined ? null : Number(text);
}

/** A prompt that says what goes out with the words. */
function withComments(prompt: string, comments: number): string {
  return comments === 0 ? prompt : `${prompt} ${countedComments(comments)} will be sent with it.`;
}

/** Words that were not taken are the person's work: they can be had back. */
function offerWords({ feedback, notes, reason, question, response }: GateDecision): void {
  const words = feedback ?? notes ?? reason ?? question ?? (typeof response === 'string' ? response : undefined);
  if (words === undefined) return;
  const copy = 'Copy My Words';
  void vscode.window
    .showInformationMessage('What you wrote was not sent.', copy)
    .then((picked) => (picked === copy ? vscode.env.clipboard.writeText(words) : undefined));
}
