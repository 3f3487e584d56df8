/** Questions of people to the planner and its answers, beside the plan that they are about. */
import type { RunView } from '@autonomous/shared';
import { Ago } from '../components/times.tsx';

export function PlannerReplies({ run }: { readonly run: RunView }) {
  const replies = run.replies ?? [];
  const asked = run.gates.findLast(({ decision }) => decision === 'ask');
  // The answer brings the plan's gate back; while there is none, the planner is at work on it.
  const isPending =
    asked?.notes !== undefined && run.gate === null && run.gates.at(-1) === asked && run.currentStage === 'planning';
  if (replies.length === 0 && !isPending) return null;
  return (
    <section className="replies" aria-labelledby="replies">
      <h2 id="replies">Asked the planner</h2>
      <div role="log" aria-labelledby="replies">
        <ol>
          {replies.map(({ question, reply, at }) => (
            <li key={at}>
              <p className="asked">{question}</p>
              <blockquote>
                {reply}
                <footer className="quiet">
                  The planner, <Ago at={at} />
                </footer>
              </blockquote>
            </li>
          ))}
          {isPending && (
            <li>
              <p className="asked">{asked.notes}</p>
              <p className="quiet loading">
                <vscode-progress-ring aria-hidden="true" /> The planner is answering…
              </p>
            </li>
          )}
        </ol>
      </div>
    </section>
  );
}
