/** An item of the roadmap as a card of the board. */
import type { RoadmapBoardItem, RoadmapHealth, RoadmapRun } from '@autonomous/shared';
import { useSelector } from '@xstate/store-react';
import type { ReactNode } from 'react';
import { Icon } from '../../components/icon.tsx';
import { Link } from '../../components/link.tsx';
import { StatusIcon } from '../../components/status.tsx';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { statusLabel } from '../../labels.ts';
import {
  dependenciesOf,
  type Dependency,
  HEALTH_ICONS,
  HEALTH_TITLES,
  isMet,
  standingText,
  tasksOf,
  titleOfValue,
} from '../../roadmap-board.ts';

/** Facts of the whole board that its cards need. */
export interface BoardFacts {
  readonly projectId: string;
  readonly byId: ReadonlyMap<string, RoadmapBoardItem>;
  /** Live runs by item. */
  readonly runs: ReadonlyMap<string, RoadmapRun>;
  /** Id of the item to work on next; `null`: none. */
  readonly selected: string | null;
}

/** Dependencies and blockers that a card shows. The details have all of them. */
const MOST_SHOWN = 2;

export function RoadmapCard({ item, facts }: { readonly item: RoadmapBoardItem; readonly facts: BoardFacts }) {
  const { id, title, health, type, status } = item;
  const isNext = id === facts.selected;
  const blockers = item.workflowState?.blockers ?? [];
  return (
    <li className={isNext ? 'card is-next' : 'card'}>
      <h4>
        <Link to={{ name: 'roadmap', projectId: facts.projectId, item: id }}>{title}</Link>
      </h4>
      <p className="card-facts">
        {isNext && <NextMark />}
        {status !== 'completed' && <Health health={health} />}
        <span>{titleOfValue(type)}</span>
        <span>{standingText(item)}</span>
      </p>
      <Tasks item={item} />
      {status !== 'completed' && <Blockers blockers={blockers} most={MOST_SHOWN} />}
      {status !== 'completed' && <Dependencies dependencies={dependenciesOf(item, facts.byId)} />}
      <RunOfItem run={facts.runs.get(id)} title={title} />
    </li>
  );
}

/** Says that an item is the one to work on next. */
export function NextMark() {
  return (
    <span>
      <b className="next-mark">Next</b>
    </span>
  );
}

export function Health({ health }: { readonly health: RoadmapHealth }) {
  return (
    <span className={`health ${health}`}>
      <Icon name={HEALTH_ICONS[health]} /> {HEALTH_TITLES[health]}
    </span>
  );
}

/** Tasks done of total, as words and as a bar; nothing while the item is not decomposed. */
export function Tasks({ item }: { readonly item: RoadmapBoardItem }) {
  const tasks = tasksOf(item);
  if (tasks === null) return null;
  return (
    <div className="tasks">
      <progress aria-label={`Tasks of ${item.title}`} max={tasks.total} value={tasks.done} />
      <span>
        {tasks.done} of {tasks.total} tasks
      </span>
    </div>
  );
}

/** @param most number that is shown; the others are counted */
export function Blockers({ blockers, most }: { readonly blockers: readonly string[]; readonly most: number }) {
  const each = [...new Set(blockers)];
  if (each.length === 0) return null;
  const beyond = each.length - most;
  return (
    <ul className="blockers" aria-label="Blockers">
      {each.slice(0, most).map((blocker) => (
        <li key={blocker}>
          <Icon name="stop-circle" />
          <span>{blocker}</span>
        </li>
      ))}
      {beyond > 0 && <li className="quiet">and {beyond} more</li>}
    </ul>
  );
}

function Dependencies({ dependencies }: { readonly dependencies: readonly Dependency[] }) {
  if (dependencies.length === 0) return null;
  const beyond = dependencies.length - MOST_SHOWN;
  return (
    <ul className="depends" aria-label="Depends on">
      {dependencies.slice(0, MOST_SHOWN).map((dependency) => (
        <li key={dependency.id}>
          <DependencyName dependency={dependency} />
        </li>
      ))}
      {beyond > 0 && <li>and {beyond} more</li>}
    </ul>
  );
}

/**
 * `Needs “Search”, in progress`.
 * @param linked makes a link of the title. Default: it is text
 */
export function DependencyName({
  dependency,
  linked = (words) => words,
}: {
  readonly dependency: Dependency;
  readonly linked?: (words: string) => ReactNode;
}) {
  const { id, item } = dependency;
  const standing = item === null ? 'not in the roadmap' : item.status.replace('-', ' ');
  return (
    <>
      <Icon name={isMet(dependency) ? 'check' : 'clock'} />
      <span>
        Needs {item === null ? `“${id}”` : linked(`“${item.title}”`)}, {standing}
      </span>
    </>
  );
}

/** The live run that works on an item; nothing where there is none. */
export function RunOfItem({ run, title }: { readonly run: RoadmapRun | undefined; readonly title: string }) {
  const { runs } = useHost();
  const view = useSelector(runs, ({ context }) => (run === undefined ? undefined : context.runs[run.runId]));
  const workflow = useWorkflow(view);
  if (run === undefined) return null;
  return (
    <span className="item-run">
      <StatusIcon status={view?.status ?? run.status} />{' '}
      <Link to={{ name: 'run', runId: run.runId }}>
        {view === undefined ? titleOfValue(run.status.replaceAll('_', '-')) : statusLabel(view, workflow)}
        <span className="hidden">: the run of {title}</span>
      </Link>
    </span>
  );
}
