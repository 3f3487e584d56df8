/** Answers in a review thread of a pull request, and its resolution. A typed text stays until the forge has it. */
import { useState } from 'react';
import { valueOf } from '../components/elements.ts';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';

interface ThreadActionsProps {
  readonly runId: string;
  readonly threadId: string;
  /** Of the thread, for those who do not see where the field stands. */
  readonly place: string;
  readonly isResolved: boolean;
  readonly onReplied: () => void;
  readonly onResolved: () => void;
}

interface Draft {
  readonly text: string;
  /** Idempotency key: the same text that is sent again is said once. */
  readonly key: string;
}

/** Answers that were begun, by thread: they outlive a change of the tab. */
const begun = new Map<string, Draft>();

export function ThreadActions({ runId, threadId, place, isResolved, onReplied, onResolved }: ThreadActionsProps) {
  const { client } = useHost();
  const [draft, setDraft] = useState<Draft>(() => begun.get(threadId) ?? newDraft(''));
  const [underWay, setUnderWay] = useState<'reply' | 'resolve' | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const keep = (next: Draft): void => {
    if (next.text === '') begun.delete(threadId);
    else begun.set(threadId, next);
    setDraft(next);
  };
  const perform = async (what: 'reply' | 'resolve', work: () => Promise<void>): Promise<void> => {
    setUnderWay(what);
    setFault(null);
    try {
      await work();
    } catch (error) {
      setFault(`${what === 'reply' ? 'Not answered' : 'Not resolved'}: ${messageOf(error)}`);
    }
    setUnderWay(null);
  };
  const reply = () =>
    perform('reply', async () => {
      await client.replyToThread(runId, threadId, draft.text.trim(), draft.key);
      keep(newDraft(''));
      onReplied();
    });
  const resolve = () =>
    perform('resolve', async () => {
      await client.resolveThread(runId, threadId);
      onResolved();
    });
  return (
    <div className="field">
      <vscode-textarea
        rows={2}
        resize="vertical"
        label={`Answer in the thread at ${place}`}
        placeholder="Answer at the forge"
        disabled={underWay === 'reply'}
        value={draft.text}
        oninput={(event) => keep(newDraft(valueOf(event)))}
      />
      <div className="actions">
        <vscode-button disabled={underWay !== null || draft.text.trim() === ''} onClick={() => void reply()}>
          {underWay === 'reply' ? 'Answering…' : 'Answer'}
        </vscode-button>
        {!isResolved && (
          <vscode-button secondary disabled={underWay !== null} onClick={() => void resolve()}>
            {underWay === 'resolve' ? 'Resolving…' : 'Resolve'}
          </vscode-button>
        )}
      </div>
      {fault !== null && (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

function newDraft(text: string): Draft {
  return { text, key: crypto.randomUUID() };
}
