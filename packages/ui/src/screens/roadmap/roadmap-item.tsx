/** An item of the roadmap in detail, with the reason of its place and the form that starts a run for it. */
import {
  dollars,
  type Fault,
  type ProjectRoadmap,
  type RoadmapBoardItem,
  type RoadmapChoice,
  type WorkflowSummary,
} from '@autonomous/shared';
import { workflowOf } from '@autonomous/shared/client';
import { useSelector } from '@xstate/store-react';
import { useId, useLayoutEffect, useRef, useState } from 'react';
import { Link } from '../../components/link.tsx';
import { Ago } from '../../components/times.tsx';
import { useHost } from '../../hosts/host.ts';
import { messageOf } from '../../hosts/messages.ts';
import { faultsOf } from '../../launch-faults.ts';
import {
  dependenciesOf,
  HORIZON_TITLES,
  MOSCOW_TITLES,
  reasonOf,
  standingText,
  titleOfValue,
  waitingFor,
} from '../../roadmap-board.ts';
import { LaunchRefusal } from '../launch/launch-fields.tsx';
import { Blockers, type BoardFacts, DependencyName, Health, NextMark, RunOfItem, Tasks } from './roadmap-card.tsx';

interface ItemDetailsProps {
  readonly id: string;
  /** `null`: the roadmap does not have it. */
  readonly item: RoadmapBoardItem | null;
  readonly items: readonly RoadmapBoardItem[];
  readonly choice: RoadmapChoice;
  readonly roadmap: ProjectRoadmap;
  readonly facts: BoardFacts;
  readonly onClose: () => void;
}

/** A dialog over the board. */
export function ItemDetails(props: ItemDetailsProps) {
  const { id, item, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  const heading = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // It hands the focus back to the link that opened it.
    return () => shown?.close();
  }, []);
  // Where the link that was followed is gone, reading begins anew.
  useLayoutEffect(() => title.current?.focus(), [id]);
  return (
    <dialog
      ref={dialog}
      className="item-details"
      aria-labelledby={heading}
      onClose={onClose}
      onClick={({ target, currentTarget }) => {
        // What is beside the content belongs to the dialog itself.
        if (target === currentTarget) currentTarget.close();
      }}
    >
      <div className="content">
        <header>
          <h2 id={heading} ref={title} tabIndex={-1}>
            {item?.title ?? `Item not found: ${id}`}
          </h2>
          <vscode-button secondary onClick={() => dialog.current?.close()}>
            Close
          </vscode-button>
        </header>
        {item === null ? (
          <p>The roadmap has no item with this id. It may have been removed or renamed.</p>
        ) : (
          <Details key={id} {...props} item={item} />
        )}
      </div>
    </dialog>
  );
}

function Details({ item, items, choice, roadmap, facts }: ItemDetailsProps & { readonly item: RoadmapBoardItem }) {
  const { id, title, description, moscow, timeHorizon, health, type } = item;
  const blockers = item.workflowState?.blockers ?? [];
  const dependencies = dependenciesOf(item, facts.byId);
  const waiting = waitingFor(id, items);
  const run = facts.runs.get(id);
  const reason = reasonOf(choice, id);
  const isNext = id === facts.selected;
  const pullIns = choice.pullIns.filter((pullIn) => pullIn.unblocks === id || pullIn.id === id);
  const link = (to: string, words: string) => (
    <Link to={{ name: 'roadmap', projectId: facts.projectId, item: to }}>{words}</Link>
  );
  return (
    <>
      <p className="card-facts">
        {isNext && <NextMark />}
        <Health health={health} />
        <span>{MOSCOW_TITLES[moscow]}</span>
        <span>{HORIZON_TITLES[timeHorizon]}</span>
        <span>{titleOfValue(type)}</span>
        <span>{standingText(item)}</span>
      </p>
      <Tasks item={item} />
      <RunOfItem run={run} title={title} />
      {description !== undefined && <p className="description">{description}</p>}
      <Blockers blockers={blockers} most={blockers.length} />
      {reason !== null && (
        <>
          <h3>{reasonTitle(item, isNext)}</h3>
          <p>{`${reason.charAt(0).toUpperCase()}${reason.slice(1)}`}</p>
        </>
      )}
      {pullIns.map((pullIn) => (
        <p key={pullIn.id}>
          {pullIn.rationale} {pullIn.id !== id && link(pullIn.id, `Start “${pullIn.title}” first`)}
        </p>
      ))}
      {dependencies.length > 0 && (
        <>
          <h3>Depends on</h3>
          <ul className="depends">
            {dependencies.map((dependency) => (
              <li key={dependency.id}>
                <DependencyName dependency={dependency} linked={(words) => link(dependency.id, words)} />
              </li>
            ))}
          </ul>
        </>
      )}
      {waiting.length > 0 && (
        <>
          <h3>Waiting for it</h3>
          <ul>
            {waiting.map((each) => (
              <li key={each.id}>{link(each.id, each.title)}</li>
            ))}
          </ul>
        </>
      )}
      <Figures item={item} />
      {item.canStart && run === undefined && <Start item={item} roadmap={roadmap} />}
    </>
  );
}

