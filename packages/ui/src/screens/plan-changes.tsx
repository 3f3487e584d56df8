/** Changes from one version of a plan to the next: on its diagrams, as a list, and in its source side by side. */
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { type ChangeKind, type DiagramChange, diagramChanges } from '../components/diagram/diagram-changes.ts';
import { DrawnDiagram, type Drawing, useDrawing } from '../components/diagram/diagram.tsx';
import { type Mark, type MarksOf, SIGNS } from '../components/diagram/diagram-marks.ts';
import { blocksOf } from '../components/document.tsx';
import { lineDiff } from '../components/review/line-diff.ts';

export interface PlanText {
  readonly version: number;
  readonly text: string;
}

const WORDS: Readonly<Record<ChangeKind, string>> = { added: 'new', changed: 'changed', removed: 'removed' };

export function PlanChanges({ before, after }: { readonly before: PlanText; readonly after: PlanText }) {
  const pairs = useMemo(() => diagramPairs(before.text, after.text), [before.text, after.text]);
  return (
    <section aria-label={`What changed since version ${before.version}`} className="plan-changes">
      <Legend />
      {pairs.map(([old, now], index) => (
        <DiagramPair
          key={index}
          title={pairs.length > 1 ? `Diagram ${index + 1}` : 'Diagram'}
          before={old === null ? null : { version: before.version, text: old }}
          after={now === null ? null : { version: after.version, text: now }}
        />
      ))}
      <h2>Source</h2>
      <SourceChanges before={before} after={after} />
    </section>
  );
}

function Legend() {
  return (
    <ul className="sign-legend" aria-label="Signs on the diagrams">
      {(['added', 'changed', 'removed'] as const).map((kind) => (
        <li key={kind}>
          <span className={`sign ${kind}`} aria-hidden="true">
            {SIGNS[kind]}
          </span>{' '}
          {WORDS[kind]}
        </li>
      ))}
    </ul>
  );
}

/** Diagrams of both that are the same one: those with the same first line (their type) in the same order. */
export function diagramPairs(before: string, after: string): readonly (readonly [string | null, string | null])[] {
  const left = sourcesOf(before);
  const pairs = sourcesOf(after).map((source): readonly [string | null, string | null] => {
    const at = left.findIndex((other) => typeOf(other) === typeOf(source));
    return [at === -1 ? null : (left.splice(at, 1)[0] ?? null), source];
  });
  return [...pairs, ...left.map((source): readonly [string, null] => [source, null])];
}

function sourcesOf(text: string): string[] {
  return blocksOf(text).flatMap((block) => (block.kind === 'diagram' ? [block.source] : []));
}

/** `flowchart` for `flowchart TD`; front matter, directives and comments come before it. */
function typeOf(source: string): string {
  const lines = source.replace(/^\s*---\n[\s\S]*?\n---\n/, '').split('\n');
  const first = lines.map((line) => line.trim()).find((line) => line !== '' && !line.startsWith('%%')) ?? '';
  return first.split(/\s/)[0]?.replace(/^graph$/, 'flowchart') ?? '';
}

function DiagramPair({
  title,
  before,
  after,
}: {
  readonly title: string;
  readonly before: PlanText | null;
  readonly after: PlanText | null;
}) {
  const [old, now] = [useDrawing(before?.text ?? null), useDrawing(after?.text ?? null)];
  const changes = useMemo(() => changesOf(old, now), [old, now]);
  const marksBefore = useMarks(changes, 'before');
  const marksAfter = useMarks(changes, 'after');
  const side = (plan: PlanText | null, drawing: Drawing, marksOf: MarksOf, missing: string): ReactNode => (
    <div>
      <h3>{plan === null ? missing : `Version ${plan.version}`}</h3>
      {plan !== null && (
        <DrawnDiagram
          drawing={drawing}
          source={plan.text}
          title={`${title} of version ${plan.version}, with what changed`}
          marksOf={marksOf}
        />
      )}
    </div>
  );
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <div className="beside">
        {side(before, old, marksBefore, 'Not there before')}
        {side(after, now, marksAfter, 'Not there any more')}
      </div>
      {before !== null && after !== null && <ChangeList changes={changes} isSame={before.text === after.text} />}
    </section>
  );
}

function ChangeList({
  changes,
  isSame,
}: {
  readonly changes: readonly DiagramChange[] | null;
  readonly isSame: boolean;
}) {
  const [isLong, setLong] = useState(false);
  if (changes === null) return null;
  if (changes.length === 0) {
    return <p className="quiet">{isSame ? 'Nothing changed.' : 'No node and no edge changed; see the source.'}</p>;
  }
  const shown = isLong ? changes : changes.slice(0, 30);
  return (
    <>
      <ul className="changes" aria-label="What changed">
        {shown.map(({ kind, text }, index) => (
          <li key={`${index} ${text}`}>
            <span className={`sign ${kind}`} aria-hidden="true">
              {SIGNS[kind]}
            </span>{' '}
            {text}
          </li>
        ))}
      </ul>
      {shown.length < changes.length && (
        <button type="button" className="link" onClick={() => setLong(true)}>
          {changes.length - shown.length} more
        </button>
      )}
    </>
  );
}

/** `null` until both are drawn. */
function changesOf(old: Drawing, now: Drawing): readonly DiagramChange[] | null {
  if (old.state !== 'drawn' || now.state !== 'drawn') return null;
  return diagramChanges(old.drawn.graph, now.drawn.graph);
}

function useMarks(changes: readonly DiagramChange[] | null, side: 'before' | 'after'): MarksOf {
  return useCallback(() => {
    const nodes = new Map<string, readonly Mark[]>();
    const edges = new Map<number, Mark>();
    for (const change of changes ?? []) {
      const place = change[side];
      const mark: Mark = { kind: change.kind, label: change.text };
      if (typeof place === 'string') nodes.set(place, [mark]);
      if (typeof place === 'number') edges.set(place, mark);
    }
    return { nodes, edges };
  }, [changes, side]);
}

function SourceChanges({ before, after }: { readonly before: PlanText; readonly after: PlanText }) {
  const lines = useMemo(() => lineDiff(before.text, after.text), [before.text, after.text]);
  return (
    <div className="patch side-by-side" tabIndex={0} role="region" aria-label="Source of both versions">
      <table>
        <thead>
          <tr>
            <th scope="col" colSpan={3}>
              Version {before.version}
            </th>
            <th scope="col" colSpan={3}>
              Version {after.version}
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ kind, before: was, after: is }) => (
            <tr key={`${was?.number ?? ''}:${is?.number ?? ''}`}>
              <td className="number">{was?.number}</td>
              <td className="mark">{kind !== 'same' && was !== null ? SIGNS.removed : ''}</td>
              <td className={`code ${kind !== 'same' && was !== null ? 'removed' : ''}`}>{was?.text}</td>
              <td className="number">{is?.number}</td>
              <td className="mark">{kind !== 'same' && is !== null ? SIGNS.added : ''}</td>
              <td className={`code ${kind !== 'same' && is !== null ? 'added' : ''}`}>{is?.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
