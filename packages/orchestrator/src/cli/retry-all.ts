/** The command `retry --all`: every paused run at once, each at the gate that was just shown. */
import { type Client, PAUSE_REASONS } from '@autonomous/shared';
import { EXIT, UsageError } from './exit.ts';
import { type CliIo, note, say } from './io.ts';

/** As many as one request takes. */
const AT_ONCE = 500;

/**
 * @param reason only runs that paused for it; absent: all that can be retried after a pause
 * @returns exit code 0 when all of them go on
 */
export async function retryAll(io: CliIo, client: Client, reason: string | undefined): Promise<number> {
  if (reason !== undefined && !PAUSE_REASONS.some((known) => known === reason)) {
    throw new UsageError(`'${reason}' is no reason of a pause; there are ${PAUSE_REASONS.join(', ')}.`);
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
