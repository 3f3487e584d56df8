/** The command `reject`: sends the document or the result back. */
import type { CommandLine, DecidingOptions } from '../../command-line.ts';
import { sendDecision } from '../../gates/send-decision.ts';

export function addReject(line: CommandLine): void {
  line
    .deciding('reject <run>', 'sends the document or the result back')
    .requiredOption('--feedback <text>', 'what should be different')
    .action(
      line.ending((runId: string, options: DecidingOptions & { readonly feedback: string }) =>
        sendDecision(line.io, runId, { decision: 'reject', feedback: options.feedback }, options),
      ),
    );
}
