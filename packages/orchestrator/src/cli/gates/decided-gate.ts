/**
 * The binding of a command that decides a gate to what its person has in sight: `--gate` and `--hash` as `show` and `gates` print
 * them, or the whole of it at a terminal, with a question.
 */
import {
  acceptsConcerns,
  type Decision,
  type Gate,
  hashWordOf,
  readHashWord,
  type ShownGate,
  shownAt,
  vouches,
} from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { openGate, whatIsApproved } from './decide.ts';
import { askLine, isYes } from './dialog.ts';
import { CommandFailure, UsageError } from '../exit.ts';
import { type CliIo, hasPerson, say } from '../io.ts';
import { concernText, documentAt, showForGate, shownOptions } from '../run-texts.ts';

export interface ShownOptions {
  readonly gate?: string;
  readonly hash?: string;
}

/**
 * The open gate of a run and what a decision of it is bound to.
 * @param given what the person named; without it they are shown the gate and asked at a terminal. Elsewhere a decision that
 *   vouches for something is refused, and any other one is bound to the gate that is open
 * @throws {CommandFailure} with the options that are missing, when another gate is open, or when the person says no
 */
export async function decidedGate(
  client: Client,
  io: CliIo,
  wanted: { readonly runId: string; readonly decision: Decision; readonly rest?: string },
  given: ShownOptions,
): Promise<{ readonly gate: Gate; readonly shown: ShownGate }> {
  const { runId, decision } = wanted;
  const hashes = namedHashes(given);
  const gate = await openGate(client, runId, decision);
  if (given.gate !== undefined && given.gate !== gate.id) {
    throw new CommandFailure(
      `Gate ${given.gate} is not open any more: it was decided or changed. Run ${runId} waits at gate ${gate.id} now, "${gate.summary}": look at it with ${io.program} show ${runId}.`,
    );
  }
  // Only a decision that vouches for something sends the hashes; any other one may name them as well, from the same line.
  if (!vouches(decision) && given.hash !== undefined && given.hash !== hashWordOf(gate)) {
    throw new CommandFailure(
      `Gate ${gate.id} does not show what --hash names: look at it with ${io.program} show ${runId}.`,
    );
  }
  const isNamed = given.gate !== undefined && (!vouches(decision) || hashes !== null || hashWordOf(gate) === null);
  if (isNamed) return { gate, shown: { gateId: gate.id, ...(vouches(decision) ? hashes : {}) } };
  if (hasPerson(io)) {
    await confirm(client, io, gate, decision);
    return { gate, shown: vouches(decision) ? shownAt(gate) : { gateId: gate.id } };
  }
  if (!vouches(decision)) return { gate, shown: { gateId: gate.id } };
  throw new CommandFailure(
    `${decision === 'accept' ? 'Accepting' : 'Approving'} without a terminal needs the gate and hash. Read the gate ("${gate.summary}"), then run:\n  ${io.program} ${decision} ${runId} ${shownOptions(gate)}${wanted.rest ?? ''}${withConcerns(gate, decision)}`,
  );
}

/** Lists the concerns that a decision also accepts, for messages that print its hash. Empty when it accepts none. */
export function withConcerns(gate: Gate, decision: Decision): string {
  const text = acceptsConcerns(decision, gate) ? concernText(gate) : '';
  return text === '' ? '' : `\nWith it you accept:\n${text.replaceAll(/^/gm, '  ')}`;
}

/** Asks whether the fork of a run is to decide a gate of the past so. @throws {CommandFailure} when the person does not say yes */
export async function confirmFork(client: Client, io: CliIo, gate: Gate, decision: Decision): Promise<void> {
  const document = await documentAt(client, gate);
  say(
    io,
    `${document === null ? '' : `${document}\n\n`}${decision}: ${whatIsApproved(gate)}\n${shownOptions(gate)}${withConcerns(gate, decision)}`,
  );
  await assent(io, decision);
}

/** Shows all that a decision is about, and asks. @throws {CommandFailure} when the person does not say yes */
async function confirm(client: Client, io: CliIo, gate: Gate, decision: Decision): Promise<void> {
  say(io, `${await showForGate(client, gate)}\n\n${decision}: ${whatIsApproved(gate)}\n${shownOptions(gate)}`);
  await assent(io, decision);
}

async function assent(io: CliIo, decision: Decision): Promise<void> {
  const said = await askLine(io, `${decision} this? (yes or no) > `, new AbortController().signal);
  if (!isYes(said)) throw new CommandFailure('Nothing was decided.');
}

/** @throws {UsageError} for a word that is no hash, or one without its gate */
export function namedHashes({ gate, hash }: ShownOptions): Omit<ShownGate, 'gateId'> | null {
  if (hash === undefined) return null;
  if (gate === undefined) throw new UsageError('--hash goes with --gate: give both, as show and gates print them.');
  const hashes = readHashWord(hash);
  if (hashes !== null) return hashes;
  throw new UsageError(`'${hash}' is not a gate hash. Copy the complete hash from show or gates.`);
}
