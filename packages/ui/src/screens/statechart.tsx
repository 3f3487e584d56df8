/** The machine that drives a run: where it is, how it came there, and what can happen next. */
import type { RunView, Statechart } from '@autonomous/shared';
import { withoutTerminal } from '@autonomous/shared/presentation';
import { useHost, useWorkflow } from '../hosts/host.ts';
import { statusLabel } from '../labels.ts';
import { ChildRuns, useChildrenByKey } from './child-runs.tsx';
import { Diagram } from '../components/diagram/diagram.tsx';
import { Link } from '../components/link.tsx';
import { Loading, useLoaded } from '../components/loading.tsx';
import { Ago } from '../components/times.tsx';

export function StatechartView({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const byKey = useChildrenByKey(run);
  const chart = useLoaded(`${run.id} ${run.lastSequence}`, () => client.getStatechart(run.id));
  return (
    <section aria-label="Statechart">
      <Loading of={chart} what="The statechart">
        {(value) => (
          <>
            <Diagram isOwn source={value.mermaid} title={`Statechart of ${value.workflow}, version ${value.version}`} />
            <ChildRuns run={run} />
            <Moves runId={run.id} chart={value} byKey={byKey} />
          </>
        )}
      </Loading>
    </section>
  );
}

interface MovesProps {
  readonly runId: string;
  readonly chart: Pick<Statechart, 'possible' | 'path' | 'changes'>;
  readonly byKey: ReturnType<typeof useChildrenByKey>;
}

/** Possible next events, if there are any, and past changes of state: newest first, numbered from the oldest. */
export function Moves({ runId, chart, byKey }: MovesProps) {
  const { signals, timers, activities } = chart.possible;
  return (
    <>
      {signals.length + timers.length + activities.length > 0 && (
        <>
          <h2>Can happen now</h2>
          <ul className="possible">
            {signals.map(({ type, decisions }) => (
              <li key={type}>
                <code>{type}</code> {decisions.length > 0 && `by ${decisions.join(', ')}`}
              </li>
            ))}
            {timers.map(({ event, dueAt }) => (
              <li key={`${event} ${dueAt}`}>
                <code>{event}</code> at {new Date(dueAt).toLocaleString()}
              </li>
            ))}
            {activities.map(({ key, id }) => (
              <AtWork key={key} id={id} child={byKey.get(key)} />
            ))}
          </ul>
        </>
      )}
      <h2>
        The path taken{' '}
        {chart.changes > chart.path.length && (
          <span className="quiet">
            (the newest {chart.path.length} of {chart.changes})
          </span>
        )}
      </h2>
      <ol className="path" reversed start={chart.changes}>
        {chart.path.toReversed().map(({ sequence, event, to, at }) => (
          <li key={sequence}>
            <code>{event}</code> → <strong>{stateName(to)}</strong>{' '}
            <span className="quiet">
              <Link to={{ name: 'run', runId, tab: 'events', event: sequence }}>event {sequence}</Link>, <Ago at={at} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

interface AtWorkProps {
  readonly id: string;
  /** The child run that the activity is; absent for any other activity. */
  readonly child: RunView | undefined;
}

function AtWork({ id, child }: AtWorkProps) {
  const workflow = useWorkflow(child);
  return (
    <li>
      <code>{id}</code>{' '}
      {child === undefined ? (
        'is at work'
      ) : (
        <>
          is the child run{' '}
          <Link to={{ name: 'run', runId: child.id }}>{withoutTerminal(child.originalRequest) || child.id}</Link>:{' '}
          {statusLabel(child, workflow)}
        </>
      )}
    </li>
  );
}

/** `a.b` for nested states, `a.b + a.c` for parallel ones. */
export function stateName(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '–';
  return Object.entries(value)
    .map(([name, inner]) => {
      const below = stateName(inner);
      return below === '' || below === '–' ? name : `${name}.${below}`;
    })
    .join(' + ');
}
