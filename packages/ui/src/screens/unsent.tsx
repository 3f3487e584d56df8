/** Texts of a person that no decision has sent: comments beside lines, and drafts at gates that are closed. */
import { FINAL_STATUSES, type RunView } from '@autonomous/shared';
import { countedComments, leftComments, sanitizeText, takesComments } from '@autonomous/shared/presentation';
import { LineComment } from '../components/review/line-comments.tsx';
import { Link } from '../components/link.tsx';
import { countLineDrafts, drafts, leftDrafts, linesOf, useDrafts } from '../components/drafts.ts';
import { useReview } from '../components/review/review.ts';

/** At the open gate: all comments that its next words send. */
export function GateComments({ run, approves }: { readonly run: RunView; readonly approves: boolean }) {
  const { comments = [] } = run;
  const begun = countLineDrafts(useDrafts(), run.id);
  const left = leftComments(run).length;
  return (
    <>
      {comments.length > 0 && (
        <details className="unsent">
          <summary>
            {countedComments(comments.length)}, not sent yet.{approves ? ' Approve does not send them.' : ''}
            {left > 0 && ` ${left === comments.length ? 'All' : left} of an earlier gate.`}
          </summary>
          <CommentList run={run} />
        </details>
      )}
      {begun > 0 && (
        <p role="status">
          {begun === 1 ? 'A text beside a line was' : `${begun} texts beside lines were`} not added, and{' '}
          {begun === 1 ? 'is' : 'are'} not sent: press Add there first.
        </p>
      )}
    </>
  );
}

/** Where no gate is open: what was decided without its comments, and words that were begun at gates that are gone. */
export function Unsent({ run }: { readonly run: RunView }) {
  const { comments = [], gate, id } = run;
  const begun = leftDrafts(useDrafts(), id, [
    gate?.id,
    ...comments.map((comment) => comment.id),
    ...(takesComments(gate) ? [linesOf(id)] : []),
  ]);
  const isLeft = gate === null && comments.length > 0;
  return (
    <>
      {isLeft && (
        <details className="gate closed unsent" open>
          <summary>
            {countedComments(comments.length)} {comments.length === 1 ? 'was' : 'were'} not sent: the gate was decided
            without {comments.length === 1 ? 'it' : 'them'}.{' '}
            {FINAL_STATUSES.has(run.status) ? 'The run is over.' : 'The next decision with text sends them.'}
          </summary>
          <CommentList run={run} />
        </details>
      )}
      {begun.map(({ owner, text }) => (
        <section key={owner} className="gate closed unsent" aria-label="Words that were not sent">
          <p role="status">The gate was decided before you sent this text:</p>
          <pre className="said" tabIndex={0}>
            {text}
          </pre>
          <p className="actions">
            <button type="button" className="link" onClick={() => drafts.trigger.dropped({ owner })}>
              Dismiss
            </button>
          </p>
        </section>
      ))}
    </>
  );
}

function CommentList({ run }: { readonly run: RunView }) {
  const { margin } = useReview(run);
  return (
    <ul>
      {margin.comments.map((comment) => (
        <li key={comment.id}>
          <Link to={{ name: 'run', runId: run.id, tab: 'changes' }}>
            {sanitizeText(comment.path)}
            {comment.line > 0 ? `:${comment.line}` : ''}
          </Link>
          <LineComment comment={comment} margin={margin} />
        </li>
      ))}
    </ul>
  );
}
