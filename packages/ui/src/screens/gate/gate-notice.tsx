/** A gate that is not open: who decided what, or why there is nothing to decide. */
import type { RunView } from '@autonomous/shared';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { OutcomeOfGate } from '../../components/gate-outcome.tsx';
import { Link } from '../../components/link.tsx';
import { useArrival } from '../../components/focus-target.ts';
import { useLoaded } from '../../components/loading.tsx';

const OPENINGS: ReadonlySet<string> = new Set(['APPROVAL_REQUESTED', 'CLARIFICATION_REQUESTED', 'RUN_PAUSED']);

export function GateNotice({
  run,
  gateId,
  wasRefused,
  isTarget,
  onClose,
}: {
  readonly run: RunView;
  readonly gateId: string;
  /** A decision was sent from here, and not taken. */
  readonly wasRefused: boolean;
  readonly isTarget: boolean;
  readonly onClose?: () => void;
}) {
  const target = useArrival<HTMLElement>(isTarget);
  const sequence = sequenceOf(run.id, gateId);
  return (
    <section
      ref={target}
      tabIndex={-1}
      className={`gate closed${isTarget ? ' marked' : ''}`}
      aria-label="A gate that is not open"
    >
      <div role="status">
        <What run={run} gateId={gateId} sequence={sequence} more={wasRefused ? ' Yours was not accepted.' : ''} />
      </div>
      {run.gate !== null && <p className="quiet">Another gate of this run is open: it is below.</p>}
      <p className="actions">
        {sequence !== null && sequence <= run.lastSequence && (
          <Link to={{ name: 'run', runId: run.id, tab: 'events', event: sequence }}>Its event</Link>
        )}
        {onClose !== undefined && (
          <button type="button" className="link" onClick={onClose}>
            Dismiss
          </button>
        )}
      </p>
    </section>
  );
}

function What({
  run,
  gateId,
  sequence,
  more,
}: {
  readonly run: RunView;
  readonly gateId: string;
  readonly sequence: number | null;
  readonly more: string;
}) {
  const { client } = useHost();
  const workflow = useWorkflow(run);
  const outcome = run.gates.findLast((each) => each.gateId === gateId);
  const isUnknown = outcome === undefined && sequence !== null && sequence <= run.lastSequence;
  const event = useLoaded(isUnknown ? `${run.id} ${sequence}` : null, async () => {
    const [found] = await client.listEvents(run.id, (sequence ?? 1) - 1, 1);
    return found?.type ?? '';
  });
  if (outcome !== undefined) {
    return (
      <OutcomeOfGate lead="This gate is decided" outcome={outcome} workflow={workflow}>
        .{more}
      </OutcomeOfGate>
    );
  }
  return (
    <p>
      {saying()}
      {more}
    </p>
  );

  function saying(): string {
    if (isUnknown && event.value === null && event.fault === null) return 'Looking for the gate…';
    if (isUnknown && OPENINGS.has(event.value ?? ''))
      return 'This gate is no longer open: the run continued without a decision.';
    return `Run ${run.id} has no gate ${gateId}.`;
  }
}

/** The event that opened the gate; `null` for what is no id of a gate of this run. */
function sequenceOf(runId: string, gateId: string): number | null {
  const sequence = gateId.startsWith(`${runId}.`) ? Number(gateId.slice(runId.length + 1)) : Number.NaN;
  return Number.isSafeInteger(sequence) && sequence > 0 ? sequence : null;
}
