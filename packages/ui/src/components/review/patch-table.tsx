/** The lines of one changed file, with room for comments where they can become feedback. */
import { binaryText, leftOutText, type PatchLine, type ReviewedFile } from '@autonomous/shared/presentation';
import { type KeyboardEvent, useRef, useState } from 'react';
import { draftOf } from '../drafts.ts';
import { closeField } from '../focus-target.ts';
import { Icon } from '../icon.tsx';
import { LineComments, type Margin } from './line-comments.tsx';

const NOT_SENT = 'Not in what the server sent.';
const MARKS = { same: ' ', added: '+', removed: '−', note: '' } as const;

export function Patch({ file, margin }: { readonly file: ReviewedFile; readonly margin?: Margin | undefined }) {
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
              <Line
                key={`${line.before ?? ''}:${line.after ?? ''}:${line.kind}`}
                line={line}
                margin={margin}
                isFirst={line.after === first}
              />
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
  margin,
  isFirst,
}: {
  readonly line: PatchLine;
  readonly margin: Margin | undefined;
  readonly isFirst: boolean;
}) {
  const button = useRef<HTMLButtonElement>(null);
  const [field, setField] = useState<'opened' | 'kept' | null>(() =>
    after !== undefined && margin !== undefined && draftOf(margin.draftAt(after)) !== '' ? 'kept' : null,
  );
  return (
    <>
      <tr className={kind}>
        <td className="number">{before}</td>
        <td className="number">
          {after}
          {margin?.onAdd !== undefined && after !== undefined && (
            <button
              ref={button}
              type="button"
              className="plus"
              tabIndex={isFirst ? 0 : -1}
              aria-label={`Comment on line ${after}`}
              aria-expanded={field !== null}
              onClick={() => setField(field === null ? 'opened' : null)}
            >
              <Icon name="comment" />
            </button>
          )}
        </td>
        <td className="mark">{MARKS[kind]}</td>
        <td className="code">{text}</td>
      </tr>
      {margin !== undefined && after !== undefined && (
        <LineComments
          line={after}
          margin={margin}
          field={field}
          onClose={() => closeField(() => setField(null), button)}
        />
      )}
    </>
  );
}
