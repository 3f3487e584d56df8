/** All runs: who waits for a person first. Thousands of them cost what is visible. */
import type { Project, RunView, WorkflowInfo, WorkflowSummary } from '@autonomous/shared';
import {
  foreseenConflictsBrief,
  pulseOf,
  pulseText,
  sanitizeText,
  withAttempt,
  withoutTerminal,
} from '@autonomous/shared/presentation';
import { listOlderRuns, workflowOf } from '@autonomous/shared/client';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useSelector } from '@xstate/store-react';
import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { gateLine, runTitle, stageTitle, statusLabel } from '../../labels.ts';
import { messageOf } from '../../hosts/messages.ts';
import { valueOf } from '../../components/elements.ts';
import { Link } from '../../components/link.tsx';
import { useLoaded } from '../../components/loading.tsx';
import { isOver, StatusIcon } from '../../components/status.tsx';
import { Ago } from '../../components/times.tsx';
import { Icon } from '../../components/icon.tsx';
import { childrenByParent, familyOf, isTop, progressText, waitingText } from '../../run-children.ts';
import { isWaiting, waitingFirst } from '../../run-order.ts';

const ROW_PX = 64;
const HEADING_PX = 36;
const FINISHED = 'Finished';
/** More completed child runs of one parent than these are folded into one row. */
const MOST_COMPLETED = 5;
/** No line is that long; a request may be a whole page, and the browser would measure all of it. */
const LINE_LENGTH = 400;

interface ChildrenShown {
  readonly progress: string;
  readonly isOpen: boolean;
  /** How many runs below it wait for a person. */
  readonly waiting: number;
}

type Row =
  | { readonly kind: 'heading'; readonly title: string; readonly count: number }
  | {
      readonly kind: 'run';
      readonly run: RunView;
      /** How many runs it stands below in the list. */
      readonly depth: number;
      /** Its child runs; absent where it has none. */
      readonly children?: ChildrenShown;
      /** The request of its parent, where that is not listed above it. */
      readonly parent?: string;
    }
  | {
      /** The completed child runs of a parent; where it is open, they follow it. */
      readonly kind: 'fold';
      /** Its key among the parents and folds that the person has opened or closed. */
      readonly id: string;
      readonly parent: string;
      readonly count: number;
      readonly depth: number;
      readonly isOpen: boolean;
    };

export function RunList() {
  const { runs: store, workflows, client } = useHost();
  const catalog = useSelector(workflows, ({ context }) => context);
  const byId = useSelector(store, ({ context }) => context.runs);
  const connection = useSelector(store, ({ context }) => context.connection.state);
  const [search, setSearch] = useState('');
  const projects = useLoaded('projects', () => client.listProjects({ limit: 200 }));
  /** Parents and folds that the person has opened or closed. */
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const toggle = useCallback(
    (id: string, isOpen: boolean) => setToggled((before) => new Map(before).set(id, isOpen)),
    [],
  );
  const rows = useMemo(
    () => rowsOf(Object.values(byId), search, toggled, ({ workflow }) => workflowOf(catalog, workflow.name)),
    [byId, search, toggled, catalog],
  );
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
      <Rows
        rows={rows}
        projects={projects.value?.items ?? []}
        hasMore={older.isLeft}
        onEnd={older.wanted}
        onToggle={toggle}
      />
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
  readonly onToggle: (id: string, isOpen: boolean) => void;
}

/** So many rows before the end, more are asked for. */
const NEAR_END = 40;

