/** A document corrected by the person who reviews it: written here, drawn as it is written, approved as it then is. */
import { type DocumentInfo, type Gate, shownAt, wordsOf } from '@autonomous/shared';
import { useDeferredValue, useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';
import { Document } from '../components/document.tsx';
import { valueOf } from '../components/elements.ts';
import { ownDecisions } from '../components/own-decisions.ts';

export function EditedDocument({
  info,
  gate,
  text,
  onClose,
}: {
  readonly info: DocumentInfo;
  readonly gate: Gate;
  readonly text: string;
  readonly onClose: () => void;
}) {
  const { client, runs } = useHost();
  const [edited, setEdited] = useState(text);
  // Drawing waits for whoever writes.
  const shown = useDeferredValue(edited);
  const [fault, setFault] = useState<string | null>(null);
  const [isSent, setSent] = useState(false);
  const approve = async (): Promise<void> => {
    setSent(true);
    setFault(null);
    ownDecisions.add(gate.id);
    try {
      const run = await client.decideGate(gate.id, { decision: 'approve', editedPlan: edited, ...shownAt(gate) });
      runs.trigger.listed({ runs: [run] });
      onClose();
    } catch (error) {
      ownDecisions.delete(gate.id);
      // The text stays: it is the person's work.
      setFault(messageOf(error));
      setSent(false);
    }
  };
  return (
    <section aria-label={`Edit the ${wordsOf(info.title)}`}>
      <div className="beside">
        <vscode-textarea
          className="editor"
          label={`The ${wordsOf(info.title)}, in Markdown${info.drawnAs === 'diagrams' ? ' with Mermaid' : ''}`}
          rows={28}
          resize="vertical"
          value={edited}
          oninput={(event) => setEdited(valueOf(event))}
        />
        <Document text={shown} title="Preview" />
      </div>
      <div className="actions">
        <vscode-button disabled={isSent || edited.trim() === '' || edited === text} onClick={() => void approve()}>
          Approve as edited
        </vscode-button>
        <vscode-button secondary disabled={isSent} onClick={onClose}>
          Leave it as it was
        </vscode-button>
      </div>
      {fault !== null && (
        <p className="fault" role="alert">
          Not approved: {fault}
        </p>
      )}
    </section>
  );
}
