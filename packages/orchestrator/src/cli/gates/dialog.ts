/** Asks the person at the terminal what to do at a gate. */
import { createInterface } from 'node:readline/promises';
import {
  type Decision,
  type Gate,
  type GateDecision,
  type GateInfo,
  gateInfoOf,
  shownAt,
  vouches,
} from '@autonomous/shared';
import { ApiError, type Client, ServerUnreachable } from '@autonomous/shared/client';
import { answerOf, approvalField, approvalOf, budgetOf } from './decide.ts';
import { CommandFailure, explainError, UsageError } from '../exit.ts';
import type { AskPerson } from '../follow/follow.ts';
import { readTextFile } from '../launch/input-files.ts';
import { type CliIo, note, say } from '../io.ts';
import { workflowOfRun } from '../run-workflow.ts';
import { showForGate } from '../run-texts.ts';

/** @returns asks until the gate is decided, here or elsewhere, or the person leaves */
export function personAtTerminal(client: Client, io: CliIo): AskPerson {
  return async (gate, signal) => {
    const seen = { isShown: false };
    while (!signal.aborted) {
      try {
        const done = await askOnce(client, io, gate, signal, seen);
        if (done !== 'again') return done === 'decided';
      } catch (error) {
        // An expected error is shown and the person is asked again, unless the gate has closed meanwhile.
        if (!EXPECTED.some((kind) => error instanceof kind)) throw error;
        note(io, explainError(error).message);
      }
    }
    return true;
  };
}

const EXPECTED = [UsageError, CommandFailure, ApiError, ServerUnreachable];

type Step = 'decided' | 'again' | 'left';

/** @param seen whether the person has the gate in sight; kept from one question to the next */
async function askOnce(
  client: Client,
  io: CliIo,
  gate: Gate,
  signal: AbortSignal,
  seen: { isShown: boolean },
): Promise<Step> {
  const ask = (question: string) => askLine(io, question, signal);
  const show = async (): Promise<void> => {
    say(io, await showForGate(client, gate));
    seen.isShown = true;
  };
  const choice = gate.decisions.includes('answer') ? await askAnswer(ask, gate) : await askChoice(ask, gate);
  if (choice === null) return signal.aborted ? 'again' : 'left';
  switch (choice.kind) {
    case 'leave':
      return 'left';
    case 'unknown':
      note(io, `'${choice.text}' is not one of these.`);
      return 'again';
    case 'show':
      await show();
      return 'again';
    case 'cancel':
      await client.cancelRun(gate.runId);
      return 'decided';
    case 'answer': {
      const isFile = gate.question?.responseType === 'file_upload';
      const given = isFile ? { words: [], files: [choice.text] } : { words: [choice.text], files: [] };
      await client.decideGate(gate.id, { ...(await answerOf(client, io, gate.question, given)), gateId: gate.id });
      return 'decided';
    }
    case 'decide': {
      // Show the gate's subject before the person vouches for it, unless this dialog has shown it already.
      if (vouches(choice.decision) && !seen.isShown) {
        await show();
        if (!isYes(await ask(`${choice.decision} this? (yes or no) > `))) return 'again';
      }
      const workflow = await workflowOfRun(client, await client.getRun(gate.runId));
      const info = gateInfoOf(workflow, gate.kind);
      const decision = await complete(ask, io, { gate, info }, choice.decision);
      if (decision === null) return 'again';
      await client.decideGate(gate.id, decision);
      return 'decided';
    }
    default:
      return choice satisfies never;
  }
}

type Choice =
  | { readonly kind: 'decide'; readonly decision: Decision }
  | { readonly kind: 'answer' | 'unknown'; readonly text: string }
  | { readonly kind: 'show' | 'cancel' | 'leave' };
type Ask = (question: string) => Promise<string | null>;

const KEYS: Readonly<Record<Exclude<Decision, 'answer'>, string>> = {
  approve: 'a',
  reject: 'r',
  ignore: 'i',
  ask: 'q',
  retry: 't',
  accept: 'x',
  extend: 'e',
  close: 'o',
};

