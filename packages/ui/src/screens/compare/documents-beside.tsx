/** Documents of a run beside its overview: one of them at a time. */
import { type DocumentInfo, documentInfoOf, presentedAt, type RunView } from '@autonomous/shared';
import { useId, useState } from 'react';
import { useWorkflow } from '../../hosts/host.ts';
import { RunDocument } from '../run/run-document.tsx';
import { RunPdf } from '../run/run-pdf.tsx';

const SHOWN: ReadonlySet<DocumentInfo['drawnAs']> = new Set(['markdown', 'diagrams', 'pdf']);

/** @param absent why the run has no document of a type, by artifact type */
export function DocumentsBeside({
  run,
  absent,
}: {
  readonly run: RunView;
  readonly absent: Readonly<Record<string, string>>;
}) {
  const name = useId();
  const workflow = useWorkflow(run);
  const [chosen, setChosen] = useState<string | null>(null);
  const documents = Object.entries(workflow?.documents ?? {}).filter(([, { drawnAs }]) => SHOWN.has(drawnAs));
  const presented = run.gate === null ? null : presentedAt(workflow, run.gate, run.artifacts);
  const first = presented?.kind === 'document' ? presented.type : documents[0]?.[0];
  const type = documents.find(([each]) => each === chosen)?.[0] ?? first;
  if (type === undefined) return null;
  const info = documentInfoOf(workflow, type);
  return (
    <aside className="documents-beside" aria-label="Documents of the run">
      {documents.length > 1 && (
        <fieldset className="choice-of-documents">
          <legend className="hidden">Shown document</legend>
          {documents.map(([each, { title }]) => (
            <label key={each}>
              <input type="radio" name={name} checked={each === type} onChange={() => setChosen(each)} /> {title}
            </label>
          ))}
        </fieldset>
      )}
      {info.drawnAs === 'pdf' ? (
        <RunPdf key={type} run={run} type={type} info={info} absent={absent[type]} />
      ) : (
        <RunDocument key={type} run={run} type={type} info={info} />
      )}
    </aside>
  );
}
