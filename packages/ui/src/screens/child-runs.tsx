/** Links between a run and its child runs. */
import type { RunView } from '@autonomous/shared';
import { useSelector } from '@xstate/store-react';
import { useMemo } from 'react';
import { useHost, useWorkflow } from '../hosts/host.ts';
import { gateLine, gateTitle, runTitle, stageTitle, statusLabel } from '../labels.ts';
import { childrenByParent, familyOf, progressText, waitingText } from '../run-children.ts';
import { isWaiting } from '../run-order.ts';
import { Link } from '../components/link.tsx';
import { isOver, StatusIcon } from '../components/status.tsx';
import { Ago } from '../components/times.tsx';

/** Leads from a child run to the run that started it; nothing for any other run. */
export function ParentLink({ run }: { readonly run: RunView }) {
  const { runs } = useHost();
  const parentId = run.parent?.runId;
  const parent = useSelector(runs, ({ context }) => (parentId === undefined ? undefined : context.runs[parentId]));
  if (parentId === undefined) return null;
  return (
    <p className="quiet parent">
      Child run of{' '}
      <Link to={{ name: 'run', runId: parentId }}>{parent === undefined ? parentId : runTitle(parent)}</Link>
    </p>
  );
}

/** Links to the open gates of all runs below a run; nothing where none of them waits for a person. */
export function WaitingChildren({ run }: { readonly run: RunView }) {
  const waiting = useFamily(run).filter((each) => each.id !== run.id && isWaiting(each));
  if (waiting.length === 0) return null;
  return (
    <section className="gate" aria-labelledby={`waiting-below-${run.id}`}>
      <h2 id={`waiting-below-${run.id}`}>{waitingText(waiting.length)}</h2>
      <ul className="waiting-below">
        {waiting.map((child) => (
          <WaitingChild key={child.id} run={child} />
        ))}
      </ul>
    </section>
  );
}

function WaitingChild({ run }: { readonly run: RunView }) {
  const workflow = useWorkflow(run);
  if (run.gate === null) return null;
  return (
    <li>
      <StatusIcon status={run.status} />{' '}
      <Link to={{ name: 'run', runId: run.id, gate: run.gate.id }}>{runTitle(run, workflow)}</Link>{' '}
      <span className="quiet">{gateTitle(run.gate.kind, run.gate.reason, workflow)}</span>
    </li>
  );
}

/** How far a run came, with the child runs below it in the order in which they were started; nothing where it has neither. */
export function ChildRuns({ run }: { readonly run: RunView }) {
  const children = useChildren(run);
  const progress = progressText(run, children, useWorkflow(run));
  if (progress === null) return null;
  return (
    <>
      <h2>
        {children.length === 0 ? 'Progress' : 'Child runs'} <span className="quiet">{progress}</span>
      </h2>
      <ProgressBar run={run} />
      <ListOf runs={children} />
    </>
  );
}

/** The same without the child runs: what a workflow projects stands between the two. */
export function RunProgress({ run }: { readonly run: RunView }) {
  const progress = progressText(run, useChildren(run), useWorkflow(run));
  if (progress === null) return null;
  return (
    <>
      <h2>
        Progress <span className="quiet">{progress}</span>
      </h2>
      <ProgressBar run={run} />
    </>
  );
}

/** The child runs alone; nothing where there are none. */
export function ListOfChildRuns({ run }: { readonly run: RunView }) {
  const children = useChildren(run);
  if (children.length === 0) return null;
  return (
    <>
      <h2>
        Child runs <span className="quiet">{children.length}</span>
      </h2>
      <ListOf runs={children} />
    </>
  );
}

function ProgressBar({ run: { progress } }: { readonly run: RunView }) {
  if (progress === undefined || progress.total === 0) return null;
  return <progress aria-label="Progress of the run" max={progress.total} value={progress.done} />;
}

function ListOf({ runs }: { readonly runs: readonly RunView[] }) {
  if (runs.length === 0) return null;
  return (
    <ul className="children">
      {runs.map((run) => (
        <Child key={run.id} run={run} />
      ))}
    </ul>
  );
}

/** States that a run has nothing to show in a tab, and leads to its child runs where it has some. */
export function NothingYet({
  run,
  text,
  ofItself,
}: {
  readonly run: RunView;
  /** For a run without child runs. */
  readonly text: string;
  /** For a run with child runs: the same of the run itself. */
  readonly ofItself: string;
}) {
  if (useChildren(run).length === 0) return text;
  return (
    <>
      {ofItself} <Link to={{ name: 'run', runId: run.id, tab: 'overview' }}>See its child runs</Link>.
    </>
  );
}

function useChildren(run: RunView): readonly RunView[] {
  const { runs } = useHost();
  const byId = useSelector(runs, ({ context }) => context.runs);
  return useMemo(() => childrenByParent(Object.values(byId)).get(run.id) ?? [], [byId, run.id]);
}

/** A run and all runs below it, as far as they are known here, itself first. */
export function useFamily(run: RunView): readonly RunView[] {
  const { runs } = useHost();
  const byId = useSelector(runs, ({ context }) => context.runs);
  return useMemo(() => familyOf(run, childrenByParent(Object.values(byId))), [byId, run]);
}

/** Child runs of a run by the key of the activity that each one is. */
export function useChildrenByKey(run: RunView): ReadonlyMap<string, RunView> {
  const children = useChildren(run);
  return useMemo(() => new Map(children.map((child) => [child.parent?.key ?? '', child])), [children]);
}

function Child({ run }: { readonly run: RunView }) {
  const workflow = useWorkflow(run);
  return (
    <li>
      <Link className="run-row" to={{ name: 'run', runId: run.id }}>
        <StatusIcon status={run.status} withFailures={run.failures !== undefined} />
        <span className="request">{runTitle(run, workflow)}</span>
        <span className="facts">
          {isWaiting(run) && run.gate !== null ? (
            <strong>{gateLine(run.gate, workflow)}</strong>
          ) : (
            <span>
              {statusLabel(run, workflow)}
              {isOver(run) || run.currentStage === null ? '' : ` · ${stageTitle(run.currentStage, workflow)}`}
            </span>
          )}
          <Ago at={run.gate?.openedAt ?? run.updatedAt} />
        </span>
      </Link>
    </li>
  );
}
