/** Changes of several runs, file by file, with files that can be taken from one run into another. */
import type { FileChange, RunDiff, RunView } from '@autonomous/shared';
import { type ReviewedFile, reviewDiff } from '@autonomous/shared/presentation';
import { useSelector } from '@xstate/store-react';
import { useMemo, useState } from 'react';
import { useHost } from '../../hosts/host.ts';
import { Loading, useLoaded } from '../../components/loading.tsx';
import { Patch } from '../../components/review/patch-table.tsx';
import { Faults, FileWarnings } from '../../components/review/review-warnings.tsx';
import { RunTable } from '../../components/run-table.tsx';
import { isOwn } from '../changes.tsx';
import type { RunChanges } from '../run/run-changes.ts';
import { type Choice, TakeFiles, takesFiles } from '../take-files.tsx';

export function CompareChanges({ runs }: { readonly runs: readonly RunView[] }) {
  const { client } = useHost();
  const heads = runs.map(({ id, headCommit }) => `${id} ${headCommit ?? ''}`).join(' ');
  const diffs = useLoaded(heads, () => Promise.all(runs.map(({ id }) => client.getDiff(id))));
  return (
    <Loading of={diffs} what="The changes">
      {(all) => <Compared runs={runs} diffs={all} />}
    </Loading>
  );
}

function Compared({ runs, diffs }: { readonly runs: readonly RunView[]; readonly diffs: readonly RunDiff[] }) {
  const results = useMemo(
    () =>
      runs.flatMap((run, index): readonly RunChanges[] => {
        const diff = diffs[index];
        if (diff === undefined) return [];
        const review = reviewDiff(diff);
        return [{ run, diff, review, byPath: new Map(review.files.map((file) => [file.path, file])) }];
      }),
    [runs, diffs],
  );
  const paths = useMemo(() => pathsOf(results), [results]);
  const [choice, setChoice] = useState<Choice | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  const { workflows } = useHost();
  const catalog = useSelector(workflows, ({ context }) => context);
  const canTake = runs.some((run) => takesFiles(run, catalog) !== null);
  if (paths.length === 0) return <p className="empty">None of the runs has changed anything yet.</p>;

  /** Files come from one other run at a time: a box in another column begins a new choice. */
  const choose = (runId: string, commit: string, path: string): void =>
    setChoice((before) => {
      if (before?.runId !== runId || before.commit !== commit) return { runId, commit, paths: [path] };
      const isIn = before.paths.includes(path);
      const left = isIn ? before.paths.filter((each) => each !== path) : [...before.paths, path];
      return left.length === 0 ? null : { ...before, paths: left };
    });

  return (
    <>
      <p className="quiet">
        {canTake
          ? 'Tick files of one approach to take them into another that waits with its result. The result is then checked again.'
          : 'Files can be taken from one approach into another while that one waits for you with its result: launch approaches so that you are asked about the result.'}
      </p>
      {results.map(({ run, review }) => (
        <Faults key={run.id} review={review} />
      ))}
      <RunTable
        label="Changes side by side"
        runs={results.map(({ run }) => run)}
        tab="changes"
        rows={paths.map((path) => ({
          key: path,
          title: (
            <button
              type="button"
              className="link"
              aria-expanded={shown === path}
              onClick={() => setShown(shown === path ? null : path)}
            >
              <code>{path}</code>
            </button>
          ),
          show: (run) => {
            const result = results.find((each) => each.run === run);
            return (
              <Cell
                file={result?.byPath.get(path)}
                canTake={canTake && runs.some((other) => other.id !== run.id && takesFiles(other, catalog) !== null)}
                isTaken={choice?.runId === run.id && choice.paths.includes(path)}
                label={`Take ${path} from “${run.originalRequest}”`}
                onChoose={() => choose(run.id, result?.diff.to ?? '', path)}
              />
            );
          },
        }))}
      />
      {choice !== null && (
        <TakeFiles key={choice.runId} choice={choice} results={results} onDone={() => setChoice(null)} />
      )}
      {shown !== null && <Patches path={shown} results={results} />}
    </>
  );
}

function Cell({
  file,
  canTake,
  isTaken,
  label,
  onChoose,
}: {
  readonly file: FileChange | undefined;
  readonly canTake: boolean;
  readonly isTaken: boolean;
  readonly label: string;
  readonly onChoose: () => void;
}) {
  if (file === undefined) return <span className="quiet">as in the base</span>;
  return (
    <label className="taken">
      {canTake && <input type="checkbox" aria-label={label} checked={isTaken} onChange={onChoose} />}
      <span>
        {file.status} <span className="added">+{file.additions}</span>{' '}
        <span className="removed">−{file.deletions}</span>
      </span>
    </label>
  );
}

/** One file as each of the runs changed it. */
function Patches({ path, results }: { readonly path: string; readonly results: readonly RunChanges[] }) {
  return (
    <>
      <h2>
        <code>{path}</code>
      </h2>
      <div className="columns" tabIndex={0} role="region" aria-label={`${path} side by side`}>
        {results.map(({ run, byPath }) => (
          <section key={run.id} aria-label={`${path} in ${run.originalRequest}`}>
            <h3>{run.originalRequest}</h3>
            <Side file={byPath.get(path)} />
          </section>
        ))}
      </div>
    </>
  );
}

function Side({ file }: { readonly file: ReviewedFile | undefined }) {
  if (file === undefined) return <p className="quiet">As in the base.</p>;
  return (
    <>
      <FileWarnings file={file} />
      <Patch file={file} />
    </>
  );
}

/** Whatever any of them changed, what the server itself keeps in the repository aside. */
function pathsOf(results: readonly RunChanges[]): readonly string[] {
  const all = new Set(results.flatMap(({ diff }) => diff.files.map(({ path }) => path)));
  return [...all].filter((path) => !isOwn(path)).toSorted();
}
