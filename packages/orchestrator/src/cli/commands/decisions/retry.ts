/** The command `retry`: retries a run at its pause or failed validation, or with `--all` every paused run at once. */
import { PAUSE_REASONS } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import type { CommandLine, DecidingOptions } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { EXIT, UsageError } from '../../exit.ts';
import { type CliIo, note, say } from '../../io.ts';
import { sendDecision } from '../../gates/send-decision.ts';

/** As many as one request takes. */
const AT_ONCE = 500;

interface RetryOptions extends DecidingOptions {
  readonly notes?: string;
  readonly all?: boolean;
  readonly reason?: string;
}

export function addRetry(line: CommandLine): void {
  line
    .deciding('retry [run]', 'tries again after a pause or a failed validation')
    .option('--notes <text>', 'a hint for the next try')
    .option('--all', 'all paused runs, or those of --reason')
    .option('--reason <reason>', 'with --all: only runs that paused for this, such as model_unavailable')
    .action(line.ending((runId: string | undefined, options: RetryOptions) => retry(line.io, runId, options)));
}

async function retry(io: CliIo, runId: string | undefined, options: RetryOptions): Promise<number> {
  const { all = false, reason, notes } = options;
  if (all) {
    if (runId !== undefined || notes !== undefined)
      throw new UsageError('--all retries every paused run: leave the run and --notes out.');
    return retryAll(io, await connect(io, options.server), reason);
  }
  if (runId === undefined) throw new UsageError('Name the run to retry, or give --all.');
  if (reason !== undefined) throw new UsageError('--reason goes with --all.');
  return sendDecision(io, runId, { decision: 'retry', notes }, options);
}

/**
 * Retries paused runs, each at the gate that was just listed.
 * @param reason only runs that paused for it; absent: all that can be retried after a pause
 * @returns exit code 0 when all of them go on
 */
async function retryAll(io: CliIo, client: Client, reason: string | undefined): Promise<number> {
  if (reason !== undefined && !PAUSE_REASONS.some((known) => known === reason)) {
    throw new UsageError(`'${reason}' is not a pause reason. The reasons are ${PAUSE_REASONS.join(', ')}.`);
  }
  const gates = (await client.listGates()).filter(
    (gate) =>
      gate.kind === 'pause' && gate.decisions.includes('retry') && (reason === undefined || gate.reason === reason),
  );
  if (gates.length === 0) {
    note(io, reason === undefined ? 'No run is paused.' : `No run is paused with reason ${reason}.`);
    return EXIT.done;
  }
  let refused = 0;
  for (let from = 0; from < gates.length; from += AT_ONCE) {
    const some = gates.slice(from, from + AT_ONCE);
    const outcomes = new Map((await client.retryGates(some.map(({ id }) => id))).map((one) => [one.gateId, one]));
    for (const gate of some) {
      const outcome = outcomes.get(gate.id);
      if (outcome?.retried !== true) refused += 1;
      const what = outcome?.retried === true ? 'retried' : `not retried: ${outcome?.detail ?? 'no answer came'}`;
      say(io, `${gate.runId}  ${gate.reason ?? 'pause'}  ${what}`);
    }
  }
  say(io, `${gates.length - refused} retried, ${refused} not`);
  return refused === 0 ? EXIT.done : EXIT.notDone;
}