async function askChoice(ask: Ask, gate: Gate): Promise<Choice | null> {
  const decisions = gate.decisions.filter((decision) => decision !== 'answer');
  const menu = [
    ...decisions.map((decision) => `${decision} (${KEYS[decision]})`),
    'show (s)',
    'cancel (c)',
    'leave (l)',
  ];
  const given = (await ask(`${menu.join(' · ')} > `))?.trim().toLowerCase();
  if (given === undefined) return null;
  const decision = decisions.find((candidate) => candidate === given || KEYS[candidate] === given);
  if (decision !== undefined) return { kind: 'decide', decision };
  for (const kind of ['show', 'cancel', 'leave'] as const) if (given === kind || given === kind[0]) return { kind };
  return { kind: 'unknown', text: given };
}

/** A question takes any words, so that what is not an answer begins with a colon. */
async function askAnswer(ask: Ask, gate: Gate): Promise<Choice | null> {
  const what = {
    text: 'answer',
    single_choice: 'number or text',
    multiple_choice: 'numbers, such as 1,3',
    file_upload: 'path of a file',
  };
  const decisions = (['ignore', 'retry'] as const).filter((decision) => gate.decisions.includes(decision));
  const others = [...decisions.map((decision) => `:${decision}`), ':cancel', ':leave'];
  const given = (await ask(`${what[gate.question?.responseType ?? 'text']} (or ${others.join(', ')}) > `))?.trim();
  if (given === undefined) return null;
  const decision = decisions.find((each) => given === `:${each}`);
  if (decision !== undefined) return { kind: 'decide', decision };
  if (given === ':cancel') return { kind: 'cancel' };
  if (given === ':leave') return { kind: 'leave' };
  return { kind: 'answer', text: given };
}

/** Asks for the words that a decision needs; `null` when the person gives none. */
async function complete(
  ask: Ask,
  io: CliIo,
  { gate, info }: { readonly gate: Gate; readonly info: GateInfo },
  decision: Decision,
): Promise<GateDecision | null> {
  const given = async (question: string) => (await ask(`${question} > `))?.trim();
  const text = async (question: string) => (await given(question)) || null;
  switch (decision) {
    case 'approve': {
      const asked = approvalField(info);
      if (asked === null) return approvalOf(gate, {});
      if (asked.field === 'editedPlan') {
        const path = await text('file with the corrected document');
        return path === null ? null : approvalOf(gate, { editedPlan: await readTextFile(io, path) });
      }
      const words = await given(asked.isNeeded ? 'your notes' : 'your notes (may stay empty)');
      if (words === undefined || (words === '' && asked.isNeeded)) return null;
      return approvalOf(gate, words === '' ? {} : { [asked.field]: words });
    }
    case 'reject': {
      const feedback = await text('what should be different');
      return feedback === null ? null : { decision, feedback };
    }
    case 'ask': {
      const question = await text('your question');
      return question === null ? null : { decision, question };
    }
    case 'accept': {
      const reason = await text('why is it good enough');
      return reason === null ? null : { decision, reason, ...shownAt(gate) };
    }
    case 'close': {
      const reason = await text('why is it closed');
      return reason === null ? null : { decision, reason };
    }
    case 'extend': {
      if (gate.reason === 'budget') {
        const budget = budgetOf((await text('another budget, such as maxCostUsd=20')) ?? '');
        return budget === null ? null : { decision, ...budget };
      }
      const minutes = Number(await text('minutes'));
      return minutes > 0 ? { decision, minutes } : null;
    }
    case 'retry':
    case 'ignore':
    case 'answer':
      return { decision };
    default:
      return decision satisfies never;
  }
}

/** Whether the answer to a question of yes or no is yes. */
export function isYes(said: string | null): boolean {
  return /^\s*(?:y|yes)\s*$/i.test(said ?? '');
}

/** One line from the person; `null` when they leave (Ctrl+C, Ctrl+D) or `signal` aborts. */
export async function askLine(io: CliIo, question: string, signal: AbortSignal): Promise<string | null> {
  if (signal.aborted) return null;
  const terminal = createInterface({ input: io.stdin, output: io.stdout, terminal: io.stdin.isTTY === true });
  const { promise: ended, resolve: end } = Promise.withResolvers<null>();
  const leave = (): void => {
    io.stdout.write('\n');
    end(null);
  };
  terminal.once('SIGINT', leave);
  terminal.once('close', leave);
  signal.addEventListener('abort', leave, { once: true });
  try {
    const asked = terminal.question(question);
    // A question may fail after its terminal was closed; nothing depends on it then.
    asked.catch(() => undefined);
    return await Promise.race([asked, ended]);
  } finally {
    signal.removeEventListener('abort', leave);
    terminal.removeListener('close', leave);
    terminal.close();
  }
}
