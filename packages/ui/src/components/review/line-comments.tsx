/** Comments beside one line of a result: read, written, changed and deleted where they stand. */
import type { ReviewComment } from '@autonomous/shared';
import { useState } from 'react';
import { messageOf } from '../../hosts/messages.ts';
import { valueOf } from '../elements.ts';

/**
 * Comments on one file and the actions on them. An action resolves when the server has stored the change, and rejects when
 * the server refuses it.
 */
export interface Margin {
  /** Comments on this file that are not sent yet. */
  readonly comments: readonly ReviewComment[];
  /** Absent while no gate is open that takes comments. */
  readonly onAdd: ((line: number, text: string) => Promise<void>) | undefined;
  readonly onEdit: (comment: ReviewComment, text: string) => Promise<void>;
  readonly onDelete: (comment: ReviewComment) => Promise<void>;
}

export function LineComments({
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
  const { comments, onAdd } = margin;
  const own = comments.filter((comment) => comment.line === line);
  if (own.length === 0 && !isWriting) return null;
  return (
    <tr className="notes">
      <td colSpan={3} />
      <td>
        {own.map((comment) => (
          <LineComment key={comment.id} comment={comment} margin={margin} />
        ))}
        {isWriting && onAdd !== undefined && (
          <CommentField
            label={`What should be different in line ${line}?`}
            verb="Add"
            text=""
            onSend={(text) => onAdd(line, text)}
            onClose={onClose}
          />
        )}
      </td>
    </tr>
  );
}

/** One comment with its author, and the ways to change it. */
export function LineComment({ comment, margin }: { readonly comment: ReviewComment; readonly margin: Margin }) {
  const [isEditing, setEditing] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  if (isEditing)
    return (
      <CommentField
        label={`The comment on line ${comment.line}`}
        verb="Save"
        text={comment.text}
        onSend={(text) => margin.onEdit(comment, text)}
        onClose={() => setEditing(false)}
      />
    );
  return (
    <div className="note">
      <p dir="auto">{comment.text}</p>
      <p className="quiet">
        {comment.by}, not sent yet{' '}
        <button type="button" className="link" onClick={() => setEditing(true)}>
          Edit
        </button>{' '}
        <button
          type="button"
          className="link"
          onClick={() => void margin.onDelete(comment).catch((error: unknown) => setFault(messageOf(error)))}
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

/** Field for a comment. Typed text stays until the server has it. */
function CommentField({
  label,
  verb,
  text: before,
  onSend,
  onClose,
}: {
  readonly label: string;
  readonly verb: string;
  readonly text: string;
  readonly onSend: (text: string) => Promise<void>;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState(before);
  const [isSent, setSent] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const send = (): void => {
    setSent(true);
    setFault(null);
    onSend(text.trim()).then(onClose, (error: unknown) => {
      setFault(messageOf(error));
      setSent(false);
    });
  };
  return (
    <div className="field">
      <vscode-textarea
        ref={(field) => field?.focus()}
        rows={3}
        resize="vertical"
        label={label}
        placeholder="Sent to the agent with the next decision that has text"
        value={text}
        oninput={(event) => setText(valueOf(event))}
      />
      <div className="actions">
        <vscode-button disabled={isSent || text.trim() === ''} onClick={send}>
          {verb}
        </vscode-button>
        <vscode-button secondary disabled={isSent} onClick={onClose}>
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
