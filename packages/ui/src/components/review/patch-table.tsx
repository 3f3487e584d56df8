/** The lines of one changed file, with room for comments where they can become feedback. */
import { binaryText, leftOutText, type PatchLine, type ReviewedFile } from '@autonomous/shared/presentation';
import { Fragment, type KeyboardEvent, useState } from 'react';
import { Icon } from '../icon.tsx';
import { LineComments, type Margin } from './line-comments.tsx';

const NOT_SENT = 'Not in what the server sent.';
const MARKS = { same: ' ', added: '+', removed: '−', note: '' } as const;

export function Patch({ file, margin }: { readonly file: ReviewedFile; readonly margin?: Margin | undefined }) {
  const [writesAt, setWritesAt] = useState<number | null>(null);
  const hunks = file.patch?.hunks ?? [];
  const leftOut = leftOutText(file);
  if (hunks.length === 0)
    return (
      <p className="quiet">{leftOut ?? binaryText(file) ?? (file.patch === null ? NOT_SENT : 'No line differs.')}</p>
    );
  const first = hunks.flatMap(({ lines }) => lines).find(({ after }) => after !== undefined)?.after;
  return (
    <div
      className="patch"
      tabIndex={0}
      role="region"
      aria-label={`Changes of ${file.path}`}
      onKeyDown={margin === undefined ? undefined : moveAlong}
    >
      <table>
        {hunks.map((hunk, index) => (
          <tbody key={index}>
            <tr className="hunk">
              <td colSpan={3} />
              <td>{hunk.heading}</td>
            </tr>
            {hunk.lines.map((line) => (
              <Fragment key={`${line.before ?? ''}:${line.after ?? ''}:${line.kind}`}>
                <Line
                  line={line}
                  onComment={margin?.onAdd === undefined ? undefined : setWritesAt}
                  isFirst={line.after === first}
                />
                {margin !== undefined && line.after !== undefined && (
                  <LineComments
                    line={line.after}
                    margin={margin}
                    isWriting={writesAt === line.after}
                    onClose={() => setWritesAt(null)}
                  />
                )}
              </Fragment>
            ))}
          </tbody>
        ))}
      </table>
      {leftOut !== null && <p className="left-out">{leftOut}</p>}
    </div>
  );
}

/** From one line's button to the next: a large file is one stop of the tab key. */
function moveAlong(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !(event.target instanceof HTMLElement) || !event.target.classList.contains('plus')) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('.plus')];
  all[all.indexOf(event.target) + step]?.focus();
  event.preventDefault();
}

function Line({
  line: { kind, text, before, after },
  onComment,
  isFirst,
}: {
  readonly line: PatchLine;
  readonly onComment: ((line: number) => void) | undefined;
  readonly isFirst: boolean;
}) {
  return (
    <tr className={kind}>
      <td className="number">{before}</td>
      <td className="number">
        {after}
        {onComment !== undefined && after !== undefined && (
          <button
            type="button"
            className="plus"
            tabIndex={isFirst ? 0 : -1}
            aria-label={`Comment on line ${after}`}
            onClick={() => onComment(after)}
          >
            <Icon name="comment" />
          </button>
        )}
      </td>
      <td className="mark">{MARKS[kind]}</td>
      <td className="code">{text}</td>
    </tr>
  );
}
