/** The plan of a run: the document as it is drawn, its source beside it, earlier versions, and what the plan demands. */
import type { Artifact, JsonValue, RunView } from '@autonomous/shared';
import { useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { Document } from '../parts/document.tsx';
import { valueOf } from '../parts/elements.ts';
import { Loading, useLoaded } from '../parts/loading.tsx';

export function Plan({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const versions = plansOf(run);
  const [chosen, setChosen] = useState<string | null>(null);
  const [showsSource, setShowsSource] = useState(false);
  const artifact = versions.find(({ id }) => id === chosen) ?? versions.at(-1);
  const content = useLoaded(artifact?.id ?? null, () => client.getArtifact(run.id, artifact?.id ?? ''));
  if (artifact === undefined) return <Draft run={run} />;

  return (
    <section aria-label="Plan" className="plan">
      <div className="toolbar">
        {versions.length > 1 && (
          <label>
            Version{' '}
            <vscode-single-select value={artifact.id} onchange={(event) => setChosen(valueOf(event))}>
              {versions.map(({ id, version }) => (
                <vscode-option key={id} value={id} selected={id === artifact.id}>
                  {`${version}${id === versions.at(-1)?.id ? ' (newest)' : ''}`}
                </vscode-option>
              ))}
            </vscode-single-select>
          </label>
        )}
        <label>
          <input type="checkbox" checked={showsSource} onChange={({ target }) => setShowsSource(target.checked)} />{' '}
          Source
        </label>
        {artifact.approvedBy !== undefined && <span className="quiet">approved by {artifact.approvedBy}</span>}
        {artifact.scripted === true && <span className="notice">written by a scripted model</span>}
      </div>
      <Loading of={content} what="The plan">
        {({ content: text, parsedConstraints }) => (
          <div className={showsSource ? 'beside' : ''}>
            <Document text={text} title="Plan" />
            {showsSource && (
              <pre className="source" tabIndex={0} aria-label="Source of the plan">
                {text}
              </pre>
            )}
            <Constraints of={parsedConstraints} />
          </div>
        )}
      </Loading>
    </section>
  );
}

/** A plan that could not be parsed is in its gate alone. */
function Draft({ run }: { readonly run: RunView }) {
  const draft = run.gate?.details['draft'];
  if (typeof draft !== 'string') return <p className="empty">There is no plan yet.</p>;
  return (
    <section aria-label="Plan">
      <p className="fault">This draft could not be taken: see what the parser says at the gate.</p>
      <pre className="source" tabIndex={0} aria-label="Source of the draft">
        {draft}
      </pre>
    </section>
  );
}

/** Versions of the run's plan, oldest first. */
export function plansOf({ artifacts }: Pick<RunView, 'artifacts'>): readonly Artifact[] {
  return artifacts.filter(({ type, stage }) => stage === 'planning' && (type === 'mermaid_diagram' || type === 'spec'));
}

/** What a person reads of one demand; one of a kind that is not known here as it is stored. */
export function demandText(demand: JsonValue): string {
  if (typeof demand === 'string') return demand;
  if (typeof demand === 'object' && demand !== null && 'type' in demand) {
    const { type, route, from, to } = demand;
    if (type === 'route_exists' && typeof route === 'string') return `${route} exists`;
    if (type === 'conditional_branch' && Array.isArray(to)) return `“${String(from)}” leads to ${to.join(' or ')}`;
  }
  return JSON.stringify(demand);
}

const DEMANDS: Readonly<Record<string, string>> = {
  requiredRoutes: 'Routes and pages',
  requiredComponents: 'Components',
  dataEntities: 'Entities',
  validationRules: 'Rules',
};

function Constraints({ of }: { readonly of: JsonValue | undefined }) {
  if (typeof of !== 'object' || of === null || Array.isArray(of)) return null;
  const demands = Object.entries(of).flatMap(([kind, each]) =>
    Array.isArray(each) && each.length > 0 ? [[kind, each] as const] : [],
  );
  if (demands.length === 0) return null;
  return (
    <aside aria-label="What the result is held against">
      <h3>The result is held against</h3>
      {demands.map(([kind, each]) => (
        <div key={kind}>
          <h4>{DEMANDS[kind] ?? kind}</h4>
          <ul>
            {(each as readonly JsonValue[]).map((demand) => {
              const text = demandText(demand);
              return <li key={text}>{text}</li>;
            })}
          </ul>
        </div>
      ))}
    </aside>
  );
}
