/** The command `close`: closes the pull request that a run follows, without a merge. */
import type { CommandLine, DecidingOptions } from '../../command-line.ts';
import { sendDecision } from '../../gates/send-decision.ts';

export function addClose(line: CommandLine): void {
  line
    .deciding('close <run>', 'closes the pull request of a run without a merge; the run ends, its branch stays')
    .requiredOption('--reason <text>', 'why; kept with the run')
    .action(
      line.ending((runId: string, options: DecidingOptions & { readonly reason: string }) =>
        sendDecision(line.io, runId, { decision: 'close', reason: options.reason }, options, ' --reason "…"'),
      ),
    );
}
