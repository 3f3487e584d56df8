/** A run's pull request as the forge has it now: its state, checks and reviews, and threads that are answered and resolved here. */
import type {
  PullRequestCheck,
  PullRequestRemark,
  PullRequestReview,
  PullRequestThread,
  RunPullRequest,
  RunView,
} from '@autonomous/shared';
import { useRef, useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { Document } from '../components/document.tsx';
import { Icon } from '../components/icon.tsx';
import { Loading, useLoaded } from '../components/loading.tsx';
import { Outside } from '../components/outside.tsx';
import { Ago } from '../components/times.tsx';
import { ThreadActions } from './thread-actions.tsx';

/** Read again when the feed tells of the run. */
export function PullRequest({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const loaded = useLoaded(`${run.id} ${run.lastSequence}`, () => client.getPullRequest(run.id));
  return (
    <section aria-label="Pull request" className="pull-request">
      <Loading of={loaded} what="The pull request">
        {(pullRequest) => (
          <PullRequestFacts
            runId={run.id}
            pullRequest={pullRequest}
            isLoading={loaded.isLoading}
            onRefresh={loaded.again}
          />
        )}
      </Loading>
    </section>
  );
}

interface FactsProps {
  readonly runId: string;
  readonly pullRequest: RunPullRequest;
  readonly isLoading: boolean;
  readonly onRefresh: () => void;
}

export function PullRequestFacts({ runId, pullRequest, isLoading, onRefresh }: FactsProps) {
  const { number, url, title, state, isDraft, head, base, checks, reviews, threads, comments } = pullRequest;
  return (
    <>
      <h2 dir="auto">
        <Outside href={url}>
          {title} #{number}
        </Outside>
      </h2>
      <p className="facts">
        <span>
          <Icon name={STATE_ICONS[state]} /> {isDraft && state === 'open' ? 'Draft' : STATES[state]}
        </span>
        {state === 'open' && <span>{mergeWords(pullRequest)}</span>}
        <span>
          <code>{head.branch}</code> into <code>{base.branch}</code>, at {head.commit.slice(0, 8)}
        </span>
        <vscode-button secondary disabled={isLoading} onClick={onRefresh}>
          {isLoading ? 'Refreshing…' : 'Refresh'}
        </vscode-button>
      </p>
      {!pullRequest.isComplete && (
        <p className="quiet">
          There is more at the forge than is shown here. <Outside href={url}>Open the pull request there</Outside>.
        </p>
      )}
      <Checks checks={checks} />
      {reviews.length > 0 && (
        <>
          <h3>Reviews</h3>
          {reviews.map((review) => (
            <RemarkOf key={review.id} remark={review} verdict={VERDICTS[review.verdict]} />
          ))}
        </>
      )}
      <Threads runId={runId} threads={threads} onChange={onRefresh} />
      {comments.length > 0 && (
        <>
          <h3>Comments</h3>
          {comments.map((comment) => (
            <RemarkOf key={comment.id} remark={comment} />
          ))}
        </>
      )}
    </>
  );
}

const STATES: Readonly<Record<RunPullRequest['state'], string>> = { open: 'Open', closed: 'Closed', merged: 'Merged' };
const STATE_ICONS: Readonly<Record<RunPullRequest['state'], string>> = {
  open: 'git-pull-request',
  closed: 'git-pull-request-closed',
  merged: 'git-merge',
};
const VERDICTS: Readonly<Record<PullRequestReview['verdict'], string>> = {
  approved: 'approved',
  changes_requested: 'asked for changes',
  commented: 'commented',
  dismissed: 'had a review that was dismissed',
};

/** Whether it can be merged, in words. */
export function mergeWords({ mergeability, base }: Pick<RunPullRequest, 'mergeability' | 'base'>): string {
  switch (mergeability) {
    case 'ready':
      return 'Can be merged';
    case 'unstable':
      return 'Can be merged, although a check that is not required failed or still runs';
    case 'conflict':
      return `Has conflicts with ${base.branch}`;
    case 'blocked':
      return 'Cannot be merged yet: required checks or reviews are missing, or a rule of the branch forbids it';
    case 'behind':
      return `Cannot be merged yet: ${base.branch} has moved and must be merged in first`;
    case 'draft':
      return 'Cannot be merged while it is a draft';
    case 'unknown':
      return 'The forge does not know yet whether it can be merged: refresh in some seconds';
    default:
      return mergeability satisfies never;
  }
}

const CHECK_ICONS: Readonly<Record<PullRequestCheck['state'], readonly [icon: string, kind: string]>> = {
  passed: ['pass', 'completed'],
  failed: ['error', 'failed'],
  pending: ['sync', 'running'],
  skipped: ['circle-slash', 'cancelled'],
};

function Checks({ checks }: { readonly checks: readonly PullRequestCheck[] }) {
  if (checks.length === 0) return <p className="quiet">No checks have reported on this commit.</p>;
  const counts = (['failed', 'pending', 'passed', 'skipped'] as const).flatMap((state) => {
    const count = checks.filter((check) => check.state === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  return (
    <>
      <h3>
        Checks <span className="quiet">{counts.join(', ')}</span>
      </h3>
      <ul className="checks">
        {checks.map(({ name, state, conclusion, url }, index) => {
          const [icon, kind] = CHECK_ICONS[state];
          return (
            <li key={`${index} ${name}`}>
              <Icon name={icon} className={`status ${kind}`} /> <bdi>{name}</bdi>{' '}
              <span className="quiet">{wordsOf(conclusion ?? state)}</span>{' '}
              {url !== null && (
                <Outside href={url}>
                  Details<span className="hidden"> of {name}</span> at {new URL(url).host}
                </Outside>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

interface ThreadsProps {
  readonly runId: string;
  readonly threads: readonly PullRequestThread[];
  readonly onChange: () => void;
}

function Threads({ runId, threads, onChange }: ThreadsProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const open = threads.filter(({ isResolved }) => !isResolved);
  const resolved = threads.filter(({ isResolved }) => isResolved);
  const drawn = (thread: PullRequestThread) => (
    <Thread
      key={thread.id}
      runId={runId}
      thread={thread}
      onReplied={onChange}
      onResolved={() => {
        // The thread goes to another place, with the button that had the focus.
        heading.current?.focus();
        onChange();
      }}
    />
  );
  return (
    <>
      <h3 ref={heading} tabIndex={-1}>
        Review threads{' '}
        <span className="quiet">
          {threads.length === 0 ? 'none' : `${open.length} open, ${resolved.length} resolved`}
        </span>
      </h3>
      {open.map(drawn)}
      {resolved.length > 0 && (
        <details>
          <summary>{resolved.length === 1 ? '1 resolved thread' : `${resolved.length} resolved threads`}</summary>
          {resolved.map(drawn)}
        </details>
      )}
    </>
  );
}

interface ThreadProps {
  readonly runId: string;
  readonly thread: PullRequestThread;
  readonly onReplied: () => void;
  readonly onResolved: () => void;
}

function Thread({ runId, thread, onReplied, onResolved }: ThreadProps) {
  const { path, line, isResolved, isOutdated, comments } = thread;
  const place = line === null ? path : `${path}:${line}`;
  return (
    <article className="thread" aria-label={`Review thread at ${place}`}>
      <h4>
        <code>{place}</code> {isOutdated && <span className="notice">the lines have changed since</span>}{' '}
        {isResolved && <span className="quiet">resolved</span>}
      </h4>
      {comments.map((comment) => (
        <RemarkOf key={comment.id} remark={comment} />
      ))}
      <ThreadActions
        runId={runId}
        threadId={thread.id}
        place={place}
        isResolved={isResolved}
        onReplied={onReplied}
        onResolved={onResolved}
      />
    </article>
  );
}

/** Longest text that is shown whole at first, in characters. */
const SHOWN_CHARACTERS = 1_500;

/** @param verdict what its author did, as words after the name; absent: nothing but saying it */
function RemarkOf({ remark, verdict }: { readonly remark: PullRequestRemark; readonly verdict?: string }) {
  const [isWhole, setWhole] = useState(false);
  const { author, isOwn, body, isClipped, url, at } = remark;
  const isLong = body.length > SHOWN_CHARACTERS;
  const shown = isLong && !isWhole ? `${body.slice(0, SHOWN_CHARACTERS)}…` : body;
  return (
    <div className="remark">
      <p className="quiet">
        <bdi>{author.login}</bdi>
        {isOwn ? ' (this server)' : author.mayWrite ? '' : ' (may not write to the repository)'} {verdict ?? ''}{' '}
        {url === null ? (
          <Ago at={at} />
        ) : (
          <Outside href={url}>
            <Ago at={at} />
          </Outside>
        )}
      </p>
      {/* What looks like the head of a document of ours is a part of the text. */}
      {body !== '' && <Document text={`\n${shown}`} title={`What ${author.login} wrote`} />}
      {isLong && (
        <button type="button" className="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show all of it'}
        </button>
      )}
      {isClipped && (!isLong || isWhole) && <p className="quiet">The rest of this text is at the forge only.</p>}
    </div>
  );
}

/** The forge's own words for a result, such as `timed_out`. */
function wordsOf(conclusion: string): string {
  return conclusion.replaceAll('_', ' ');
}
