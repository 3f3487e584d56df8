/** All runs: who waits for a person first. Thousands of them cost what is visible. */
import { listOlderRuns, type Project, type RunView, withoutTerminal } from '@autonomous/shared';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useSelector } from '@xstate/store-react';
import { memo, useEffect, useMemo, useRef, useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { gateLine, stageTitle } from '../labels.ts';
import { messageOf } from '../hosts/messages.ts';
import { valueOf } from '../components/elements.ts';
import { Link } from '../components/link.tsx';
import { useLoaded } from '../components/loading.tsx';
import { isOver, StatusIcon } from '../components/status.tsx';
import { Ago } from '../components/times.tsx';
import { isWaiting, waitingFirst } from '../run-order.ts';

const ROW_PX = 64;
const HEADING_PX = 36;
const FINISHED = 'Finished';
/** No line is that long; a request may be a whole page, and the browser would measure all of it. */
const LINE_LENGTH = 400;

type Row =
  | { readonly kind: 'heading'; readonly title: string; readonly count: number }
  | { readonly kind: 'run'; readonly run: RunView };

export function RunList() {
  const { runs: store, client } = useHost();
  const byId = useSelector(store, ({ context }) => context.runs);
  const connection = useSelector(store, ({ context }) => context.connection.state);
  const [search, setSearch] = useState('');
  const projects = useLoaded('projects', () => client.listProjects({ limit: 200 }));
  const rows = useMemo(() => rowsOf(Object.values(byId), search), [byId, search]);
  const total = Object.keys(byId).length;
  const older = useOlder(rows, search !== '');

  return (
    <section className="run-list" aria-label="Runs">
      <header>
        <h1>Runs</h1>
        <vscode-textfield
          label="Search runs"
          placeholder="Search by request, branch or status"
          value={search}
          oninput={(event) => setSearch(valueOf(event))}
        />
        <Link className="primary" to={{ name: 'launch' }}>
          New run
        </Link>
      </header>
      {projects.value?.items
        .flatMap(({ notices = [] }) => notices)
        .map((notice) => (
          <p key={notice} className="fault" role="alert">
            {withoutTerminal(notice)}
          </p>
        ))}
      {total === 0 && (
        <p className="empty">
          {connection === 'live' || connection === 'polling'
            ? 'No runs yet. Ask for something with “New run”: agents plan it, you decide.'
            : 'Fetching the runs…'}
        </p>
      )}
      {total > 0 && rows.length === 0 && !older.isLeft && <p className="empty">No run matches “{search}”.</p>}
      {older.fault !== null && (
        <p className="fault" role="alert">
          Older runs could not be fetched: {older.fault}{' '}
          <button type="button" className="link" onClick={older.again}>
            Try again
          </button>
        </p>
      )}
      {search !== '' && older.isLeft && older.fault === null && (
        <p className="quiet searching" role="status">
          Looking through older runs, too: {total.toLocaleString()} so far…
        </p>
      )}
      <Rows rows={rows} projects={projects.value?.items ?? []} hasMore={older.isLeft} onEnd={older.wanted} />
    </section>
  );
}

/** Fetches the pages of older runs that the list goes on with, one after another while they are wanted. */
function useOlder(rows: readonly Row[], wantsAll: boolean) {
  const { runs: store, client } = useHost();
  const cursor = useSelector(store, ({ context }) => context.older);
  const isLeft = typeof cursor === 'string';
  // The end of so many rows was in sight: another page is wanted until there are more.
  const [endAt, setEndAt] = useState(0);
  const [fault, setFault] = useState<string | null>(null);
  const isWanted = isLeft && fault === null && (wantsAll || endAt === rows.length);
  const asked = useRef<string | null>(null);
  useEffect(() => {
    // Rows come and go while a page is on its way.
    if (!isWanted || asked.current === cursor) return;
    asked.current = cursor;
    listOlderRuns({ client, store }).catch((error: unknown) => {
      asked.current = null;
      setFault(messageOf(error));
    });
  }, [isWanted, cursor]);
  return { isLeft, fault, wanted: () => setEndAt(rows.length), again: () => setFault(null) };
}

interface RowsProps {
  readonly rows: readonly Row[];
  readonly projects: readonly Project[];
  /** Is there more than these rows? */
  readonly hasMore: boolean;
  /** The end of them is near. */
  readonly onEnd: () => void;
}

/** So many rows before the end, more are asked for. */
const NEAR_END = 40;

function Rows({ rows, projects, hasMore, onEnd }: RowsProps) {
  const frame = useRef<HTMLDivElement>(null);
  const names = useMemo(() => new Map(projects.map(({ id, name }) => [id, name])), [projects]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: (index) => (rows[index]?.kind === 'heading' ? HEADING_PX : ROW_PX),
    getItemKey: (index) => keyOf(rows[index]),
    overscan: 8,
  });
  const last = virtual.range?.endIndex ?? 0;
  const isNearEnd = hasMore && rows.length > 0 && last + NEAR_END >= rows.length;
  useEffect(() => {
    if (isNearEnd) onEnd();
  }, [isNearEnd, rows.length]);
  return (
    <div ref={frame} className="rows">
      <ul style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, size, key }) => {
          const row = rows[index];
          if (row === undefined) return null;
          const style = { transform: `translateY(${start}px)`, height: size };
          return row.kind === 'heading' ? (
            <li key={key} className="heading" style={style}>
              <h2>
                {row.title}{' '}
                <vscode-badge variant="counter">
                  {row.count}
                  {hasMore && row.title === FINISHED && '+'}
                </vscode-badge>
              </h2>
            </li>
          ) : (
            <li key={key} style={style}>
              <RunRow run={row.run} project={names.get(row.run.projectId) ?? null} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Drawn again when its own run goes on, whatever the others do. */
const RunRow = memo(function RunRow({ run, project }: { readonly run: RunView; readonly project: string | null }) {
  return (
    <Link className="run-row" to={{ name: 'run', runId: run.id }}>
      <StatusIcon status={run.status} />
      <span className="request">{run.originalRequest.slice(0, LINE_LENGTH) || run.workflow.name}</span>
      <span className="facts">
        {isWaiting(run) && run.gate !== null ? (
          <strong>{gateLine(run.gate)}</strong>
        ) : (
          <span>{isOver(run) ? run.status : stageTitle(run.currentStage)}</span>
        )}
        {project !== null && <span>{project}</span>}
        {run.explorationId !== undefined && <span>exploration</span>}
        <Ago at={run.gate?.openedAt ?? run.updatedAt} />
      </span>
    </Link>
  );
});

function keyOf(row: Row | undefined): string {
  if (row === undefined) return '';
  return row.kind === 'run' ? row.run.id : row.title;
}

/** Runs that match, under the headings of what they are for a person. */
export function rowsOf(runs: readonly RunView[], search: string): readonly Row[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const matches = ({ originalRequest, branch, status, id }: RunView): boolean => {
    const text = `${originalRequest} ${branch} ${status} ${id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const ordered = waitingFirst(words.length === 0 ? runs : runs.filter(matches));
  const groups = [
    ['Waiting for you', ordered.filter(isWaiting)],
    ['Active', ordered.filter((run) => !isWaiting(run) && !isOver(run))],
    [FINISHED, ordered.filter(isOver)],
  ] as const;
  return groups.flatMap(([title, members]): readonly Row[] =>
    members.length === 0
      ? []
      : [{ kind: 'heading', title, count: members.length }, ...members.map((run): Row => ({ kind: 'run', run }))],
  );
}
