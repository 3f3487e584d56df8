/** The projection of a run: the sections that its workflow makes of it, drawn without knowing the workflow. */
import type { ListSection, PlotSection, ProjectionSection, RunProjection, RunView } from '@autonomous/shared';
import { useEffect, useId, useRef, useState } from 'react';
import { type Loaded, Loading, useLoaded } from '../../components/loading.tsx';
import { Plot } from '../../components/plot.tsx';
import { ProjectedLine } from '../../components/projected-line.tsx';
import { ProjectedTable } from '../../components/projected-table.tsx';
import { ProjectedTimeline } from '../../components/projected-timeline.tsx';
import { useHost } from '../../hosts/host.ts';

/** A run that is busy is asked for no more often. */
const PACE_MS = 1_000;
/** More of them are folded. */
const MOST_OPEN = 10;

/** Fetched anew as the run goes on. */
export function useProjection(run: RunView): Loaded<RunProjection> {
  const { client } = useHost();
  const sequence = usePaced(run.lastSequence, PACE_MS);
  return useLoaded(`${run.id} ${sequence}`, () => client.getProjection(run.id));
}

export function RunProjectionView({ projection }: { readonly projection: Loaded<RunProjection> }) {
  return (
    <Loading of={projection} what="The course of the run">
      {({ sections }) =>
        sections.length === 0 ? null : (
          <div className="projection">
            {sections.map((section) => (
              <Section key={section.id} section={section} />
            ))}
          </div>
        )
      }
    </Loading>
  );
}

function Section({ section }: { readonly section: ProjectionSection }) {
  const id = useId();
  if (section.kind === 'plot' && section.labels.length > 0) return <ProjectedPlot section={section} />;
  const total = section.kind === 'plot' ? 0 : section.total;
  return (
    <section aria-labelledby={id} className="projected">
      <h2 id={id}>
        {section.title}
        {total > 0 && (
          <>
            {' '}
            <span className="count">{total}</span>
          </>
        )}
      </h2>
      {total === 0 ? <p className="empty">{section.empty}</p> : <Content section={section} />}
    </section>
  );
}

function Content({ section }: { readonly section: ProjectionSection }) {
  switch (section.kind) {
    case 'plot':
      return null;
    case 'timeline':
      return <ProjectedTimeline section={section} />;
    case 'table':
      return <ProjectedTable section={section} />;
    case 'list':
      return <ProjectedList section={section} />;
    default:
      return section satisfies never;
  }
}

function ProjectedPlot({ section }: { readonly section: PlotSection }) {
  // The same lists while nothing in them has changed: the plot is drawn anew with others.
  const known = useSame(section);
  return <Plot {...known} kind="bars" measure="count" />;
}

function ProjectedList({ section: { title, items, total } }: { readonly section: ListSection }) {
  const [open, folded] = [items.slice(0, MOST_OPEN), items.slice(MOST_OPEN)];
  const listed = (some: ListSection['items']) => (
    <ul className="projected-items">
      {some.map((item, index) => (
        <li key={`${index} ${item.text}`}>
          <ProjectedLine line={item} />
          {item.quote !== undefined && <blockquote dir="auto">{item.quote}</blockquote>}
          {item.source !== undefined && (
            <p className="quiet">
              <ProjectedLine line={item.source} />
            </p>
          )}
          {item.items !== undefined && (
            <ul>
              {item.items.map((below, position) => (
                <li key={`${position} ${below.text}`}>
                  <ProjectedLine line={below} />
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ul>
  );
  return (
    <>
      {listed(open)}
      {folded.length > 0 && (
        <details>
          <summary>
            {folded.length} more: {title}
          </summary>
          {listed(folded)}
        </details>
      )}
      {total > items.length && <p className="quiet">The first {items.length} are shown.</p>}
    </>
  );
}

/** The value, at most so often: the first at once, then the newest after each pause. */
function usePaced<Value>(value: Value, paceMs: number): Value {
  const [shown, setShown] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const timer = setTimeout(
      () => {
        last.current = Date.now();
        setShown(value);
      },
      Math.max(0, last.current + paceMs - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [value, paceMs]);
  return shown;
}

/** The earlier value while the new one says the same. */
function useSame<Value>(value: Value): Value {
  const last = useRef(value);
  if (JSON.stringify(last.current) !== JSON.stringify(value)) last.current = value;
  return last.current;
}
