/** Takes chosen files of one run into another, as a decision at that one's gate: what will happen is said before. */
import { type Decision, gateInfoOf, type RunView, takesFilesAt } from '@autonomous/shared';
import { type WorkflowCatalogState, workflowOf } from '@autonomous/shared/client';
import { useSelector } from '@xstate/store-react';
import { useId, useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';
import { valueOf } from '../components/elements.ts';
import { Link } from '../components/link.tsx';
import { ownDecisions } from '../components/own-decisions.ts';
import type { RunChanges } from './run/run-changes.ts';

export interface Choice {
  /** Where the files come from. */
  readonly runId: string;
  /** Commit that the person has seen. */
  readonly commit: string;
  readonly paths: readonly string[];
}

/** The decision with which files can come into what the run waits with now; `null` where none can. */
export function takesFiles({ gate, workflow }: RunView, catalog: WorkflowCatalogState): Decision | null {
  return gate === null ? null : takesFilesAt(gateInfoOf(workflowOf(catalog, workflow.name), gate.kind), gate);
}

type Sending =
  | { readonly state: 'open' | 'sent' }
  | { readonly state: 'refused'; readonly reason: string }
  | { readonly state: 'taken'; readonly run: RunView };

export function TakeFiles({
  choice,
  results,
  onDone,
}: {
  readonly choice: Choice;
  readonly results: readonly RunChanges[];
  readonly onDone: () => void;
}) {
  const { client, runs: store, workflows } = useHost();
  const catalog = useSelector(workflows, ({ context }) => context);
  const targets = results.filter(({ run }) => run.id !== choice.runId && takesFiles(run, catalog) !== null);
  const [targetId, setTargetId] = useState(targets[0]?.run.id ?? '');
  const [words, setWords] = useState('');
  const [sending, setSending] = useState<Sending>({ state: 'open' });
  const wordsId = useId();
  const source = results.find(({ run }) => run.id === choice.runId);
  const target = targets.find(({ run }) => run.id === targetId) ?? targets[0];

  if (sending.state === 'taken') {
    return (
      <p className="done" role="status">
        Taken: the result of <Link to={{ name: 'run', runId: sending.run.id }}>{sending.run.originalRequest}</Link> is
        being {words.trim() === '' ? 'checked again' : 'worked on from there'}.{' '}
        <button type="button" className="link" onClick={onDone}>
          Dismiss
        </button>
      </p>
    );
  }
  if (source === undefined || target === undefined) {
    return (
      <p className="quiet" role="status">
        No other approach waits with its result now.
      </p>
    );
  }

  const take = async (): Promise<void> => {
    const { gate } = target.run;
    const decision = takesFiles(target.run, catalog);
    if (gate === null || decision === null) return;
    setSending({ state: 'sent' });
    ownDecisions.add(gate.id);
    const said = words.trim();
    try {
      const run = await client.decideGate(gate.id, {
        decision,
        gateId: gate.id,
        take: choice,
        ...(said === '' ? {} : { [decision === 'reject' ? 'feedback' : 'notes']: said }),
      });
      store.trigger.listed({ runs: [run] });
      setSending({ state: 'taken', run });
    } catch (error) {
      ownDecisions.delete(gate.id);
      setSending({ state: 'refused', reason: messageOf(error) });
    }
  };

  return (
    <section className="gate" aria-label="Take files">
      <h2>
        Take {choice.paths.length === 1 ? 'a file' : `${choice.paths.length} files`} from “{source.run.originalRequest}”
      </h2>
      <ul>
        {choice.paths.map((path) => (
          <li key={path}>
            <code>{path}</code> <span className="quiet">{whatHappens(path, source, target)}</span>
          </li>
        ))}
      </ul>
      <fieldset disabled={sending.state === 'sent'}>
        <legend className="hidden">Where to, and what else</legend>
        {targets.length > 1 && (
          <label className="field">
            Into
            <vscode-single-select label="Into" value={target.run.id} onchange={(event) => setTargetId(valueOf(event))}>
              {targets.map(({ run }) => (
                <vscode-option key={run.id} value={run.id} selected={run.id === target.run.id}>
                  {run.originalRequest}
                </vscode-option>
              ))}
            </vscode-single-select>
          </label>
        )}
        <div className="field">
          <label htmlFor={wordsId}>What should the agent do with them? Without text they are only checked.</label>
          <vscode-textarea
            id={wordsId}
            rows={2}
            resize="vertical"
            label="What should the agent do with them?"
            value={words}
            oninput={(event) => setWords(valueOf(event))}
          />
        </div>
        <div className="actions">
          <vscode-button
            onClick={() => void take()}
          >{`Take into “${target.run.originalRequest.slice(0, 40)}”`}</vscode-button>
          <vscode-button secondary onClick={onDone}>
            Cancel
          </vscode-button>
        </div>
      </fieldset>
      <p role="status" className={sending.state === 'refused' ? 'fault' : 'quiet'}>
        {sending.state === 'sent' && 'Taking them…'}
        {sending.state === 'refused' && `Not taken: ${sending.reason}`}
      </p>
    </section>
  );
}

function whatHappens(path: string, source: RunChanges, target: RunChanges): string {
  const isDeleted = source.byPath.get(path)?.status === 'deleted';
  const own = target.byPath.get(path);
  if (isDeleted)
    return own === undefined ? 'is deleted' : `is deleted, with what this approach did to it (${own.status})`;
  if (own === undefined) return 'comes in';
  return own.status === 'deleted'
    ? 'comes back: this approach had deleted it'
    : 'takes the place of this approach’s own version';
}
