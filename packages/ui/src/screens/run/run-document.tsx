/** A document of a run: as it is drawn, its source beside it, earlier versions, and the constraints that a plan among them makes. */
import {
  type Artifact,
  type ArtifactContent,
  type DocumentInfo,
  gateInfoOf,
  type JsonObject,
  type JsonValue,
  presentedAt,
  type RunView,
  wordsOf,
} from '@autonomous/shared';
import { withoutTerminal } from '@autonomous/shared/presentation';
import { constraintsOf, type ParsedConstraints, type ValidationRule } from '@autonomous/shared/diagram';
import { useMemo, useState } from 'react';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { editingGate } from '../../editing-gate.ts';
import { Constraints, type ListedConstraint } from '../../components/constraints.tsx';
import { Document } from '../../components/document.tsx';
import { valueOf } from '../../components/elements.ts';
import { Loading, useLoaded } from '../../components/loading.tsx';
import { TextWarnings } from '../../components/review/review-warnings.tsx';
import { DEMAND_LABELS, constraintStanding } from '../constraint-states.ts';
import { EditedDocument } from '../edited-document.tsx';
import { PlanChanges } from '../plan-changes.tsx';

interface DocumentProps {
  readonly run: RunView;
  /** Artifact type. */
  readonly type: string;
  readonly info: DocumentInfo;
}

export function RunDocument({ run, type, info }: DocumentProps) {
  const { client } = useHost();
  const workflow = useWorkflow(run);
  const versions = run.artifacts.filter((artifact) => artifact.type === type);
  const [chosen, setChosen] = useState<string | null>(null);
  const [showsSource, setShowsSource] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const [comparesTo, setComparesTo] = useState<string | null>(null);
  // A document is edited where it can be approved.
  const gate = editingGate(run, workflow, type);
  const artifact = versions.find(({ id }) => id === chosen) ?? versions.at(-1);
  const content = useLoaded(artifact?.id ?? null, () => client.getArtifact(run.id, artifact?.id ?? ''));
  const earlier = artifact === undefined ? [] : versions.slice(0, versions.indexOf(artifact));
  const compared = earlier.find(({ id }) => id === comparesTo);
  const before = useLoaded(compared?.id ?? null, () => client.getArtifact(run.id, compared?.id ?? ''));
  if (artifact === undefined) return <Draft run={run} type={type} info={info} />;

  return (
    <section aria-label={info.title} className="plan">
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
        <SourceChoice isOn={showsSource} onChange={setShowsSource} />
        {gate !== null && !isEditing && artifact.id === versions.at(-1)?.id && (
          <button type="button" className="link" onClick={() => setEditing(true)}>
            {`Edit the ${wordsOf(info.title)}`}
          </button>
        )}
        {artifact.approvedBy !== undefined && (
          <span className="quiet">approved by {withoutTerminal(artifact.approvedBy)}</span>
        )}
        {artifact.scripted === true && <span className="notice">written by a scripted model</span>}
      </div>
      <Loading of={content} what={`The ${wordsOf(info.title)}`} isDecided={run.gate !== null}>
        {(plan) =>
          isEditing && gate !== null ? (
            <EditedDocument info={info} gate={gate} text={plan.content} onClose={() => setEditing(false)} />
          ) : compared === undefined ? (
            <Shown run={run} plan={plan} info={info} showsSource={showsSource} />
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
  info,
  showsSource,
}: {
  readonly run: RunView;
  readonly plan: ArtifactContent;
  readonly info: DocumentInfo;
  readonly showsSource: boolean;
}) {
  const workflow = useWorkflow(run);
  const found = listedConstraints(run, plan, plan.parsedConstraints);
  const key = JSON.stringify(found);
  // A run moves on with every event, and its plan is marked anew only where that says something else of it.
  const constraints = useMemo(() => found, [key]);
  const presented = run.gate === null ? null : presentedAt(workflow, run.gate, run.artifacts);
  const isWarnedOfAtGate = presented?.kind === 'document' && presented.artifact?.id === plan.id;
  return (
    <Constraints all={constraints}>
      {!isWarnedOfAtGate && <TextWarnings text={plan.content} where={`in the ${wordsOf(info.title)}`} />}
      <WithSource text={plan.content} info={info} showsSource={showsSource} />
    </Constraints>
  );
}

function WithSource({
  text,
  info,
  showsSource,
}: {
  readonly text: string;
  readonly info: DocumentInfo;
  readonly showsSource: boolean;
}) {
  return (
    <div className={showsSource ? 'beside' : ''}>
      <Document text={text} title={info.title} />
      {showsSource && (
        <pre className="source" tabIndex={0} aria-label={`Source of the ${wordsOf(info.title)}`}>
          {text}
        </pre>
      )}
    </div>
  );
}

function SourceChoice({ isOn, onChange }: { readonly isOn: boolean; readonly onChange: (isOn: boolean) => void }) {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={({ target }) => onChange(target.checked)} /> Source
    </label>
  );
}

/** A document that could not be parsed is in its gate alone. Each of its diagrams is drawn, or shows its own fault and source. */
function Draft({ run, type, info }: DocumentProps) {
  const workflow = useWorkflow(run);
  const [isEditing, setEditing] = useState(false);
  const [showsSource, setShowsSource] = useState(false);
  const gate = editingGate(run, workflow, type);
  const isPresented = run.gate !== null && gateInfoOf(workflow, run.gate.kind).document === type;
  const draft = isPresented ? run.gate?.details['draft'] : undefined;
  if (typeof draft !== 'string') return <p className="empty">There is no {wordsOf(info.title)} yet.</p>;
  return (
    <section aria-label={info.title} className="plan">
      <p className="fault">This draft could not be used: see the parser's message at the gate.</p>
      {isEditing && gate !== null ? (
        <EditedDocument info={info} gate={gate} text={draft} onClose={() => setEditing(false)} />
      ) : (
        <>
          <div className="toolbar">
            <SourceChoice isOn={showsSource} onChange={setShowsSource} />
            {gate !== null && (
              <button type="button" className="link" onClick={() => setEditing(true)}>
                Correct it yourself
              </button>
            )}
          </div>
          <WithSource text={draft} info={info} showsSource={showsSource} />
        </>
      )}
    </section>
  );
}

/** Returns the plan's constraints with the state of each in this run, in the plan's order. */
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

/** Parses the constraints stored with a plan, perhaps by another version of this program. Unknown ones are left out. */
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
