/** Changes of a run, file by file. */
import type { RunView } from '@autonomous/shared';
import { type DiffReview, reviewDiff } from '@autonomous/shared/presentation';
import { useHost } from '../hosts/host.ts';
import { Loading, useLoaded } from '../components/loading.tsx';
import { Patch } from '../components/review/patch-table.tsx';
import { useReview } from '../components/review/review.ts';
import { Faults, FileWarnings } from '../components/review/review-warnings.tsx';
import { isOver } from '../components/status.tsx';
import { NothingYet } from './child-runs.tsx';

/** A file with more lines than this is shown when it is asked for. */
const LINES_AT_ONCE = 400;

export function Changes({ run }: { readonly run: RunView }) {
  const { client, editor } = useHost();
  const diff = useLoaded(`${run.id} ${run.headCommit ?? ''}`, async () => {
    const found = await client.getDiff(run.id);
    return { ...found, review: reviewDiff(found) };
  });
  return (
    <section aria-label="Changes">
      <Loading of={diff} what="The changes" isDecided={run.gate !== null}>
        {(value) =>
          value.files.length === 0 ? (
            <NoChanges run={run} />
          ) : (
            <>
              <Faults review={value.review} />
              <p className="quiet">
                {filesText(value.files.map(({ path }) => path))}, {value.from.slice(0, 8)} → {value.to.slice(0, 8)}{' '}
                {editor !== undefined && (
                  <vscode-button secondary onClick={() => editor.openDiff(run.id)}>
                    Open all in the editor
                  </vscode-button>
                )}
              </p>
              <Files
                run={run}
                review={value.review}
                onOpen={editor === undefined ? null : (path) => editor.openDiff(run.id, path)}
              />
            </>
          )
        }
      </Loading>
    </section>
  );
}

export function NoChanges({ run }: { readonly run: RunView }) {
  return (
    <p className="empty">
      <NothingYet run={run} text="Nothing has changed yet." ofItself="This run itself has changed nothing yet." />
    </p>
  );
}

interface FilesProps {
  readonly run: RunView;
  readonly review: DiffReview;
  readonly onOpen: ((path: string) => void) | null;
}

function Files({ run, review, onOpen }: FilesProps) {
  const comments = useReview(run);
  // Nobody hears what is said beside a result that is published.
  const isOpen = !isOver(run);
  const marginOf = (path: string) => (isOpen && !isOwn(path) ? comments.marginOf(path) : undefined);
  const ownLast = review.files.toSorted((one, other) => Number(isOwn(one.path)) - Number(isOwn(other.path)));
  return ownLast.map((file) => {
    const { path, status, additions, deletions } = file;
    const lines = additions + deletions;
    return (
      <details key={path} className="file" open={lines <= LINES_AT_ONCE && !isOwn(path)}>
        <summary>
          <span className={`change ${status}`}>{status}</span> <code>{path}</code>{' '}
          <span className="added">+{additions}</span> <span className="removed">−{deletions}</span>{' '}
          {onOpen !== null && (
            <button type="button" className="link" onClick={() => onOpen(path)}>
              Open in the editor
            </button>
          )}
        </summary>
        <FileWarnings file={file} />
        <Patch file={file} margin={marginOf(path)} />
      </details>
    );
  });
}

/** `3 files and 5 of the server`: files that the server itself keeps are counted apart. */
export function filesText(paths: readonly string[]): string {
  const own = paths.filter(isOwn).length;
  const others = paths.length - own;
  return `${others} ${others === 1 ? 'file' : 'files'}${own === 0 ? '' : ` and ${own} of the server`}`;
}

/** True for files that the server itself keeps in the repository. They interest less than the requested changes. */
export function isOwn(path: string): boolean {
  return path.startsWith('.autonomous/');
}
