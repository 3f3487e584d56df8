/** A table of figures under their headings, which scrolls by itself where it is wider than the page. */
import type { ReactNode } from 'react';

export interface FactsTableProps {
  /** Name of the table for screen readers. */
  readonly label: string;
  /** Visible caption. Absent: none. */
  readonly caption?: string;
  readonly head: readonly string[];
  /** Its rows. */
  readonly children: ReactNode;
}

export function FactsTable({ label, caption, head, children }: FactsTableProps) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table className="facts-table">
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