function reasonTitle({ canStart, status }: RoadmapBoardItem, isNext: boolean): string {
  if (isNext) return 'Why it is next';
  if (canStart || status === 'completed') return 'Where it stands';
  return 'Why it cannot be started now';
}

function Figures({ item: { id, workflowState } }: { readonly item: RoadmapBoardItem }) {
  const { specSlug, lastSession, metrics } = workflowState ?? {};
  const tokens = (metrics?.inputTokens ?? 0) + (metrics?.outputTokens ?? 0);
  return (
    <p className="card-facts figures quiet">
      <span>
        id <code>{id}</code>
      </span>
      {specSlug !== undefined && (
        <span>
          <code>specs/{specSlug}</code>
        </span>
      )}
      {lastSession !== undefined && (
        <span>
          worked on <Ago at={lastSession} />
        </span>
      )}
      {metrics?.costUsd !== undefined && <span>{dollars(metrics.costUsd)}</span>}
      {tokens > 0 && <span>{tokens.toLocaleString()} tokens</span>}
    </p>
  );
}

/** Points at which the run of an item asks a person, as its input names them. */
const APPROVALS = [
  {
    value: 'all',
    title: 'Every phase',
    hint: 'The run waits for you after each phase.',
  },
  {
    value: 'named',
    title: 'Ideation, specification and release',
    hint: 'The run waits for you after the ideation, after the specification, and before the release.',
  },
  {
    value: 'release',
    title: 'Only the release',
    hint: 'The run goes on by itself until the item can be released.',
  },
] as const;
type Approvals = (typeof APPROVALS)[number]['value'];
const DEFAULT_APPROVALS: Approvals = 'named';

function Start({ item, roadmap }: { readonly item: RoadmapBoardItem; readonly roadmap: ProjectRoadmap }) {
  const { client, runs, workflows, go } = useHost();
  const catalog = useSelector(workflows, ({ context }) => context);
  const [approvals, setApprovals] = useState<Approvals>(DEFAULT_APPROVALS);
  const [refusal, setRefusal] = useState<{ readonly message: string; readonly faults: readonly Fault[] } | null>(null);
  const [isSent, setSent] = useState(false);
  const name = useId();
  const workflow = workflowOf(catalog, roadmap.workflow);
  const start = async (): Promise<void> => {
    setSent(true);
    setRefusal(null);
    try {
      const run = await client.launchRun({
        projectId: roadmap.projectId,
        workflow: roadmap.workflow,
        request: item.title,
        input: { item: item.id, roadmap: roadmap.path, approvals },
      });
      runs.trigger.listed({ runs: [run] });
      go({ name: 'run', runId: run.id });
    } catch (error) {
      setRefusal({ message: messageOf(error), faults: faultsOf(error) });
    } finally {
      // In the editor the run has a panel of its own, and this one stays.
      setSent(false);
    }
  };
  if (catalog.isLoaded && workflow === undefined) return <NoWorkflow name={roadmap.workflow} />;
  return (
    <form
      className="start-item"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSent) void start();
      }}
    >
      <fieldset className="options">
        <legend>What do you want to approve yourself?</legend>
        {APPROVALS.map(({ value, title, hint }) => (
          <label key={value}>
            <input
              type="radio"
              name={name}
              value={value}
              checked={approvals === value}
              onChange={() => setApprovals(value)}
            />
            <span>
              {title}
              <span className="quiet">{hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div className="actions">
        <vscode-button disabled={isSent || workflow === undefined} onClick={() => void start()}>
          {startLabel(item, workflow)}
        </vscode-button>
      </div>
      {refusal !== null && <LaunchRefusal message={refusal.message} faults={refusal.faults} />}
    </form>
  );
}

function startLabel({ status }: RoadmapBoardItem, workflow: WorkflowSummary | undefined): string {
  if (workflow === undefined) return 'Fetching the workflows…';
  return status === 'in-progress' ? 'Go on with this item' : 'Start this item';
}

function NoWorkflow({ name }: { readonly name: string }) {
  const id = useId();
  return (
    <div className="start-item">
      <div className="actions">
        <vscode-button disabled aria-describedby={id}>
          Start this item
        </vscode-button>
      </div>
      <p id={id} className="quiet">
        This server does not have the workflow <code>{name}</code>, which works on items of a roadmap. Update the
        server, or start a run of another workflow with this title as its request.
      </p>
    </div>
  );
}
