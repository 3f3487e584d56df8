/** A document of a run that is a PDF: its newest version, an earlier one, or one that is compiled while the reader waits. */
import { type CompiledDocument, type DocumentInfo, documentInfoOf, type RunView, wordsOf } from '@autonomous/shared';
import { useState } from 'react';
import { valueOf } from '../../components/elements.ts';
import { Loading, useLoaded } from '../../components/loading.tsx';
import { Pdf } from '../../components/pdf/pdf.tsx';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { messageOf } from '../../hosts/messages.ts';

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
  const [compiled, setCompiled] = useState<CompiledDocument | null>(null);
  const artifact = versions.find(({ id }) => id === chosen) ?? versions.at(-1);
  const content = useLoaded(artifact?.id ?? null, () => client.getArtifact(run.id, artifact?.id ?? ''));
  const isCompiled = compiled?.content !== undefined;
  const choose = (id: string): void => {
    setChosen(id);
    setCompiled(null);
  };
  return (
    <section aria-label={info.title}>
      <div className="toolbar">
        {versions.length > (isCompiled ? 0 : 1) && (
          <label>
            Version{' '}
            <vscode-single-select
              label="Version"
              value={isCompiled ? '' : (artifact?.id ?? '')}
              onchange={(event) => choose(valueOf(event))}
            >
              {isCompiled && (
                <vscode-option value="" selected>
                  {`${compiled.version} (compiled now)`}
                </vscode-option>
              )}
              {versions.map(({ id, version }) => (
                <vscode-option key={id} value={id} selected={!isCompiled && id === artifact?.id}>
                  {`${version}${id === versions.at(-1)?.id ? ' (newest)' : ''}`}
                </vscode-option>
              ))}
            </vscode-single-select>
          </label>
        )}
        {artifact?.scripted === true && <span className="notice">written by a scripted model</span>}
        <Compile run={run} type={type} info={info} shown={compiled ?? versions.at(-1)} onCompiled={setCompiled} />
      </div>
      {isCompiled ? (
        <>
          <p className="quiet">Compiled from version {compiled.version} for you; save it to keep it.</p>
          <Pdf
            key={compiled.commit}
            id={`compiled ${compiled.commit}`}
            content={compiled.content ?? ''}
            title={wordsOf(info.title)}
            fileName={compiled.fileName}
          />
        </>
      ) : artifact === undefined ? (
        <p className="empty" role="status">
          {absent ?? `There is no ${wordsOf(info.title)} yet.`}
        </p>
      ) : (
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
      )}
    </section>
  );
}

interface CompileProps extends Omit<RunPdfProps, 'absent'> {
  /** The newest PDF that is there. */
  readonly shown: { readonly version: number } | undefined;
  readonly onCompiled: (compiled: CompiledDocument) => void;
}

/** Offered while the text has a version that no PDF is of. */
function Compile({ run, type, info: { compiledFrom }, shown, onCompiled }: CompileProps) {
  const { client } = useHost();
  const workflow = useWorkflow(run);
  const [isUnderWay, setUnderWay] = useState(false);
  const [faults, setFaults] = useState<readonly string[]>([]);
  const text = run.artifacts.findLast((artifact) => artifact.type === compiledFrom);
  if (compiledFrom === undefined || text === undefined) return null;
  if (shown !== undefined && shown.version >= text.version) return null;
  const compile = (): void => {
    setUnderWay(true);
    setFaults([]);
    client
      .compileDocument(run.id, type)
      .then(
        (compiled) => {
          if (compiled.content === undefined) setFaults(whyNot(compiled));
          else onCompiled(compiled);
        },
        (error: unknown) => setFaults([messageOf(error)]),
      )
      .finally(() => setUnderWay(false));
  };
  const words = wordsOf(documentInfoOf(workflow, compiledFrom).title);
  return (
    <>
      {isUnderWay ? (
        <span className="quiet" role="status">
          Compiling the {words}…
        </span>
      ) : (
        <button
          type="button"
          className="link"
          title={`Sets version ${text.version} of the ${words} by LaTeX. The run is not changed.`}
          onClick={compile}
        >
          Compile version {text.version}
        </button>
      )}
      {faults.length > 0 && (
        <ul className="fault" role="alert">
          {faults.map((fault) => (
            <li key={fault}>{fault}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function whyNot({ outcome, fileName, errors = [], missing = [] }: CompiledDocument): readonly string[] {
  return outcome === 'absent'
    ? [`There is no LaTeX where commands run. Missing: ${missing.join(', ')}.`]
    : [`LaTeX does not compile ${fileName}:`, ...errors];
}
