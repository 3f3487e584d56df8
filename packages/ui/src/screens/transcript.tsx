/** Live transcript of agents and checks, with a field for messages to a running agent. */
import type { Progress, RunView, TranscriptEntry } from '@autonomous/shared';
import { withoutTerminal } from '@autonomous/shared/presentation';
import { useSelector } from '@xstate/store-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';
import { valueOf } from '../components/elements.ts';
import { Loading, useLoaded } from '../components/loading.tsx';
import { isOver } from '../components/status.tsx';
import { useNow } from '../components/times.tsx';

const NONE: readonly Progress[] = [];
const SHOWN = 500;

type Line = Pick<TranscriptEntry, 'at' | 'activity' | 'kind' | 'text'> & {
  readonly role?: string | undefined;
  readonly model?: string | undefined;
};

export function Transcript({ run }: { readonly run: RunView }) {
  const { client, runs } = useHost();
  const live = useSelector(runs, ({ context }) => context.progress[run.id] ?? NONE);
  // Where the server is only asked now and then, nothing is told live.
  const isPolling = useSelector(runs, ({ context }) => context.connection.state === 'polling');
  const now = useNow();
  const tick = isPolling && !isOver(run) ? String(now) : '';
  // The stored transcript again with each stage: what was told live before this page was open is in it.
  const stored = useLoaded(`${run.id} ${run.stages.length} ${run.status} ${tick}`, () => client.getTranscript(run.id));
  return (
    <section aria-label="Transcript" className="transcript">
      {!isOver(run) && <Message run={run} />}
      <Loading of={stored} what="The transcript">
        {(entries) => <Lines stored={entries} live={live} />}
      </Loading>
    </section>
  );
}

function Lines({ stored, live }: { readonly stored: readonly TranscriptEntry[]; readonly live: readonly Progress[] }) {
  const lines = useMemo(() => mergedLines(stored, live), [stored, live]);
  const end = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  useEffect(() => {
    if (follows) end.current?.scrollIntoView({ block: 'nearest' });
  }, [lines, follows]);
  if (lines.length === 0) return <p className="empty">No agent output yet.</p>;
  return (
    <>
      <label className="follow">
        <input type="checkbox" checked={follows} onChange={({ target }) => setFollows(target.checked)} /> Follow
      </label>
      {lines.length > SHOWN && (
        <p className="quiet">
          The newest {SHOWN} of {lines.length} lines.
        </p>
      )}
      <ol className="lines" aria-live="off">
        {lines.slice(-SHOWN).map((line) => (
          <li key={keyOf(line)} className={line.kind}>
            <span className="who">{line.role ?? line.activity}</span>
            <span className="kind">{line.kind.replace('_', ' ')}</span>
            <pre tabIndex={0}>{withoutTerminal(line.text)}</pre>
          </li>
        ))}
      </ol>
      <div ref={end} />
    </>
  );
}

const keyOf = ({ at, activity, kind, text }: Line): string => `${at} ${activity} ${kind} ${text}`;

/** Stored lines, then live ones that are not stored yet. The same line has the same time and words in both. */
export function mergedLines(stored: readonly Line[], live: readonly Line[]): readonly Line[] {
  const seen = new Set<string>();
  return [...stored, ...live].filter((line) => {
    const key = keyOf(line);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function Message({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const [text, setText] = useState('');
  const [said, setSaid] = useState<string | null>(null);
  const send = (): void => {
    client.sendMessage(run.id, text.trim()).then(
      ({ unreached = [] }) => {
        setText('');
        const others = unreached.map(({ runId, why }) => ` Not sent to run ${runId}: ${why}`);
        setSaid(`Sent: the agent reads it at its next step.${others.join('')}`);
      },
      (error: unknown) => setSaid(`Not sent: ${messageOf(error)}`),
    );
  };
  return (
    <div className="message">
      <vscode-textfield
        label="Tell the agent something"
        placeholder="Message to the agent; it reads it at its next step"
        value={text}
        oninput={(event) => setText(valueOf(event))}
        onKeyDown={({ key }) => key === 'Enter' && text.trim() !== '' && send()}
      />
      <vscode-button secondary disabled={text.trim() === ''} onClick={send}>
        Send
      </vscode-button>
      <p role="status" className="quiet">
        {said}
      </p>
    </div>
  );
}
