/** Comments beside one line of a result: read, written, changed and deleted where they stand. */
import type { ReviewComment } from '@autonomous/shared';
import { type KeyboardEvent, type Ref, useRef, useState } from 'react';
import { messageOf } from '../../hosts/messages.ts';
import { type DraftKey, draftOf, drafts } from '../drafts.ts';
import { valueOf } from '../elements.ts';
import { closeField, focusOpened } from '../focus-target.ts';

/**
 * Comments on one file and the actions on them. An action resolves when the server has stored the change, and rejects when
 * the server refuses it.
 */
export interface Margin {
  /** Comments on this file that are not sent yet. */
  readonly comments: readonly ReviewComment[];
  /** Absent while no gate is open that takes comments. */
  readonly onAdd: ((line: number, text: string) => Promise<void>) | undefined;
  /** Key of the draft beside a line. */
  readonly draftAt: (line: number) => DraftKey;
  readonly onEdit: (comment: ReviewComment, text: string) => Promise<void>;
  readonly onDelete: (comment: ReviewComment) => Promise<void>;
}

export function LineComments({
  line,
  margin,
  field,
  onClose,
}: {
  readonly line: number;
  readonly margin: Margin;
  /** `opened`: by its button, and takes the focus. `kept`: open since it has a draft. `null`: closed. */
  readonly field: 'opened' | 'kept' | null;
  readonly onClose: () => void;
}) {
  const { comments, onAdd } = margin;
  const own = comments.filter((comment) => comment.line === line);
  if (own.length === 0 && field === null) return null;
  return (
    <tr className="notes">
      <td colSpan={3} />
      <td>
        {own.map((comment) => (
          <LineComment key={comment.id} comment={comment} margin={margin} />
        ))}
        {field !== null && onAdd !== undefined && (
          <CommentField
            ref={field === 'opened' ? focusOpened : null}
            draft={margin.draftAt(line)}
            label={`What should be different in line ${line}?`}
            verb="Add"
            onSend={(text) => onAdd(line, text)}
            onClose={onClose}
          />
        )}
      </td>
    </tr>
  );
}

/** One comment with its author, and the ways to change it. */
export function LineComment({
  comment,
  margin,
}: {
  readonly comment: ReviewComment;
  readonly margin: Pick<Margin, 'onEdit' | 'onDelete'>;
}) {
  const edit = useRef<HTMLButtonElement>(null);
  const [isEditing, setEditing] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  if (isEditing)
    return (
      <CommentField
        ref={focusOpened}
        draft={{ owner: comment.id, name: 'text' }}
        label={`The comment on line ${comment.line}`}
        verb="Save"
        text={comment.text}
        onSend={(text) => margin.onEdit(comment, text)}
        onClose={() => closeField(() => setEditing(false), edit)}
      />
    );
  return (
    <div className="note">
      <p dir="auto">{comment.text}</p>
      <p className="quiet">
        {comment.by}, not sent yet{' '}
        <button ref={edit} type="button" className="link" onClick={() => setEditing(true)}>
          Edit
        </button>{' '}
        <button
          type="button"
          className="link"
          onClick={() =>
            void margin.onDelete(comment).then(
              () => drafts.trigger.dropped({ owner: comment.id }),
              (error: unknown) => setFault(messageOf(error)),
            )
          }
        >
          Remove
        </button>
      </p>
      {fault !== null && (
        <p className="fault" role="alert">
          Not removed: {fault}
        </p>
      )}
    </div>
  );
}

/** Field for a comment. Typed text is kept as a draft until the server has it or the person cancels it. */
function CommentField({
  ref,
  draft,
  label,
  verb,
  text: before = '',
  onSend,
  onClose,
}: {
  readonly ref: Ref<HTMLElement>;
  readonly draft: DraftKey;
  readonly label: string;
  readonly verb: string;
  readonly text?: string;
  readonly onSend: (text: string) => Promise<void>;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState(() => draftOf(draft) || before);
  const [isSent, setSent] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const isEmpty = text.trim() === '';
  const keep = (next: string): void => {
    setText(next);
    drafts.trigger.wrote({ ...draft, text: next });
  };
  const end = (): void => {
    drafts.trigger.wrote({ ...draft, text: '' });
    onClose();
  };
  const send = (): void => {
    if (isSent || isEmpty) return;
    setSent(true);
    setFault(null);
    onSend(text.trim()).then(end, (error: unknown) => {
      setFault(messageOf(error));
      setSent(false);
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Escape') onClose();
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
    else return;
    event.preventDefault();
  };
  return (
    <div className="field" onKeyDown={onKeyDown}>
      <vscode-textarea
        ref={ref}
        rows={3}
        resize="vertical"
        label={label}
        placeholder="Sent to the agent with the next decision that has text"
        value={text}
        oninput={(event) => keep(valueOf(event))}
      />
      <div className="actions">
        <vscode-button disabled={isSent || isEmpty} onClick={send}>
          {verb}
        </vscode-button>
        <vscode-button secondary disabled={isSent} onClick={end}>
          Cancel
        </vscode-button>
      </div>
      {fault !== null && (
        <p className="fault" role="alert">
          Not kept: {fault}
        </p>
      )}
    </div>
  );
}