function Rows({ rows, projects, hasMore, onEnd, onToggle }: RowsProps) {
  const frame = useRef<HTMLDivElement>(null);
  const names = useMemo(() => new Map(projects.map(({ id, name }) => [id, name])), [projects]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: (index) => (rows[index]?.kind === 'run' ? ROW_PX : HEADING_PX),
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
          if (row.kind === 'fold') {
            return (
              <li key={key} style={style} className="child" data-depth={row.depth}>
                <CompletedFold {...row} onToggle={onToggle} />
              </li>
            );
          }
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
            <li key={key} style={style} className={row.depth > 0 ? 'child' : undefined} data-depth={row.depth}>
              <RunRow
                run={row.run}
                project={row.depth > 0 ? null : (names.get(row.run.projectId) ?? null)}
                depth={row.depth}
                progress={row.children?.progress ?? null}
                waitingBelow={row.children?.waiting ?? 0}
                isOpen={row.children?.isOpen ?? false}
                parent={row.parent ?? null}
                onToggle={onToggle}
              />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

interface CompletedFoldProps extends Omit<Extract<Row, { kind: 'fold' }>, 'kind'> {
  readonly onToggle: (id: string, isOpen: boolean) => void;
}

/** Shows and hides the completed child runs of a parent. */
export function CompletedFold({ id, parent, count, depth, isOpen, onToggle }: CompletedFoldProps) {
  return (
    <div className="run-line" style={{ paddingInlineStart: `${Math.min(depth, MOST_INDENTED) * INDENT_PX}px` }}>
      <button
        type="button"
        className="fold"
        aria-expanded={isOpen}
        aria-label={`${count} completed child runs of ${parent}`}
        onClick={() => onToggle(id, !isOpen)}
      >
        <Icon name={isOpen ? 'chevron-down' : 'chevron-right'} /> {`${count} completed`}
      </button>
    </div>
  );
}

interface RunRowProps {
  readonly run: RunView;
  readonly project: string | null;
  readonly depth: number;
  /** How far its child runs came; `null` where it has none. */
  readonly progress: string | null;
  /** How many runs below it wait for a person. */
  readonly waitingBelow: number;
  /** Are its child runs shown? */
  readonly isOpen: boolean;
  readonly parent: string | null;
  readonly onToggle: (id: string, isOpen: boolean) => void;
}

/** Drawn again when its own run goes on, whatever the others do. */
export const RunRow = memo(function RunRow(props: RunRowProps) {
  const { run, project, depth, progress, waitingBelow, isOpen, parent, onToggle } = props;
  const workflow = useWorkflow(run);
  const { runs } = useHost();
  const pulse = useSelector(runs, ({ context }) => pulseOf(context.pulses[run.id]));
  const conflicts = useSelector(runs, ({ context }) => foreseenConflictsBrief(context.conflicts[run.id] ?? []));
  const title = runTitle(run, workflow).slice(0, LINE_LENGTH);
  // A child run without child runs of its own has no twistie, and stands where its text would be with one.
  const indentPx = Math.min(depth, MOST_INDENTED) * INDENT_PX + (depth > 0 && progress === null ? TWISTIE_PX : 0);
  return (
    <div className="run-line" style={{ paddingInlineStart: `${indentPx}px` }}>
      {progress !== null && (
        <button
          type="button"
          className="twistie"
          aria-expanded={isOpen}
          aria-label={`Child runs of ${title}: ${progress}`}
          onClick={() => onToggle(run.id, !isOpen)}
        >
          <Icon name={isOpen ? 'chevron-down' : 'chevron-right'} />
        </button>
      )}
      <Link className="run-row" to={{ name: 'run', runId: run.id }}>
        <StatusIcon status={run.status} withFailures={run.failures !== undefined} />
        <span className="request">
          {depth > 0 && <span className="hidden">Child run: </span>}
          {title}
        </span>
        <span className="facts">
          {isWaiting(run) && run.gate !== null ? (
            <strong>{gateLine(run.gate, workflow)}</strong>
          ) : waitingBelow > 0 ? (
            <strong className="waits-below">{waitingText(waitingBelow)}</strong>
          ) : (
            <span>{standing(run, workflow)}</span>
          )}
          {run.failures !== undefined && <span>{withoutTerminal(run.failures.join(' '))}</span>}
          {pulse !== undefined && run.status === 'running' && (
            <span className="pulse">{withoutTerminal(pulseText(pulse, { isShort: true, isTimeFirst: true }))}</span>
          )}
          {conflicts !== null && <span>{sanitizeText(conflicts)}</span>}
          {progress !== null && <span className="progress">{progress}</span>}
          {project !== null && <span className="project">{project}</span>}
          {run.explorationId !== undefined && <span>exploration</span>}
          {parent !== null && <span>child run of “{parent}”</span>}
          <Ago at={run.gate?.openedAt ?? run.updatedAt} />
        </span>
      </Link>
    </div>
  );
});

const INDENT_PX = 22;
const TWISTIE_PX = 24;
/** On a narrow screen deeper ones would have no room. */
const MOST_INDENTED = 3;

function standing(run: RunView, workflow: WorkflowSummary | undefined): string {
  if (isOver(run) || run.status === 'awaiting_children') return statusLabel(run);
  return withAttempt(run, stageTitle(run.currentStage, workflow));
}

function keyOf(row: Row | undefined): string {
  if (row === undefined) return '';
  return row.kind === 'run' ? row.run.id : row.kind === 'fold' ? row.id : row.title;
}

/**
 * Runs that match, under the headings of what they are for a person. Child runs stand below their parents; the group of a parent
 * is the most urgent one among them. More than five completed child runs of one parent are folded into a row above its other child
 * runs. While somebody searches, all that matches is shown.
 * @param toggled parents and folds that the person has opened or closed; other parents are open until all below them is over, other
 * folds are closed
 * @param workflowOf the workflow of a run; `undefined` while it is not known
 */
export function rowsOf(
  runs: readonly RunView[],
  search: string,
  toggled: ReadonlyMap<string, boolean> = new Map(),
  workflowOf: (run: RunView) => WorkflowInfo | undefined = () => undefined,
): readonly Row[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const matches = ({ originalRequest, branch, status, id }: RunView): boolean => {
    const text = `${originalRequest} ${branch} ${status} ${id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const shown = words.length === 0 ? runs : runs.filter(matches);
  const listed = new Set(shown.map(({ id }) => id));
  const known = words.length === 0 ? null : new Map(runs.map((run) => [run.id, run]));
  const children = childrenByParent(shown);
  const tops = waitingFirst(shown).filter((run) => isTop(run, (id) => listed.has(id)));
  const rowsBelow = (run: RunView, depth: number): readonly Row[] => {
    const below = children.get(run.id) ?? [];
    const parent = depth === 0 && run.parent !== undefined ? known?.get(run.parent.runId) : undefined;
    const progress = progressText(run, below, workflowOf(run));
    const waiting = familyOf(run, children).filter((each) => each !== run && isWaiting(each)).length;
    const isOpen = toggled.get(run.id) ?? (words.length > 0 || !familyOf(run, children).every(isOver));
    const row: Row = {
      kind: 'run',
      run,
      depth,
      ...(below.length === 0 || progress === null ? {} : { children: { progress, isOpen, waiting } }),
      ...(parent === undefined ? {} : { parent: runTitle(parent).slice(0, 80) }),
    };
    return isOpen ? [row, ...childRows(run, below, depth + 1)] : [row];
  };
  const childRows = (run: RunView, below: readonly RunView[], depth: number): readonly Row[] => {
    const rows = (some: readonly RunView[]) => some.flatMap((child) => rowsBelow(child, depth));
    const { completed = [], others = [] } = Object.groupBy(below, (child) =>
      child.status === 'completed' && child.failures === undefined && familyOf(child, children).every(isOver)
        ? 'completed'
        : 'others',
    );
    if (words.length > 0 || completed.length <= MOST_COMPLETED) return rows(below);
    const id = `completed below ${run.id}`;
    const isOpen = toggled.get(id) ?? false;
    const parent = runTitle(run, workflowOf(run)).slice(0, LINE_LENGTH);
    const fold: Row = { kind: 'fold', id, parent, count: completed.length, depth, isOpen };
    return [fold, ...(isOpen ? rows(completed) : []), ...rows(others)];
  };
  const urgency = (run: RunView): number =>
    Math.min(...familyOf(run, children).map((each) => (isWaiting(each) ? 0 : isOver(each) ? 2 : 1)));
  const groups = Map.groupBy(tops, urgency);
  return ['Waiting for you', 'Active', FINISHED].flatMap((title, index): readonly Row[] => {
    const members = groups.get(index) ?? [];
    if (members.length === 0) return [];
    // Each decision that waits counts; what waits for its child runs does not.
    const waiting = index === 0 ? members.flatMap((run) => familyOf(run, children)).filter(isWaiting) : members;
    return [{ kind: 'heading', title, count: waiting.length }, ...members.flatMap((run) => rowsBelow(run, 0))];
  });
}
