/** The commands that decide a run's open gate: what is sent names exactly what was fetched. */
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import {
  BUDGET_NAMES,
  type BudgetChange,
  type BudgetName,
  type Client,
  type Decision,
  type Gate,
  type GateDecision,
  type Question,
  type RunView,
  shownAt,
} from '@autonomous/shared';
import { CommandFailure, UsageError } from './exit.ts';
import type { CliIo } from './io.ts';

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
  throw new CommandFailure(`Run ${runId} waits for nobody: it is ${statusOf(run)}${before}.`);
}

/** Approves what the gate shows: the server refuses it when plan or code have moved since. */
export function approvalOf(gate: Gate, notes: string | undefined, editedPlan?: string): GateDecision {
  return { decision: 'approve', ...shownAt(gate), notes, editedPlan };
}

/** Budgets as options of the command line give them. */
export type BudgetOptions = { readonly [Name in BudgetName]?: string };

/** What `extend` sends: minutes for a stage, or other budgets for the run. @throws {UsageError} */
export function extensionOf(
  minutes: string | undefined,
  options: BudgetOptions,
): BudgetChange & { readonly minutes?: number } {
  const budgets = BUDGET_NAMES.flatMap((name) => {
    const given = options[name];
    if (given === undefined) return [];
    const value = given === 'none' ? null : Number(given);
    if (value !== null && !(value > 0))
      throw new UsageError(`'${given}' is no ${name}; give a number above 0, or none.`);
    return [[name, value] as const];
  });
  if (budgets.length === 0) {
    if (!(Number(minutes) > 0)) throw new UsageError(`'${minutes ?? ''}' is no number of minutes.`);
    return { minutes: Number(minutes) };
  }
  if (minutes !== undefined) throw new UsageError('Give minutes or budgets, not both.');
  return Object.fromEntries(budgets);
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

/** Status in words, with the stage where there is one. */
export function statusOf({ status, currentStage, queuePosition }: RunView): string {
  const place = queuePosition === undefined ? '' : `, place ${queuePosition}`;
  return `${status.replaceAll('_', ' ')}${currentStage === null ? '' : ` in ${currentStage}`}${place}`;
}

export async function readTextFile(io: CliIo, path: string): Promise<string> {
  return (await readBytes(io, path)).toString('utf8');
}

async function uploadAll(client: Client, io: CliIo, paths: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const path of paths) {
    const content = new Uint8Array(await readBytes(io, path));
    ids.push((await client.upload(basename(path), content)).id);
  }
  return ids;
}

async function readBytes(io: CliIo, path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(resolve(io.cwd, path));
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UsageError(`The file ${resolve(io.cwd, path)} cannot be read (${why}).`, { cause: error });
  }
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
  throw new UsageError(`'${text.trim()}' is no option of the question; the options are ${list}.`);
}

function sameWords(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}
