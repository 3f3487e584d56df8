/** What a run changed, file by file. */
import { parsePatch, type RunDiff, type RunView } from '@autonomous/shared';
import { useMemo } from 'react';
import { useHost } from '../hosts/host.ts';
import { lineNotes, useLineNotes } from '../parts/line-notes.ts';
import { Loading, useLoaded } from '../parts/loading.tsx';
import { Patch } from '../parts/patch-table.tsx';
import { isOver } from '../parts/status.tsx';

/** A file with more lines than this is shown when it is asked for. */
const LINES_AT_ONCE = 400;

export function Changes({ run }: { readonly run: RunView }) {
  const { client, editor } = useHost();
  const diff = useLoaded(`${run.id} ${run.headCommit ?? ''}`, () => client.getDiff(run.id));
  return (
    <section aria-label="Changes">
      <Loading of={diff} what="The changes">
        {(value) =>
          value.files.length === 0 ? (
            <p className="empty">Nothing has changed yet.</p>
          ) : (
            <>
              <p className="quiet">
                {value.files.length} {value.files.length === 1 ? 'file' : 'files'}, {value.from.slice(0, 8)} →{' '}
                {value.to.slice(0, 8)}{' '}
                {editor !== undefined && (
                  <vscode-button secondary onClick={() => editor.openDiff(run.id)}>
                    Open all in the editor
                  </vscode-button>
                )}
              </p>
              <Files
                run={run}
                diff={value}
                onOpen={editor === undefined ? null : (path) => editor.openDiff(run.id, path)}
              />
              {value.truncated && <p className="quiet">The rest is cut off after 1 MB: see the branch {run.branch}.</p>}
            </>
          )
        }
      </Loading>
    </section>
  );
}

interface FilesProps {
  readonly run: RunView;
  readonly diff: RunDiff;
  readonly onOpen: ((path: string) => void) | null;
}

function Files({ run, diff, onOpen }: FilesProps) {
  const notes = useLineNotes(run.id);
  // Nobody hears what is said beside a result that is published.
  const isOpen = !isOver(run);
  const marginOf = (path: string) =>
    isOpen && !isOwn(path)
      ? {
          notes: notes.filter((note) => note.path === path),
          onAdd: (line: number, text: string) => lineNotes.trigger.added({ runId: run.id, note: { path, line, text } }),
          onRemove: (note: (typeof notes)[number]) => lineNotes.trigger.removed({ runId: run.id, note }),
        }
      : undefined;
  const patches = useMemo(() => new Map(parsePatch(diff.patch).map((file) => [file.path, file])), [diff]);
  const ownLast = diff.files.toSorted((one, other) => Number(isOwn(one.path)) - Number(isOwn(other.path)));
  return ownLast.map(({ path, status, additions, deletions }) => {
    const patch = patches.get(path);
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
        {patch === undefined ? (
          <p className="quiet">Not in what the server sent.</p>
        ) : (
          <Patch file={patch} margin={marginOf(path)} />
        )}
      </details>
    );
  });
}

/** What the server itself keeps in the repository: of less interest than what was asked for. */
export function isOwn(path: string): boolean {
  return path.startsWith('.autonomous/');
}
