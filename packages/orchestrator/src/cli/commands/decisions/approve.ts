/** The command `approve`: approves the document or the result that a gate shows. */
import type { CommandLine, DecidingOptions } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { whatIsApproved } from '../../gates/decide.ts';
import { decidedGate } from '../../gates/decided-gate.ts';
import { EXIT } from '../../exit.ts';
import { readTextFile } from '../../launch/input-files.ts';
import { type CliIo, say } from '../../io.ts';
import { statusLine } from '../../run-texts.ts';

interface ApproveOptions extends DecidingOptions {
  readonly notes?: string;
  readonly edit?: string;
}

export function addApprove(line: CommandLine): void {
  line
    .deciding('approve <run>', 'approves the document or the result that the gate shows')
    .option('--notes <text>', 'kept with the approval')
    .option('--edit <file>', 'an edited document instead of the one shown')
    .action(line.ending((runId: string, options: ApproveOptions) => approve(line.io, runId, options)));
}

async function approve(io: CliIo, runId: string, options: ApproveOptions): Promise<number> {
  const { notes } = options;
  const edited = options.edit === undefined ? undefined : await readTextFile(io, options.edit);
  const client = await connect(io, options.server);
  const { gate, shown } = await decidedGate(client, io, { runId, decision: 'approve' }, options);
  say(io, `approve: ${whatIsApproved(gate)}`);
  const approved = await client.decideGate(gate.id, {
    decision: 'approve',
    ...shown,
    notes,
    editedPlan: edited,
  });
  say(io, statusLine(approved, io.program));
  return EXIT.done;
}
