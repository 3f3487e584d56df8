/** A document of a run that is a PDF: its newest version, or an earlier one. */
import { type DocumentInfo, type RunView, wordsOf } from '@autonomous/shared';
import { useState } from 'react';
import { valueOf } from '../components/elements.ts';
import { Loading, useLoaded } from '../components/loading.tsx';
import { Pdf } from '../components/pdf.tsx';
import { useHost } from '../hosts/host.ts';

interface RunPdfProps {
  readonly run: RunView;
  /** Artifact type. */
  readonly type: string;
  readonly info: DocumentInfo;
  /** Why there is none, in whole sentences. Absent: a common sentence. */
  readonly absent?: string | undefined;
}

export function RunPdf({ run, type, info, absent }: RunPdfProps) {
  const { client } = useHost();
  const versions = run.artifacts.filter((artifact) => artifact.type === type);
  const [chosen, setChosen] = useState<string | null>(null);
  const artifact = versions.find(({ id }) => id === chosen) ?? versions.at(-1);
  const content = useLoaded(artifact?.id ?? null, () => client.getArtifact(run.id, artifact?.id ?? ''));
  if (artifact === undefined)
    return (
      <p className="empty" role="status">
        {absent ?? `There is no ${wordsOf(info.title)} yet.`}
      </p>
    );
  return (
    <section aria-label={info.title}>
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
        {artifact.scripted === true && <span className="notice">written by a scripted model</span>}
      </div>
      <Loading of={content} what={`The ${wordsOf(info.title)}`} isDecided={run.gate !== null}>
        {({ id, content: base64, gitPath = '' }) => (
          <Pdf
            key={id}
            id={id}
            content={base64}
            title={wordsOf(info.title)}
            fileName={gitPath.slice(gitPath.lastIndexOf('/') + 1) || 'document.pdf'}
          />
        )}
      </Loading>
    </section>
  );
}
