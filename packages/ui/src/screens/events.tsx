/** Stored events of a run: a window of them, around the linked event if there is one. */
import type { RunView, WorkflowEvent, WorkflowInfo } from '@autonomous/shared';
import {
  eventInfoOf,
  fieldsText,
  ownEventText,
  plainJson,
  sanitizeText,
  shortened,
} from '@autonomous/shared/presentation';
import { useState } from 'react';
import { useHost, useWorkflow } from '../hosts/host.ts';
import { CopyLink } from '../components/copy-link.tsx';
import { Link } from '../components/link.tsx';
import { Loading, useLoaded } from '../components/loading.tsx';
import { useArrival } from '../components/focus-target.ts';
import { Ago } from '../components/times.tsx';
import { useChildrenByKey } from './child-runs.tsx';

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
  const workflow = useWorkflow(run);
  const byKey = useChildrenByKey(run);
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
                <Row
                  key={each.sequence}
                  event={each}
                  workflow={workflow}
                  child={byKey.get(String(each.payload['key']))}
                  isTarget={each.sequence === event}
                />
              ))}
            </ol>
          </>
        )}
      </Loading>
    </section>
  );
}

interface RowProps {
  readonly event: WorkflowEvent;
  /** Absent while it is not known. */
  readonly workflow: WorkflowInfo | undefined;
  /** The child run that the event is about; absent for any other event. */
  readonly child: RunView | undefined;
  readonly isTarget: boolean;
}

function Row({ event, workflow, child, isTarget }: RowProps) {
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
          <span className="number">{sequence}</span> <code>{type}</code>{' '}
          <span className="quiet">{aboutOf(event, workflow, child)}</span> <Ago at={timestamp} />
        </summary>
        {isOpen && (
          <>
            <p className="toolbar">
              <CopyLink to={{ name: 'run', runId, tab: 'events', event: sequence }} what="event" />
              <span className="quiet">
                {new Date(timestamp).toLocaleString()},{' '}
                {event.origin === 'input' ? 'from outside' : 'follows from what came before'}
              </span>
              {child !== undefined && <Link to={{ name: 'run', runId: child.id }}>Its child run</Link>}
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

/** Length of an event's text in its row. */
const ABOUT_CHARACTERS = 100;

/** The declared text of an event; else the one word that tells it from others of its type, or its short fields. */
function aboutOf(
  { type, payload: facts }: WorkflowEvent,
  workflow: WorkflowInfo | undefined,
  child: RunView | undefined,
): string {
  if (child !== undefined) return shortened(sanitizeText(child.originalRequest), ABOUT_CHARACTERS);
  const declared = eventInfoOf(workflow, type) === undefined ? null : ownEventText({ type, payload: facts }, workflow);
  if (declared !== null) return declared;
  const words = [facts['activity'], facts['stage'], facts['gate'], facts['by'], facts['message'], facts['summary']];
  const first = words.find((word) => typeof word === 'string' && word !== '');
  return shortened(typeof first === 'string' ? sanitizeText(first) : fieldsText(facts), ABOUT_CHARACTERS);
}
