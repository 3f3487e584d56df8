/** The newest versions of the runs' first document, drawn next to each other. */
import { type RunView, wordsOf } from '@autonomous/shared';
import { withoutTerminal } from '@autonomous/shared/presentation';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { tabsOf } from '../../run-tabs.ts';
import { Document } from '../../components/document.tsx';
import { Link } from '../../components/link.tsx';
import { Loading, useLoaded } from '../../components/loading.tsx';

export function CompareDocuments({ runs }: { readonly runs: readonly RunView[] }) {
  return (
    <div className="columns" tabIndex={0} role="region" aria-label="Documents side by side">
      {runs.map((run) => (
        <Column key={run.id} run={run} />
      ))}
    </div>
  );
}

function Column({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const shown = tabsOf(run, useWorkflow(run)).find(({ document }) => document !== undefined);
  const newest = run.artifacts.findLast(({ type }) => type === shown?.document?.type);
  const content = useLoaded(newest?.id ?? null, () => client.getArtifact(run.id, newest?.id ?? ''));
  const title = shown?.title ?? 'Document';
  const words = wordsOf(title);
  return (
    <section aria-label={`${title} of ${run.originalRequest}`}>
      <h2>
        <Link to={{ name: 'run', runId: run.id, ...(shown === undefined ? {} : { tab: shown.name }) }}>
          {run.originalRequest}
        </Link>
      </h2>
      {newest === undefined ? (
        <p className="quiet">There is no {words} yet.</p>
      ) : (
        <>
          <p className="quiet">
            Version {newest.version}
            {newest.approvedBy === undefined ? '' : `, approved by ${withoutTerminal(newest.approvedBy)}`}
          </p>
          <Loading of={content} what={`The ${words}`}>
            {({ content: text }) => <Document text={text} title={`${title} of ${run.originalRequest}`} />}
          </Loading>
        </>
      )}
    </section>
  );
}
