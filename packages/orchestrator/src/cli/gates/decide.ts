/** The commands that decide a run's open gate: what is sent names exactly what was fetched. */
import { basename } from 'node:path';
import {
  BUDGET_NAMES,
  type BudgetChange,
  type Decision,
  type DecisionField,
  fieldOf,
  type Gate,
  type GateDecision,
  type GateInfo,
  type Question,
  shownAt,
} from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { CommandFailure, UsageError } from '../exit.ts';
import { readBytes } from '../launch/input-files.ts';
import type { CliIo } from '../io.ts';
import { statusOf } from '../run-texts.ts';

/**
 * The gate at which a run waits for this decision.
 * @throws {CommandFailure} when it waits for nobody, or for another decision
 */
export async function openGate(client: Client, runId: string, decision: Decision): Promise<Gate> {
  const [gate] = await client.listGates(runId);
  if (gate?.decisions.includes(decision)) return gate;
  if (gate) {
    throw new CommandFailure(
      `Run ${runId} waits for another decision (${gate.decisions.join(', ')}): ${gate.question?.question ?? gate.summary}`,
    );
  }
  const run = await client.getRun(runId);
  const last = run.gates.at(-1);
  const before = last ? `; the last decision was '${last.decision}' by ${last.by}` : '';
  throw new CommandFailure(`Run ${runId} is not waiting for a decision: it is ${statusOf(run)}${before}.`);
}

/**
 * The field that a person is asked for with an approval; `null` where it is asked for nothing. An edited document that is only
 * offered is sent by `approve --edit`.
 */
export function approvalField(info: GateInfo): { readonly field: DecisionField; readonly isNeeded: boolean } | null {
  const asked = fieldOf(info, 'approve');
  return asked?.field === 'editedPlan' && !asked.isNeeded ? null : asked;
}

/** The option of `approve` for the field that a gate asks for, with a space before it; empty where it asks for none. */
export function approvalOption(info: GateInfo): string {
  const asked = approvalField(info);
  if (asked === null) return '';
  return asked.field === 'editedPlan' ? ' --edit FILE' : ' --notes "…"';
}

/** Approves what the gate shows: the server refuses it when the document or the code has changed since. */
export function approvalOf(gate: Gate, fields: Partial<Pick<GateDecision, DecisionField>>): GateDecision {
  return { decision: 'approve', ...shownAt(gate), ...fields };
}

/** `maxCostUsd=20`; `null` for anything else. */
export function budgetOf(text: string): BudgetChange | null {
  const [, given, value] = /^\s*(\w+)\s*=\s*(\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
  const name = BUDGET_NAMES.find((known) => known === given);
  return name === undefined ? null : { [name]: Number(value) };
}

/** `Review the plan 'Login' (hash 1e536a73bb, code 32ff5b5bc8)` */
export function whatIsApproved(gate: Gate): string {
  const names = [
    ...(gate.artifactHash === undefined ? [] : [`hash ${gate.artifactHash.slice(0, 10)}`]),
    ...(gate.codeTree === undefined ? [] : [`code ${gate.codeTree.slice(0, 10)}`]),
    ...(gate.concernsHash === undefined ? [] : [`concerns ${gate.concernsHash.slice(0, 10)}`]),
  ];
  return `${gate.summary}${names.length > 0 ? ` (${names.join(', ')})` : ''}`;
}

/**
 * An answer as its question takes it: options by number or text, files by their path.
 * @param given the words of the command line, one element each
 * @throws {UsageError} when the question cannot be answered so
 */
export async function answerOf(
  client: Client,
  io: CliIo,
  question: Question | undefined,
  given: { readonly words: readonly string[]; readonly files: readonly string[] },
): Promise<GateDecision> {
  const { words, files } = given;
  const type = question?.responseType ?? 'text';
  if (type === 'file_upload') {
    if (files.length === 0) throw new UsageError('The question asks for a file; send it with --file PATH.');
    return { decision: 'answer', response: await uploadAll(client, io, files) };
  }
  if (files.length > 0) throw new UsageError('The question does not ask for a file; leave --file out.');
  if (words.join('').trim() === '') throw new UsageError('The answer is empty.');
  const options = question?.options ?? [];
  if (type === 'multiple_choice') {
    const parts = isOption(words.join(' '), options) ? [words.join(' ')] : words.flatMap((word) => word.split(','));
    return {
      decision: 'answer',
      response: parts.filter((part) => part.trim() !== '').map((part) => option(part, options)),
    };
  }
  const response = words.join(' ');
  return { decision: 'answer', response: type === 'single_choice' ? option(response, options) : response };
}

async function uploadAll(client: Client, io: CliIo, paths: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const path of paths) {
    const content = new Uint8Array(await readBytes(io, path));
    ids.push((await client.upload(basename(path), content)).id);
  }
  return ids;
}

function isOption(text: string, options: readonly string[]): boolean {
  return options.some((known) => sameWords(known, text));
}

/** By its words, else by its number from 1. */
function option(text: string, options: readonly string[]): string {
  const number = /^\d+$/.test(text.trim()) ? Number(text) : 0;
  const found = options.find((known) => sameWords(known, text)) ?? options[number - 1];
  if (found !== undefined) return found;
  const list = options.map((known, index) => `${index + 1} '${known}'`).join(', ');
  throw new UsageError(`'${text.trim()}' is not an option of the question. The options are ${list}.`);
}

function sameWords(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}
