/** Notice for a gate that was decided elsewhere while its run is open: states why the gate is no longer on the page. */
import type { GateOutcome, RunView } from '@autonomous/shared';
import { useState } from 'react';
import { useWorkflow } from '../../hosts/host.ts';
import { OutcomeOfGate } from '../../components/gate-outcome.tsx';

/**
 * The newest decision, where somebody made it elsewhere since the run is looked at; `null` where it is older or was made here.
 * @param before how many decisions there were when the run was first looked at
 * @param here gates that were decided on this page
 */
export function decidedElsewhere(
  { gates }: Pick<RunView, 'gates'>,
  before: number,
  here: ReadonlySet<string>,
): GateOutcome | null {
  const newest = gates.length > before ? gates.at(-1) : undefined;
  return newest === undefined || here.has(newest.gateId) ? null : newest;
}

export function GateNews({ run, here }: { readonly run: RunView; readonly here: ReadonlySet<string> }) {
  const workflow = useWorkflow(run);
  const [before] = useState(run.gates.length);
  const [dismissed, setDismissed] = useState<GateOutcome | null>(null);
  const outcome = decidedElsewhere(run, before, here);
  const isShown = outcome !== null && outcome.at !== dismissed?.at;
  return (
    <div role="status" className={isShown ? 'gate-news' : 'hidden'}>
      {isShown && (
        <OutcomeOfGate lead="Decided elsewhere" outcome={outcome} workflow={workflow}>
          {' '}
          <button type="button" className="link" onClick={() => setDismissed(outcome)}>
            Dismiss
          </button>
        </OutcomeOfGate>
      )}
    </div>
  );
}
