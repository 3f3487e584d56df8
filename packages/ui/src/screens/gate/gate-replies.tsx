/** Questions that a person asked at a gate before deciding it, and the replies: read beside the document that they are about. */
import { gateInfoOf, type RunView } from '@autonomous/shared';
import { useWorkflow } from '../../hosts/host.ts';
import { Ago } from '../../components/times.tsx';

/** @param document type of the document that is shown beside them; `null` where none is */
export function GateReplies({ run, document }: { readonly run: RunView; readonly document: string | null }) {
  const workflow = useWorkflow(run);
  const replies = run.replies ?? [];
  const asked = run.gates.findLast(({ decision }) => decision === 'ask');
  // The reply brings the gate back; while there is no gate, the agent is at work on it.
  const isPending =
    asked?.notes !== undefined &&
    run.status === 'running' &&
    run.gates.at(-1) === asked &&
    replies.every(({ at }) => at < asked.at);
  if (asked === undefined || (replies.length === 0 && !isPending)) return null;
  const isAbout = document !== null && gateInfoOf(workflow, asked.kind).document === document;
  if (!isPending && !isAbout && run.gate?.kind !== asked.kind) return null;
  return (
    <section className="replies" aria-labelledby="replies">
      <h2 id="replies">Questions and replies</h2>
      <div role="log" aria-labelledby="replies">
        <ol>
          {replies.map(({ question, reply, at }) => (
            <li key={at}>
              <p className="asked">{question}</p>
              <blockquote>
                {reply}
                <footer className="quiet">
                  The agent, <Ago at={at} />
                </footer>
              </blockquote>
            </li>
          ))}
          {isPending && (
            <li>
              <p className="asked">{asked.notes}</p>
              <p className="quiet loading">
                <vscode-progress-ring aria-hidden="true" /> The agent is answering…
              </p>
            </li>
          )}
        </ol>
      </div>
    </section>
  );
}
