/** The lines of one changed file, with room for comments where they can become feedback. */
import type { PatchFile, PatchLine, ReviewNote } from '@autonomous/shared';
import { Fragment, type KeyboardEvent, useState } from 'react';
import { valueOf } from './elements.ts';

const MARKS = { same: ' ', added: '+', removed: '−', note: '' } as const;

export interface Margin {
  /** Comments on this file. */
  readonly notes: readonly ReviewNote[];
  readonly onAdd: (line: number, text: string) => void;
  readonly onRemove: (note: ReviewNote) => void;
}

export function Patch({ file, margin }: { readonly file: PatchFile; readonly margin?: Margin | undefined }) {
  const [writesAt, setWritesAt] = useState<number | null>(null);
  if (file.isBinary) return <p className="quiet">A binary file.</p>;
  if (file.hunks.length === 0) return <p className="quiet">No line differs.</p>;
  const first = file.hunks.flatMap(({ lines }) => lines).find(({ after }) => after !== undefined)?.after;
  return (
    <div
      className="patch"
      tabIndex={0}
      role="region"
      aria-label={`Changes of ${file.path}`}
      onKeyDown={margin === undefined ? undefined : moveAlong}
    >
      <table>
        {file.hunks.map((hunk, index) => (
          <tbody key={index}>
            <tr className="hunk">
              <td colSpan={3} />
              <td>{hunk.heading}</td>
            </tr>
            {hunk.lines.map((line) => (
              <Fragment key={`${line.before ?? ''}:${line.after ?? ''}:${line.kind}`}>
                <Line
                  line={line}
                  onComment={margin === undefined ? undefined : setWritesAt}
                  isFirst={line.after === first}
                />
                {margin !== undefined && line.after !== undefined && (
                  <Notes
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
            +
          </button>
        )}
      </td>
      <td className="mark">{MARKS[kind]}</td>
      <td className="code">{text}</td>
    </tr>
  );
}

function Notes({
  line,
  margin,
  isWriting,
  onClose,
}: {
  readonly line: number;
  readonly margin: Margin;
  readonly isWriting: boolean;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState('');
  const own = margin.notes.filter((note) => note.line === line);
  if (own.length === 0 && !isWriting) return null;
  const add = (): void => {
    margin.onAdd(line, text.trim());
    setText('');
    onClose();
  };
  return (
    <tr className="notes">
      <td colSpan={3} />
      <td>
        {own.map((note, index) => (
          <p key={index} className="note">
            <span>{note.text}</span>{' '}
            <button type="button" className="link" onClick={() => margin.onRemove(note)}>
              Remove
            </button>
          </p>
        ))}
        {isWriting && (
          <div className="field">
            <vscode-textarea
              ref={(field) => field?.focus()}
              rows={3}
              resize="vertical"
              label={`What should be different in line ${line}?`}
              placeholder="Sent to the agent when you send the result back"
              value={text}
              oninput={(event) => setText(valueOf(event))}
            />
            <div className="actions">
              <vscode-button disabled={text.trim() === ''} onClick={add}>
                Add
              </vscode-button>
              <vscode-button secondary onClick={onClose}>
                Cancel
              </vscode-button>
            </div>
          </div>
        )}
      </td>
    </tr>
  );
}
