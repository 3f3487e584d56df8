/** The newest plans of runs, drawn next to each other. */
import { withoutTerminal, type RunView } from '@autonomous/shared';
import { useHost } from '../hosts/host.ts';
import { Document } from '../components/document.tsx';
import { Link } from '../components/link.tsx';
import { Loading, useLoaded } from '../components/loading.tsx';
import { plansOf } from '../components/plans.ts';

export function ComparePlans({ runs }: { readonly runs: readonly RunView[] }) {
  return (
    <div className="columns" tabIndex={0} role="region" aria-label="Plans side by side">
      {runs.map((run) => (
        <Column key={run.id} run={run} />
      ))}
    </div>
  );
}

function Column({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const plan = plansOf(run).at(-1);
  const content = useLoaded(plan?.id ?? null, () => client.getArtifact(run.id, plan?.id ?? ''));
  return (
    <section aria-label={`Plan of ${run.originalRequest}`}>
      <h2>
        <Link to={{ name: 'run', runId: run.id, tab: 'plan' }}>{run.originalRequest}</Link>
      </h2>
      {plan === undefined ? (
        <p className="quiet">There is no plan yet.</p>
      ) : (
        <>
          <p className="quiet">
            Version {plan.version}
            {plan.approvedBy === undefined ? '' : `, approved by ${withoutTerminal(plan.approvedBy)}`}
          </p>
          <Loading of={content} what="The plan">
            {({ content: text }) => <Document text={text} title={`Plan of ${run.originalRequest}`} />}
          </Loading>
        </>
      )}
    </section>
  );
}
