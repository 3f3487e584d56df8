/** The command `ignore`: leaves a question unanswered. */
import type { CommandLine, DecidingOptions } from '../../command-line.ts';
import { sendDecision } from '../../gates/send-decision.ts';

export function addIgnore(line: CommandLine): void {
  line
    .deciding('ignore <run>', 'leaves a question unanswered: the agent continues without it')
    .action(
      line.ending((runId: string, options: DecidingOptions) =>
        sendDecision(line.io, runId, { decision: 'ignore' }, options),
      ),
    );
}
