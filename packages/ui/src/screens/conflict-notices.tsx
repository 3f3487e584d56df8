/** Conflicts that a merge of a live run would have now, with links to the other runs: in every tab of the run's page. */
import type { ForeseenConflict, RunView } from '@autonomous/shared';
import { clippedPath, sanitizeText } from '@autonomous/shared/presentation';
import { useSelector } from '@xstate/store-react';
import { Fragment } from 'react';
import { Link } from '../components/link.tsx';
import { useHost } from '../hosts/host.ts';
import { runTitle } from '../labels.ts';

/** Further conflicts are folded, as notices are. */
const SHOWN_CONFLICTS = 3;
/** Further files of one conflict are folded. */
const SHOWN_FILES = 3;

export function ConflictNotices({ run }: { readonly run: RunView }) {
  const { runs } = useHost();
  const conflicts = useSelector(runs, ({ context }) => context.conflicts[run.id]) ?? [];
  if (conflicts.length === 0) return null;
  const more = conflicts.slice(SHOWN_CONFLICTS);
  return (
    <section aria-label="Foreseen conflicts" className="notices">
      <List conflicts={conflicts.slice(0, SHOWN_CONFLICTS)} />
      {more.length > 0 && (
        <details>
          <summary>{`${more.length} more ${more.length === 1 ? 'conflict' : 'conflicts'}`}</summary>
          <List conflicts={more} />
        </details>
      )}
    </section>
  );
}

function List({ conflicts }: { readonly conflicts: readonly ForeseenConflict[] }) {
  return (
    <ul>
      {conflicts.map((conflict) => (
        <li key={conflict.with.kind === 'run' ? `run ${conflict.with.runId}` : conflict.with.branch}>
          Conflicts with <Other conflict={conflict} />: <Files conflict={conflict} />
        </li>
      ))}
    </ul>
  );
}

function Other({ conflict: { with: other } }: { readonly conflict: ForeseenConflict }) {
  const { runs } = useHost();
  const runId = other.kind === 'run' ? other.runId : null;
  const run = useSelector(runs, ({ context }) => (runId === null ? undefined : context.runs[runId]));
  if (other.kind === 'base') return <code>{sanitizeText(other.branch)}</code>;
  return (
    <Link to={{ name: 'run', runId: other.runId }}>{run === undefined ? `run ${other.runId}` : runTitle(run)}</Link>
  );
}

function Files({ conflict: { files, fileCount } }: { readonly conflict: ForeseenConflict }) {
  const more = fileCount - Math.min(files.length, SHOWN_FILES);
  const unnamed = fileCount - files.length;
  return (
    <>
      {files.slice(0, SHOWN_FILES).map((path, index) => (
        <Fragment key={path}>
          {index > 0 && ', '}
          <Path path={path} />
        </Fragment>
      ))}
      {more > 0 && (
        <details>
          <summary>{`${more} more ${more === 1 ? 'file' : 'files'}`}</summary>
          <ul>
            {files.slice(SHOWN_FILES).map((path) => (
              <li key={path}>
                <Path path={path} />
              </li>
            ))}
            {unnamed > 0 && <li>{`${unnamed} not named here`}</li>}
          </ul>
        </details>
      )}
    </>
  );
}

/** Long ones are shortened in the middle; pointing at one shows all of it. */
function Path({ path }: { readonly path: string }) {
  const whole = sanitizeText(path);
  const shown = clippedPath(whole);
  return <code title={shown === whole ? undefined : whole}>{shown}</code>;
}
