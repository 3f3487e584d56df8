import type { GateDecision } from '@autonomous/shared';
import type { DecidingOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { decidedGate } from './decided-gate.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, say } from '../io.ts';
import { statusLine } from '../run-texts.ts';

/**
 * Decides the open gate of a run and prints the status that follows.
 * @param rest options that a message prints after `--gate` and `--hash`, when these are missing
 * @returns the exit code
 * @throws {CommandFailure} as {@link decidedGate} does
 */
export async function sendDecision(
  io: CliIo,
  runId: string,
  wanted: GateDecision,
  options: DecidingOptions,
  rest = '',
): Promise<number> {
  const { decision } = wanted;
  const client = await connect(io, options.server);
  const { gate, shown } = await decidedGate(client, io, { runId, decision, rest }, options);
  const decided = await client.decideGate(gate.id, { ...wanted, ...shown });
  say(io, `${decision}: ${gate.summary}\n${statusLine(decided, io.program)}`);
  return EXIT.done;
}
