/** Runs side by side: a column each, under the request that it began with. */
import type { RunView } from '@autonomous/shared';
import type { ReactNode } from 'react';
import type { RunTab } from '../bridge.ts';
import { Link } from './link.tsx';

export interface RunRow {
  readonly key: string;
  readonly title: ReactNode;
  readonly show: (run: RunView) => ReactNode;
}

export interface RunTableProps {
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly runs: readonly RunView[];
  /** Where the head of a column leads to. */
  readonly tab?: RunTab;
  readonly rows: readonly RunRow[];
}

export function RunTable({ label, runs, tab, rows }: RunTableProps) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table className="compare">
        <thead>
          <tr>
            <td />
            {runs.map((run) => (
              <th key={run.id} scope="col">
                <Link to={{ name: 'run', runId: run.id, ...(tab === undefined ? {} : { tab }) }}>
                  {run.originalRequest}
                </Link>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, title, show }) => (
            <tr key={key}>
              <th scope="row">{title}</th>
              {runs.map((run) => (
                <td key={run.id}>{show(run)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Rows that are called by words alone. */
export function runRows(rows: readonly (readonly [title: string, show: RunRow['show']])[]): readonly RunRow[] {
  return rows.map(([title, show]) => ({ key: title, title, show }));
}
