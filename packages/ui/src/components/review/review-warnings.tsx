/** Warnings about a result's changes that a person should read before they decide, beside the lines themselves. */
import { type Artifact, documentInfoOf, presentedAt, type RunView, wordsOf } from '@autonomous/shared';
import { type DiffReview, type ReviewedFile, reviewDiff, textWarnings } from '@autonomous/shared/presentation';
import { useMemo } from 'react';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { Icon } from '../icon.tsx';
import { type Loaded, Loading, useLoaded } from '../loading.tsx';

/** Differences between git's list and the patch. Nothing below them can be trusted. */
export function Faults({ review: { faults } }: { readonly review: DiffReview }) {
  if (faults.length === 0) return null;
  return (
    <div className="fault" role="alert">
      <p>These changes are not shown as they are. Look at the run’s branch before you decide.</p>
      <ul>
        {faults.map((fault) => (
          <li key={fault}>{fault}</li>
        ))}
      </ul>
    </div>
  );
}

export function FileWarnings({ file: { warnings = [] } }: { readonly file: ReviewedFile }) {
  return <List of={warnings} />;
}

/** Of a text that is shown as a whole, such as a plan. */
export function TextWarnings({ text, where }: { readonly text: string; readonly where: string }) {
  const warnings = useMemo(() => textWarnings(text, where), [text, where]);
  return <List of={warnings} />;
}

/** Of the document or the result that the run's open gate is about: beside the decision, whatever part of the run is shown. */
export function GateWarnings({ run }: { readonly run: RunView }) {
  const workflow = useWorkflow(run);
  if (run.gate === null) return null;
  const presented = presentedAt(workflow, run.gate, run.artifacts);
  if (presented.kind === 'document') {
    const { title } = documentInfoOf(workflow, presented.type);
    return presented.artifact === undefined ? null : (
      <DocumentWarnings run={run} artifact={presented.artifact} title={title} />
    );
  }
  // A pause stops a run that may have a result already.
  const isOfResult = presented.kind === 'changes' || run.gate.reason !== undefined;
  return isOfResult ? <ResultWarnings run={run} /> : null;
}

function DocumentWarnings({
  run,
  artifact,
  title,
}: {
  readonly run: RunView;
  readonly artifact: Artifact;
  readonly title: string;
}) {
  const { client } = useHost();
  const content = useLoaded(artifact.id, () => client.getArtifact(run.id, artifact.id));
  return (
    <AtGate of={content} what={`The ${wordsOf(title)}`}>
      {({ content: text }) => <TextWarnings text={text} where={`in the ${wordsOf(title)}`} />}
    </AtGate>
  );
}

function ResultWarnings({ run }: { readonly run: RunView }) {
  const { client } = useHost();
  const isOfResult = run.headCommit !== undefined;
  const review = useLoaded(isOfResult ? `${run.id} ${run.headCommit ?? ''}` : null, async () =>
    reviewDiff(await client.getDiff(run.id)),
  );
  if (!isOfResult) return null;
  return (
    <AtGate of={review} what="The changes">
      {(value) => (
        <>
          <Faults review={value} />
          <ReviewWarnings review={value} />
        </>
      )}
    </AtGate>
  );
}

/** Nothing that is older than the decision stands beside it, and what could not be looked at is said. */
function AtGate<Value>({
  of,
  what,
  children,
}: {
  readonly of: Loaded<Value>;
  readonly what: string;
  readonly children: (value: Value) => React.ReactNode;
}) {
  return of.fault === null && (of.value === null || of.isOld) ? null : (
    <Loading of={of.isOld ? { ...of, value: null } : of} what={what}>
      {children}
    </Loading>
  );
}

function List({ of: warnings }: { readonly of: readonly string[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul className="warnings">
      {warnings.map((warning) => (
        <li key={warning}>
          <Icon name="warning" /> {sentence(warning)}
        </li>
      ))}
    </ul>
  );
}

/** How many files have warnings, each with its own: nothing where none has. */
function ReviewWarnings({ review: { files } }: { readonly review: DiffReview }) {
  const warned = files.filter(({ warnings = [] }) => warnings.length > 0);
  if (warned.length === 0) return null;
  return (
    <div className="warnings" role="note">
      <p>
        <Icon name="warning" /> {warned.length === 1 ? 'One file needs' : `${warned.length} files need`} a closer look:
      </p>
      <ul>
        {warned.map(({ path, warnings = [] }) => (
          <li key={path}>
            <code>{path}</code>: {warnings.join('; ')}
          </li>
        ))}
      </ul>
    </div>
  );
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
