/** One run: what it waits for, and everything known of it, a tab each. */
import { documentInfoOf, FINAL_STATUSES, inputOfRun, presentedAt, type RunView } from '@autonomous/shared';
import { durationText, pulseText, sanitizeText, withoutTerminal } from '@autonomous/shared/presentation';
import { ApiError } from '@autonomous/shared/client';
import { useSelector } from '@xstate/store-react';
import { type ReactNode, useEffect, useState } from 'react';
import type { Screen } from '../../bridge.ts';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { messageOf } from '../../hosts/messages.ts';
import { pullRequestOf, runTitle, splitRequest, stageTitle } from '../../labels.ts';
import { type ShownTab, tabNamed, tabsOf } from '../../run-tabs.ts';
import { CopyLink } from '../../components/copy-link.tsx';
import { useCurrentInView } from '../../components/current-in-view.ts';
import { Link } from '../../components/link.tsx';
import { Loading, useLoaded } from '../../components/loading.tsx';
import { Outside } from '../../components/outside.tsx';
import { ownDecisions } from '../../components/own-decisions.ts';
import { GateWarnings } from '../../components/review/review-warnings.tsx';
import { StatusLine } from '../../components/status.tsx';
import { OutcomeOfGate } from '../../components/gate-outcome.tsx';
import { Ago, useNow } from '../../components/times.tsx';
import { Changes } from '../changes.tsx';
import { ConflictNotices } from '../conflict-notices.tsx';
import { Events } from '../events.tsx';
import { EvidenceList } from '../evidence.tsx';
import { GateNews } from '../gate/gate-news.tsx';
import { GateNotice } from '../gate/gate-notice.tsx';
import { GatePanel } from '../gate/gate-panel.tsx';
import { GateReplies } from '../gate/gate-replies.tsx';
import { PullRequest } from '../pull-request.tsx';
import { RunDocument } from './run-document.tsx';
import { DocumentsBeside } from '../compare/documents-beside.tsx';
import { RunProjectionView, useProjection } from './run-projection.tsx';
import { RunPdf } from './run-pdf.tsx';
import { RunCosts } from './run-costs.tsx';
import { RunNotices } from './run-notices.tsx';
import { ChildRuns, ListOfChildRuns, ParentLink, RunProgress, useFamily, WaitingChildren } from '../child-runs.tsx';
import { StatechartView } from '../statechart.tsx';
import { Transcript } from '../transcript.tsx';
import { Unsent } from '../unsent.tsx';
import { Icon } from '../../components/icon.tsx';

type RunScreen = Extract<Screen, { name: 'run' }>;

export function RunPage({ screen }: { readonly screen: RunScreen }) {
  const { runId } = screen;
  const { runs, client } = useHost();
  const known = useSelector(runs, ({ context }) => context.runs[runId]);
  // A deep link may name a run that is on no list yet.
  const asked = useLoaded(known === undefined ? runId : null, async () => {
    try {
      const run = await client.getRun(runId);
      runs.trigger.listed({ runs: [run] });
      return 'found';
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return 'unknown';
      throw error;
    }
  });
  if (known === undefined) {
    return (
      <Loading of={asked} what={`Run ${runId}`}>
        {(answer) => answer === 'unknown' && <UnknownRun runId={runId} />}
      </Loading>
    );
  }
  // Nothing of one run is shown while another one's is fetched.
  return <KnownRun key={runId} run={known} screen={screen} />;
}

