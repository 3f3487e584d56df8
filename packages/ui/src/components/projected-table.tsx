/** A table of a projection: filtered by words, and its first rows until more are asked for. */
import type { ProjectedText, TableSection } from '@autonomous/shared';
import { useDeferredValue, useState } from 'react';
import { FactsTable } from './facts-table.tsx';
import { ProjectedLine } from './projected-line.tsx';

/** Rows that are shown at first, and with each request for more. */
const STEP = 50;
const SHORT = 12;
/** Fewer rows need no filter. */
const FILTERED_FROM = 8;

export function ProjectedTable({ section: { title, columns, rows, total } }: { readonly section: TableSection }) {
  const [most, setMost] = useState(STEP);
  const [words, setWords] = useState('');
  const wanted = useDeferredValue(words);
  const found = rowsWith(rows, wanted);
  const shown = found.slice(0, most);
  return (
    <>
      {rows.length >= FILTERED_FROM && (
        <p className="toolbar">
          <label>
            Filter{' '}
            <input
              type="search"
              value={words}
              aria-label={`Filter: ${title}`}
              onChange={({ target }) => {
                setWords(target.value);
                setMost(STEP);
              }}
            />
          </label>
          <span className="quiet" role="status">
            {wanted.trim() === '' ? '' : `${found.length} of ${rows.length}`}
          </span>
        </p>
      )}
      <FactsTable label={title} head={columns}>
        {shown.map((row, index) => (
          <tr key={`${index} ${row[0]?.text ?? ''}`}>
            {row.map((cell, column) =>
              column === 0 ? (
                <th key={columns[column]} scope="row">
                  <ProjectedLine line={cell} />
                </th>
              ) : (
                <td key={columns[column]} className={isShort(cell) ? 'short' : undefined}>
                  <ProjectedLine line={cell} />
                </td>
              ),
            )}
          </tr>
        ))}
      </FactsTable>
      {found.length > shown.length && (
        <p>
          <button type="button" className="link" onClick={() => setMost(most + STEP * 4)}>
            Show more: {found.length - shown.length} left
          </button>
        </p>
      )}
      {total > rows.length && (
        <p className="quiet">
          {title}: the first {rows.length} of {total}.
        </p>
      )}
    </>
  );
}

/** Hashes and counts stay on one line. */
function isShort({ text, note = '' }: ProjectedText): boolean {
  return note === '' && text.length <= SHORT;
}

/** Rows with all of the words, in any of their cells and in any case. */
export function rowsWith(rows: TableSection['rows'], words: string): TableSection['rows'] {
  const wanted = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (wanted.length === 0) return rows;
  return rows.filter((row) => {
    const text = row
      .map(({ text, note = '', href = '' }) => `${text} ${note} ${href}`)
      .join(' ')
      .toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
