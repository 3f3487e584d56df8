/** Stored events of a run: a window of them, around the linked event if there is one. */
import { plainJson, sanitizeText, type RunView, type WorkflowEvent } from '@autonomous/shared';
import { useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { CopyLink } from '../components/copy-link.tsx';
import { Link } from '../components/link.tsx';
import { Loading, useLoaded } from '../components/loading.tsx';
import { useArrival } from '../components/focus-target.ts';
import { Ago } from '../components/times.tsx';

const WINDOW = 200;
const GATES: ReadonlySet<string> = new Set(['APPROVAL_REQUESTED', 'CLARIFICATION_REQUESTED', 'RUN_PAUSED']);

export function Events({ run, event }: { readonly run: RunView; readonly event: number | undefined }) {
  if (event !== undefined && event > run.lastSequence) {
    return (
      <p className="empty">
        Run {run.id} has no event {event}: its newest is{' '}
        <Link to={{ name: 'run', runId: run.id, tab: 'events', event: run.lastSequence }}>{run.lastSequence}</Link>.
      </p>
    );
  }
  // Another link is another window.
  return <Window key={event ?? 'newest'} run={run} event={event} />;
}

function Window({ run, event }: { readonly run: RunView; readonly event: number | undefined }) {
  const { client } = useHost();
  const [chosen, setChosen] = useState<number | null>(event === undefined ? null : Math.max(0, event - WINDOW / 2));
  // Without a place of its own the window stays at the end while the run goes on.
  const after = chosen ?? Math.max(0, run.lastSequence - WINDOW);
  const upTo = Math.min(after + WINDOW, run.lastSequence);
  const events = useLoaded(`${run.id} ${after} ${upTo}`, () => client.listEvents(run.id, after, WINDOW));
  return (
    <section aria-label="Events">
      <Loading of={events} what="The events">
        {(items) => (
          <>
            <p className="toolbar">
              <span className="quiet">
                {after + 1} to {upTo} of {run.lastSequence}
              </span>
              {after > 0 && (
                <button type="button" className="link" onClick={() => setChosen(Math.max(0, after - WINDOW))}>
                  Earlier
                </button>
              )}
              {upTo < run.lastSequence && (
                <button
                  type="button"
                  className="link"
                  onClick={() => setChosen(upTo + WINDOW >= run.lastSequence ? null : upTo)}
                >
                  Later
                </button>
              )}
            </p>
            <ol className="events">
              {items.map((each) => (
                <Row key={each.sequence} event={each} isTarget={each.sequence === event} />
              ))}
            </ol>
          </>
        )}
      </Loading>
    </section>
  );
}

function Row({ event, isTarget }: { readonly event: WorkflowEvent; readonly isTarget: boolean }) {
  const [isOpen, setOpen] = useState(isTarget);
  const target = useArrival<HTMLLIElement>(isTarget);
  const { workflowRunId: runId, sequence, type, timestamp } = event;
  return (
    <li
      ref={target}
      tabIndex={-1}
      className={isTarget ? 'marked' : undefined}
      aria-current={isTarget ? 'true' : undefined}
    >
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className="number">{sequence}</span> <code>{type}</code> <span className="quiet">{aboutOf(event)}</span>{' '}
          <Ago at={timestamp} />
        </summary>
        {isOpen && (
          <>
            <p className="toolbar">
              <CopyLink to={{ name: 'run', runId, tab: 'events', event: sequence }} what="event" />
              <span className="quiet">
                {new Date(timestamp).toLocaleString()},{' '}
                {event.origin === 'input' ? 'from outside' : 'follows from what came before'}
              </span>
              {GATES.has(type) && <Link to={{ name: 'run', runId, gate: `${runId}.${sequence}` }}>Its gate</Link>}
            </p>
            <pre tabIndex={0} aria-label={`Payload of event ${sequence}`}>
              {plainJson(event.payload)}
            </pre>
          </>
        )}
      </details>
    </li>
  );
}

/** The one word of an event that tells it from others of its type. */
function aboutOf({ payload }: WorkflowEvent): string {
  const facts = payload as Readonly<Record<string, unknown>>;
  const words = [facts['activity'], facts['stage'], facts['gate'], facts['by'], facts['message'], facts['summary']];
  const first = words.find((word) => typeof word === 'string' && word !== '');
  return typeof first === 'string' ? sanitizeText(first).slice(0, 80) : '';
}
