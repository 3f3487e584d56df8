/** The plan of a run: the document as it is drawn, its source beside it, earlier versions, and what the plan requires. */
import {
  type Artifact,
  type ArtifactContent,
  type JsonObject,
  type JsonValue,
  withoutTerminal,
  type RunView,
} from '@autonomous/shared';
import { constraintsOf, type ParsedConstraints, type ValidationRule } from '@autonomous/shared/diagram';
import { useMemo, useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { Constraints, type ListedConstraint } from '../components/constraints.tsx';
import { Document } from '../components/document.tsx';
import { valueOf } from '../components/elements.ts';
import { Loading, useLoaded } from '../components/loading.tsx';
import { plansOf } from '../components/plans.ts';
import { TextWarnings } from '../components/review-warnings.tsx';
import { DEMAND_LABELS, constraintStanding } from './constraint-states.ts';
import { EditedPlan } from './edited-plan.tsx';
import { PlanChanges } from './plan-changes.tsx';

export function Plan({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const versions = plansOf(run);
  const [chosen, setChosen] = useState<string | null>(null);
  const [showsSource, setShowsSource] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const [comparesTo, setComparesTo] = useState<string | null>(null);
  // A plan is edited where it can be approved.
  const gate = run.gate?.kind === 'plan' && run.gate.decisions.includes('approve') ? run.gate : null;
  const artifact = versions.find(({ id }) => id === chosen) ?? versions.at(-1);
  const content = useLoaded(artifact?.id ?? null, () => client.getArtifact(run.id, artifact?.id ?? ''));
  const earlier = artifact === undefined ? [] : versions.slice(0, versions.indexOf(artifact));
  const compared = earlier.find(({ id }) => id === comparesTo);
  const before = useLoaded(compared?.id ?? null, () => client.getArtifact(run.id, compared?.id ?? ''));
  if (artifact === undefined) return <Draft run={run} />;

  return (
    <section aria-label="Plan" className="plan">
      <div className="toolbar">
        {versions.length > 1 && (
          <label>
            Version{' '}
            <vscode-single-select label="Version" value={artifact.id} onchange={(event) => setChosen(valueOf(event))}>
              {versions.map(({ id, version }) => (
                <vscode-option key={id} value={id} selected={id === artifact.id}>
                  {`${version}${id === versions.at(-1)?.id ? ' (newest)' : ''}`}
                </vscode-option>
              ))}
            </vscode-single-select>
          </label>
        )}
        {earlier.length > 0 && !isEditing && (
          <label>
            Compare with{' '}
            <vscode-single-select
              label="Compare with"
              value={compared?.id ?? ''}
              onchange={(event) => setComparesTo(valueOf(event) || null)}
            >
              <vscode-option value="" selected={compared === undefined}>
                nothing
              </vscode-option>
              {earlier.toReversed().map(({ id, version }) => (
                <vscode-option key={id} value={id} selected={id === compared?.id}>
                  {`Version ${version}`}
                </vscode-option>
              ))}
            </vscode-single-select>
          </label>
        )}
        <label>
          <input type="checkbox" checked={showsSource} onChange={({ target }) => setShowsSource(target.checked)} />{' '}
          Source
        </label>
        {gate !== null && !isEditing && artifact.id === versions.at(-1)?.id && (
          <button type="button" className="link" onClick={() => setEditing(true)}>
            Edit the plan
          </button>
        )}
        {artifact.approvedBy !== undefined && (
          <span className="quiet">approved by {withoutTerminal(artifact.approvedBy)}</span>
        )}
        {artifact.scripted === true && <span className="notice">written by a scripted model</span>}
      </div>
      <Loading of={content} what="The plan" isDecided={run.gate !== null}>
        {(plan) =>
          isEditing && gate !== null ? (
            <EditedPlan gate={gate} text={plan.content} onClose={() => setEditing(false)} />
          ) : compared === undefined ? (
            <Shown run={run} plan={plan} showsSource={showsSource} />
          ) : (
            <Loading of={before} what={`Version ${compared.version}`}>
              {({ content, version }) => (
                <PlanChanges
                  before={{ version, text: content }}
                  after={{ version: plan.version, text: plan.content }}
                />
              )}
            </Loading>
          )
        }
      </Loading>
    </section>
  );
}

function Shown({
  run,
  plan,
  showsSource,
}: {
  readonly run: RunView;
  readonly plan: ArtifactContent;
  readonly showsSource: boolean;
}) {
  const found = listedConstraints(run, plan, plan.parsedConstraints);
  const key = JSON.stringify(found);
  // A run moves on with every event, and its plan is marked anew only where that says something else of it.
  const constraints = useMemo(() => found, [key]);
  const isWarnedOfAtGate = run.gate?.kind === 'plan' && plan.id === plansOf(run).at(-1)?.id;
  return (
    <Constraints all={constraints}>
      {!isWarnedOfAtGate && <TextWarnings text={plan.content} where="in the plan" />}
      <div className={showsSource ? 'beside' : ''}>
        <Document text={plan.content} title="Plan" />
        {showsSource && (
          <pre className="source" tabIndex={0} aria-label="Source of the plan">
            {plan.content}
          </pre>
        )}
      </div>
    </Constraints>
  );
}

/** A plan that could not be parsed is in its gate alone. */
function Draft({ run }: { readonly run: RunView }) {
  const [isEditing, setEditing] = useState(false);
  const draft = run.gate?.details['draft'];
  if (typeof draft !== 'string') return <p className="empty">There is no plan yet.</p>;
  return (
    <section aria-label="Plan">
      <p className="fault">This draft could not be used: see the parser's message at the gate.</p>
      {isEditing && run.gate !== null ? (
        <EditedPlan gate={run.gate} text={draft} onClose={() => setEditing(false)} />
      ) : (
        <>
          <button type="button" className="link" onClick={() => setEditing(true)}>
            Mend it yourself
          </button>
          <pre className="source" tabIndex={0} aria-label="Source of the draft">
            {draft}
          </pre>
        </>
      )}
    </section>
  );
}

/** What the plan requires, with how each stands in this run; in the plan's order. */
export function listedConstraints(
  run: RunView,
  plan: Artifact,
  constraints: JsonValue | undefined,
): readonly ListedConstraint[] {
  return constraintsOf(constraintsIn(constraints)).map((constraint) => {
    const { state, reason } = constraintStanding(run, plan, constraint);
    return { ...constraint, state, reason, label: DEMAND_LABELS[state], kindOfMark: `constraint-${state}` };
  });
}

/** What was stored with a plan, perhaps by another version of this program: what is not known here is left out. */
export function constraintsIn(value: JsonValue | undefined): ParsedConstraints {
  const stored = isObject(value) ? value : {};
  const names = (key: string): readonly string[] => listIn(stored[key]).filter((each) => typeof each === 'string');
  return {
    requiredRoutes: names('requiredRoutes'),
    requiredComponents: names('requiredComponents'),
    dataEntities: names('dataEntities'),
    validationRules: listIn(stored['validationRules']).flatMap((rule): ValidationRule[] => {
      if (!isObject(rule) || rule['type'] !== 'conditional_branch' || typeof rule['from'] !== 'string') return [];
      const to = listIn(rule['to']).filter((each) => typeof each === 'string');
      return [{ type: 'conditional_branch', from: rule['from'], to }];
    }),
  };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listIn(value: JsonValue | undefined): readonly JsonValue[] {
  // An array of JSON holds JSON.
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