/** The input of the run's workflow, which is fetched once it is opened. */
function RunInput({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const [isOpen, setOpen] = useState(false);
  const loaded = useLoaded(isOpen ? run.id : null, async () => inputOfRun((await client.listEvents(run.id, 0, 1))[0]));
  return (
    <details className="more-of-request" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Input</summary>
      <Loading of={loaded} what="The input">
        {(input) =>
          Object.entries(input ?? {}).map(([name, value]) => (
            <p key={name} dir="auto">
              <b>{name}</b>: {sanitizeText(typeof value === 'string' ? value : JSON.stringify(value))}
            </p>
          ))
        }
      </Loading>
    </details>
  );
}

function UnknownRun({ runId }: { readonly runId: string }) {
  return (
    <div className="empty" role="status">
      <h1>There is no run {runId} here</h1>
      <p>The link may be of another server, or cut short.</p>
      <p>
        <Link to={{ name: 'runs' }}>All runs</Link>
      </p>
    </div>
  );
}

function KnownRun({ run, screen }: { readonly run: RunView; readonly screen: RunScreen }) {
  const family = useFamily(run);
  const workflow = useWorkflow(run);
  const tabs = tabsOf(run, workflow);
  const tab = tabNamed(tabs, screen.tab);
  const row = useCurrentInView<HTMLElement>(tab?.name);
  const linked = screen.gate;
  const isLinkOpen = linked !== undefined && run.gate?.id === linked;
  /** A gate whose decision was sent from here and not taken, since somebody else was first. */
  const [refused, setRefused] = useState<string | null>(null);
  const told = new Set([...ownDecisions, linked ?? '', refused ?? '']);
  const pullRequest = pullRequestOf(run);
  const title = runTitle(run, workflow);
  const [, moreOfRequest] = splitRequest(run.originalRequest);
  useEffect(() => {
    document.title = `${sanitizeText(title).slice(0, 60)} – Autonomous`;
  }, [title]);
  return (
    <section className="run-page" aria-label="Run">
      <header>
        <ParentLink run={run} />
        <h1 dir="auto">{title}</h1>
        {moreOfRequest !== '' && (
          <details className="more-of-request">
            <summary>More of the request</summary>
            <p>{moreOfRequest}</p>
          </details>
        )}
        {workflow !== undefined && workflow.input !== null && <RunInput run={run} />}
        <p className="facts">
          <StatusLine run={run} />
          {run.branch !== '' && <code>{run.branch}</code>}
          <span>{workflow?.title ?? run.workflow.name}</span>
          <span>
            started <Ago at={run.createdAt} />
          </span>
          {run.explorationId !== undefined && (
            <Link to={{ name: 'exploration', explorationId: run.explorationId }}>Compare approaches</Link>
          )}
          {pullRequest !== null && (
            <Outside href={pullRequest}>Pull request {/(?<!\d)\d+$/.exec(pullRequest)?.[0] ?? ''}</Outside>
          )}
          {family.some(({ scriptedModels }) => scriptedModels.length > 0) && (
            <span className="notice">scripted models</span>
          )}
          <CopyLink to={{ name: 'run', runId: run.id, tab: tab?.name }} what="page" />
          <Pause run={run} />
          <Cancel run={run} />
        </p>
        <AtWork run={run} />
      </header>
      {linked !== undefined && !isLinkOpen && (
        <GateNotice key={linked} run={run} gateId={linked} wasRefused={refused === linked} isTarget />
      )}
      {refused !== null && refused !== linked && refused !== run.gate?.id && (
        <GateNotice
          key={refused}
          run={run}
          gateId={refused}
          wasRefused
          isTarget={false}
          onClose={() => setRefused(null)}
        />
      )}
      <GateNews run={run} here={told} />
      <Unsent run={run} />
      <WaitingChildren run={run} />
      <GateWarnings run={run} />
      {run.gate !== null && (
        <GatePanel key={run.gate.id} gate={run.gate} isTarget={isLinkOpen} onDecidedElsewhere={setRefused} />
      )}
      {run.gate !== null && <RunNotices run={run} />}
      <ConflictNotices run={run} />
      <GateReplies run={run} document={tab?.document?.type ?? null} />
      <nav ref={row} aria-label="Parts of the run" className="tabs">
        {tabs.map(({ name, title }) => (
          <Link key={name} to={{ name: 'run', runId: run.id, tab: name }} current={name === tab?.name}>
            {title}
          </Link>
        ))}
      </nav>
      {tab !== undefined && <Tab run={run} tab={tab} event={screen.event} />}
    </section>
  );
}

/** Progress of each activity, updated every two seconds. */
function AtWork({ run }: { readonly run: RunView }) {
  const { runs } = useHost();
  const pulses = useSelector(runs, ({ context }) => context.pulses[run.id]);
  if (pulses === undefined || run.status !== 'running') return null;
  return (
    <ul className="at-work" aria-label="Under way" aria-live="off">
      {Object.values(pulses).map((pulse) => (
        <li key={pulse.activity}>
          <Icon name="sync" className="status running" />{' '}
          <span>{withoutTerminal(pulseText(pulse, { isTimeFirst: true }))}</span>
        </li>
      ))}
    </ul>
  );
}

interface TabProps {
  readonly run: RunView;
  readonly tab: ShownTab;
  readonly event: number | undefined;
}

function Tab({ run, tab: { name, document }, event }: TabProps) {
  const workflow = useWorkflow(run);
  if (document?.info.drawnAs === 'pdf') return <RunPdf key={document.type} run={run} {...document} />;
  if (document !== undefined) return <RunDocument key={document.type} run={run} {...document} />;
  switch (name) {
    case 'overview': {
      if (workflow?.hasProjection === true) return <ProjectedOverview run={run} />;
      // A document that a person decides about now is the overview.
      const presented = run.gate === null ? null : presentedAt(workflow, run.gate, run.artifacts);
      if (presented?.kind !== 'document') return <Overview run={run} />;
      return (
        <RunDocument
          key={presented.type}
          run={run}
          type={presented.type}
          info={documentInfoOf(workflow, presented.type)}
        />
      );
    }
    case 'changes':
      return <Changes run={run} />;
    case 'evidence':
      return <EvidenceList run={run} />;
    case 'pull-request':
      return <PullRequest run={run} />;
    case 'transcript':
      return <Transcript run={run} />;
    case 'statechart':
      return <StatechartView run={run} />;
    case 'events':
      return <Events run={run} event={event} />;
    default:
      return null;
  }
}

/** The overview of a run that its workflow projects, with its documents beside it. */
function ProjectedOverview({ run }: { readonly run: RunView }) {
  const projection = useProjection(run);
  return (
    <div className="with-documents">
      <Overview run={run}>
        <RunProjectionView projection={projection} />
      </Overview>
      <DocumentsBeside run={run} absent={projection.value?.absent ?? {}} />
    </div>
  );
}

function Overview({ run, children }: { readonly run: RunView; readonly children?: ReactNode }) {
  const now = useNow();
  const workflow = useWorkflow(run);
  // A stage that never completed ended with its run.
  const endMs = FINAL_STATUSES.has(run.status) ? Date.parse(run.completedAt ?? run.updatedAt) : now;
  return (
    <div className="overview">
      {run.failure !== undefined && (
        <p className="fault" role="alert">
          {withoutTerminal(run.failure)}
        </p>
      )}
      {run.failures !== undefined && (
        <section className="fault" aria-label="Failures">
          <p>The run is complete, but not all of its work:</p>
          <ul>
            {run.failures.map((failure) => (
              <li key={failure}>{withoutTerminal(failure)}</li>
            ))}
          </ul>
        </section>
      )}
      {run.merged !== undefined && (
        <p className="done">
          Merged into {withoutTerminal(run.merged.baseBranch)} as {run.merged.commit.slice(0, 8)} ({run.merged.strategy}
          ).
        </p>
      )}
      {run.merged === undefined && run.published !== undefined && (
        <p className="done">
          {run.published.pushed ? 'Pushed' : 'Prepared'} as {run.published.branch}. <NoteOfPublishing run={run} />
        </p>
      )}
      {run.gate === null && <RunNotices run={run} />}
      {children === undefined ? (
        <ChildRuns run={run} />
      ) : (
        <>
          <RunProgress run={run} />
          {children}
          <ListOfChildRuns run={run} />
        </>
      )}
      <h2>Stages</h2>
      {run.stages.length === 0 ? (
        <p className="empty">None has started.</p>
      ) : (
        <ol className="stages">
          {run.stages.map(({ stage, startedAt, completedAt }) => (
            <li key={`${stage} ${startedAt}`}>
              <Icon
                className={`status ${completedAt === undefined ? run.status : 'completed'}`}
                name={completedAt === undefined ? (FINAL_STATUSES.has(run.status) ? 'circle-slash' : 'sync') : 'pass'}
              />{' '}
              {stageTitle(stage, workflow)}{' '}
              <span className="quiet">
                {durationText(
                  Math.max(0, (completedAt === undefined ? endMs : Date.parse(completedAt)) - Date.parse(startedAt)),
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
      {run.gates.length > 0 && (
        <>
          <h2>Decided</h2>
          <ol className="decided">
            {run.gates.map((outcome) => (
              <li key={`${outcome.gateId} ${outcome.at}`}>
                <OutcomeOfGate outcome={outcome} workflow={workflow} linkedIn={run.id} />
              </li>
            ))}
          </ol>
        </>
      )}
      <RunCosts run={run} />
    </div>
  );
}

/** What publishing noted; the address of the pull request in it is a link. */
function NoteOfPublishing({ run }: { readonly run: RunView }) {
  const note = withoutTerminal(run.published?.note ?? '');
  const address = pullRequestOf(run);
  const at = address === null ? -1 : note.indexOf(address);
  if (address === null || at < 0) return note;
  return (
    <>
      {note.slice(0, at)}
      <Outside href={address}>{address}</Outside>
      {note.slice(at + address.length)}
    </>
  );
}

/** Pauses a run that works. Its gate takes the retry. */
function Pause({ run }: { readonly run: RunView }) {
  const { client, runs } = useHost();
  const [isSent, setIsSent] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  if (FINAL_STATUSES.has(run.status) || run.gate !== null || run.status === 'queued') return null;
  const pause = (): void => {
    setIsSent(true);
    setFault(null);
    client
      .pauseRun(run.id)
      .then(
        (view) => runs.trigger.listed({ runs: [view] }),
        (error: unknown) => setFault(messageOf(error)),
      )
      .finally(() => setIsSent(false));
  };
  return (
    <span className="cancel">
      {isSent ? (
        <span className="quiet">Pausing…</span>
      ) : (
        <button
          type="button"
          className="link"
          title="What agents are doing begins again when you retry the run."
          onClick={pause}
        >
          Pause run
        </button>
      )}
      {fault !== null && <span className="fault">Not paused: {fault}</span>}
    </span>
  );
}

function Cancel({ run }: { readonly run: RunView }) {
  const { client, runs } = useHost();
  const [state, setState] = useState<'idle' | 'sure' | 'sent'>('idle');
  const [fault, setFault] = useState<string | null>(null);
  if (FINAL_STATUSES.has(run.status)) return null;
  const cancel = (): void => {
    setState('sent');
    client.cancelRun(run.id).then(
      (view) => runs.trigger.listed({ runs: [view] }),
      (error: unknown) => {
        setFault(messageOf(error));
        setState('idle');
      },
    );
  };
  return (
    <span className="cancel">
      {state === 'idle' && (
        <button type="button" className="link" onClick={() => setState('sure')}>
          Cancel run…
        </button>
      )}
      {state === 'sure' && (
        <>
          Sure? What is under way is lost.{' '}
          <button type="button" className="link danger" onClick={cancel}>
            Cancel the run
          </button>{' '}
          <button type="button" className="link" onClick={() => setState('idle')}>
            Keep it
          </button>
        </>
      )}
      {state === 'sent' && <span className="quiet">Cancelling…</span>}
      {fault !== null && <span className="fault">Not cancelled: {fault}</span>}
    </span>
  );
}
