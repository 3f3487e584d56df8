/** The command `accept`: takes a result although its validation failed. */
import type { CommandLine, DecidingOptions } from '../../command-line.ts';
import { sendDecision } from '../../gates/send-decision.ts';

export function addAccept(line: CommandLine): void {
  line
    .deciding('accept <run>', 'takes a result although its validation failed')
    .requiredOption('--reason <text>', 'why; kept with the run')
    .action(
      line.ending((runId: string, options: DecidingOptions & { readonly reason: string }) =>
        sendDecision(line.io, runId, { decision: 'accept', reason: options.reason }, options, ' --reason "…"'),
      ),
    );
}
