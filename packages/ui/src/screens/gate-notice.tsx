/** A gate that is not open: who decided what, or why there is nothing to decide. */
import { agoText, plainWords, type RunView } from '@autonomous/shared';
import { useHost } from '../hosts/host.ts';
import { Link } from '../parts/link.tsx';
import { useArrival } from '../parts/arrival.ts';
import { useLoaded } from '../parts/loading.tsx';
import { useNow } from '../parts/times.tsx';

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
      <p role="status">
        <What run={run} gateId={gateId} sequence={sequence} /> {wasRefused && 'Yours was not taken.'}
      </p>
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
}: {
  readonly run: RunView;
  readonly gateId: string;
  readonly sequence: number | null;
}) {
  const { client } = useHost();
  const now = useNow();
  const outcome = run.gates.findLast((each) => each.gateId === gateId);
  const isUnknown = outcome === undefined && sequence !== null && sequence <= run.lastSequence;
  const event = useLoaded(isUnknown ? `${run.id} ${sequence}` : null, async () => {
    const [found] = await client.listEvents(run.id, (sequence ?? 1) - 1, 1);
    return found?.type ?? '';
  });
  if (outcome !== undefined) {
    const { kind, decision, by, at, notes } = outcome;
    return (
      <>
        This gate ({kind.replaceAll('_', ' ')}) is decided: <strong>{DECIDED[decision]}</strong> by {plainWords(by)},{' '}
        {agoText(at, now)}
        {notes === undefined || notes === '' ? '' : `: “${plainWords(notes)}”`}.
      </>
    );
  }
  if (isUnknown && event.value === null && event.fault === null) return <>Looking for the gate…</>;
  if (isUnknown && OPENINGS.has(event.value ?? ''))
    return <>This gate is not open any more: the run went on without a decision.</>;
  return (
    <>
      Run {run.id} has no gate {gateId}.
    </>
  );
}

const DECIDED = {
  approve: 'approved',
  reject: 'sent back',
  answer: 'answered',
  ignore: 'ignored',
  ask: 'answered with a question',
  retry: 'tried again',
  accept: 'accepted as it is',
  extend: 'extended',
  cancel: 'cancelled',
} as const;

/** The event that opened the gate; `null` for what is no id of a gate of this run. */
function sequenceOf(runId: string, gateId: string): number | null {
  const sequence = gateId.startsWith(`${runId}.`) ? Number(gateId.slice(runId.length + 1)) : Number.NaN;
  return Number.isSafeInteger(sequence) && sequence > 0 ? sequence : null;
}
