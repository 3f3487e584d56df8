/** Runs that try different ways, side by side: in figures, by their plans, their changes and their evidence. */
import { CHANGES_TYPE, moneyText, type RunView } from '@autonomous/shared';
import { durationText, outcomeText } from '@autonomous/shared/presentation';
import { useSelector } from '@xstate/store-react';
import { useMemo, useState } from 'react';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { tabsOf } from '../../run-tabs.ts';
import { messageOf } from '../../hosts/messages.ts';
import { gateLine, stageTitle } from '../../labels.ts';
import { Link } from '../../components/link.tsx';
import { Loading, useLoaded } from '../../components/loading.tsx';
import { type RunRow, runRows, RunTable } from '../../components/run-table.tsx';
import { isOver, StatusLine } from '../../components/status.tsx';
import { CompareChanges } from './compare-changes.tsx';
import { CompareEvidence } from './compare-evidence.tsx';
import { CompareDocuments } from './compare-documents.tsx';

const VIEWS = {
  figures: 'Figures',
  documents: 'Documents',
  changes: 'Changes',
  evidence: 'Evidence',
} as const;
type View = keyof typeof VIEWS;

export function Exploration({ explorationId }: { readonly explorationId: string }) {
  const { client, runs: store } = useHost();
  const byId = useSelector(store, ({ context }) => context.runs);
  const listed = useLoaded(explorationId, async () => {
    const { items } = await client.listRuns({ explorationId, limit: 200 });
    store.trigger.listed({ runs: items });
    return items.map(({ id }) => id);
  });
  const members = useMemo(
    () =>
      Object.values(byId)
        .filter((run) => run.explorationId === explorationId)
        .toSorted((one, other) => one.createdAt.localeCompare(other.createdAt) || one.id.localeCompare(other.id)),
    [byId, explorationId],
  );
  return (
    <section className="exploration" aria-label="Exploration">
      <h1>Approaches side by side</h1>
      <Loading of={listed} what="The runs">
        {() =>
          members.length === 0 ? (
            <p className="empty">There is no exploration {explorationId}.</p>
          ) : (
            <Compared runs={members} />
          )
        }
      </Loading>
    </section>
  );
}

export function Compared({ runs }: { readonly runs: readonly RunView[] }) {
  const [view, setView] = useState<View>('figures');
  const [first] = runs;
  const workflow = useWorkflow(first);
  const document = first === undefined ? undefined : tabsOf(first, workflow).find((tab) => tab.document !== undefined);
  return (
    <>
      <div className="tabs" role="group" aria-label="What to compare">
        {Object.entries(VIEWS).map(([name, title]) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === view}
            // The keys of the table are the views.
            onClick={() => setView(name as View)}
          >
            {name === 'documents' ? (document?.title ?? title) : title}
          </button>
        ))}
      </div>
      <Shown view={view} runs={runs} />
    </>
  );
}

function Shown({ view, runs }: { readonly view: View; readonly runs: readonly RunView[] }) {
  switch (view) {
    case 'figures':
      return <Figures runs={runs} />;
    case 'documents':
      return <CompareDocuments runs={runs} />;
    case 'changes':
      return <CompareChanges runs={runs} />;
    case 'evidence':
      return <CompareEvidence runs={runs} />;
    default:
      return view satisfies never;
  }
}

function Stage({ run }: { readonly run: RunView }) {
  // A run that was cancelled is in no stage any more.
  const stage = run.currentStage ?? run.stages.at(-1)?.stage ?? null;
  return stageTitle(stage, useWorkflow(run));
}

function WaitsFor({ run }: { readonly run: RunView }) {
  const workflow = useWorkflow(run);
  return run.gate === null ? '–' : gateLine(run.gate, workflow);
}

const ROWS = runRows([
  ['Status', (run) => <StatusLine run={run} />],
  ['Stage', (run) => <Stage run={run} />],
  ['Waits for', (run) => <WaitsFor run={run} />],
  ['Files changed', (run) => filesChanged(run)],
  ['Checks', (run) => checks(run)],
  ['Attempts at fixing', (run) => run.fixAttempts],
  ['Questions', (run) => run.clarificationCount],
  ['Time', (run) => durationText(Date.parse(run.completedAt ?? run.updatedAt) - Date.parse(run.createdAt))],
  ['Cost', (run) => moneyText(run.cost)],
  ['Tokens', (run) => (run.cost.inputTokens + run.cost.outputTokens).toLocaleString()],
]);

function Figures({ runs }: { readonly runs: readonly RunView[] }) {
  const choice: RunRow = {
    key: 'choose',
    title: 'Choose',
    show: (run) => <Choose run={run} others={runs.filter((other) => other !== run && !isOver(other))} />,
  };
  return <RunTable label="Comparison" runs={runs} rows={[choice, ...ROWS]} />;
}

/** Goes on with one; the others are ended, and their branches stay. */
function Choose({ run, others }: { readonly run: RunView; readonly others: readonly RunView[] }) {
  const { client, runs: store } = useHost();
  const [state, setState] = useState<'idle' | 'sure' | 'sent'>('idle');
  const [fault, setFault] = useState<string | null>(null);
  if (run.status === 'cancelled' || run.status === 'failed') return '–';
  if (others.length === 0) return run.status === 'completed' ? 'chosen' : 'continues';
  const choose = async (): Promise<void> => {
    setState('sent');
    try {
      const reason = `${run.id} was chosen instead`;
      const ended = await Promise.all(others.map(({ id }) => client.cancelRun(id, reason)));
      store.trigger.listed({ runs: ended });
    } catch (error) {
      setFault(messageOf(error));
    }
    setState('idle');
  };
  return (
    <>
      {state === 'idle' && (
        <vscode-button secondary onClick={() => setState('sure')}>
          Choose this one…
        </vscode-button>
      )}
      {state === 'sure' && (
        <div className="actions">
          <vscode-button onClick={() => void choose()}>
            {`End the other ${others.length === 1 ? 'one' : others.length}`}
          </vscode-button>
          <vscode-button secondary onClick={() => setState('idle')}>
            Keep all
          </vscode-button>
        </div>
      )}
      {state === 'sent' && <span role="status">Ending the others…</span>}
      {fault !== null && (
        <p className="fault" role="alert">
          Not all were ended: {fault}
        </p>
      )}
    </>
  );
}

function filesChanged(run: RunView): React.ReactNode {
  const code = run.artifacts.findLast(({ type }) => type === CHANGES_TYPE);
  if (code?.filesChanged === undefined) return '–';
  return <Link to={{ name: 'run', runId: run.id, tab: 'changes' }}>{code.filesChanged.length}</Link>;
}

function checks(run: RunView): React.ReactNode {
  const newest = run.evidence.at(-1)?.codeTree;
  const all = run.evidence.filter(({ codeTree }) => codeTree === newest);
  if (all.length === 0) return '–';
  const passed = all.filter((each) => each.passed).length;
  return (
    <Link to={{ name: 'run', runId: run.id, tab: 'evidence' }}>
      {outcomeText(all.find(({ rebuiltAt }) => rebuiltAt !== undefined) ?? {}, `${passed} of ${all.length} passed`)}
    </Link>
  );
}
