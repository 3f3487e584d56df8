/** A roadmap as a board: lanes by MoSCoW with a column for each time horizon, and the words for what cards show. Pure. */
import {
  ROADMAP_HORIZONS,
  ROADMAP_MOSCOW,
  type RoadmapBoardItem,
  type RoadmapChoice,
  type RoadmapHealth,
  type RoadmapHorizon,
  type RoadmapMoscow,
  type RoadmapReason,
  type RoadmapRun,
  type RunView,
} from '@autonomous/shared';

export interface Lane {
  readonly moscow: RoadmapMoscow;
  /** Number of its items. */
  readonly count: number;
  /** One for each time horizon, the nearest first. */
  readonly cells: readonly { readonly horizon: RoadmapHorizon; readonly items: readonly RoadmapBoardItem[] }[];
}

/**
 * Items that are not completed: those in progress first, then those that can be started, then the others, each by rank.
 * Lanes without items are left out.
 */
export function lanesOf(items: readonly RoadmapBoardItem[], choice: RoadmapChoice): readonly Lane[] {
  const open = ordered(
    items.filter(({ status }) => status !== 'completed'),
    choice,
  );
  return ROADMAP_MOSCOW.flatMap((moscow): readonly Lane[] => {
    const own = open.filter((item) => item.moscow === moscow);
    if (own.length === 0) return [];
    const cells = ROADMAP_HORIZONS.map((horizon) => ({
      horizon,
      items: own.filter(({ timeHorizon }) => timeHorizon === horizon),
    }));
    return [{ moscow, count: own.length, cells }];
  });
}

export function completedOf(items: readonly RoadmapBoardItem[], choice: RoadmapChoice): readonly RoadmapBoardItem[] {
  return ordered(
    items.filter(({ status }) => status === 'completed'),
    choice,
  );
}

function ordered(
  items: readonly RoadmapBoardItem[],
  { inProgress, eligible, others }: RoadmapChoice,
): readonly RoadmapBoardItem[] {
  const places = new Map([...inProgress, ...eligible, ...others].map(({ id }, place) => [id, place]));
  const placeOf = ({ id }: RoadmapBoardItem): number => places.get(id) ?? places.size;
  return items.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** The reason of an item's place. That of the selected item also says what it comes before. */
export function reasonOf({ selected, inProgress, eligible, others }: RoadmapChoice, id: string): string | null {
  const all: readonly RoadmapReason[] = [
    ...(selected === null ? [] : [selected]),
    ...inProgress,
    ...eligible,
    ...others,
  ];
  return all.find((each) => each.id === id)?.rationale ?? null;
}

export interface Dependency {
  readonly id: string;
  /** `null`: the roadmap does not have it. */
  readonly item: RoadmapBoardItem | null;
}

/** Dependencies of an item: those that it waits for first. */
export function dependenciesOf(
  { dependencies }: RoadmapBoardItem,
  byId: ReadonlyMap<string, RoadmapBoardItem>,
): readonly Dependency[] {
  const all = dependencies.map((id): Dependency => ({ id, item: byId.get(id) ?? null }));
  return all.toSorted((a, b) => Number(isMet(a)) - Number(isMet(b)));
}

export function isMet({ item }: Dependency): boolean {
  return item?.status === 'completed';
}

/** Items that depend on this one and are not completed. */
export function waitingFor(id: string, items: readonly RoadmapBoardItem[]): readonly RoadmapBoardItem[] {
  return items.filter(({ dependencies, status }) => status !== 'completed' && dependencies.includes(id));
}

/** The newest live run of each item. */
export function runsByItem(runs: readonly RoadmapRun[]): ReadonlyMap<string, RoadmapRun> {
  return new Map(runs.toReversed().map((run) => [run.item, run]));
}

/**
 * Changes when the roadmap may have changed: a run has committed engine-owned files, or a run of an item begins, waits or ends.
 * @param workflow name of the workflow that works on items; `null` while it is not known
 */
export function roadmapMark(runs: readonly RunView[], projectId: string, workflow: string | null): string {
  return runs
    .filter((run) => run.projectId === projectId)
    .flatMap(({ id, ownedFiles, status, workflow: { name } }) => {
      const ofItem = name === workflow ? [status] : [];
      const commits = ownedFiles?.commit === undefined ? [] : [ownedFiles.commit];
      const marks = [...ofItem, ...commits];
      return marks.length === 0 ? [] : `${id} ${marks.join(' ')}`;
    })
    .toSorted()
    .join('\n');
}

// ---- words

export const MOSCOW_TITLES: Readonly<Record<RoadmapMoscow, string>> = {
  'must-have': 'Must have',
  'should-have': 'Should have',
  'could-have': 'Could have',
  'wont-have': 'Won’t have',
};
export const HORIZON_TITLES: Readonly<Record<RoadmapHorizon, string>> = { now: 'Now', next: 'Next', later: 'Later' };
export const HEALTH_TITLES: Readonly<Record<RoadmapHealth, string>> = {
  'on-track': 'On track',
  'at-risk': 'At risk',
  'off-track': 'Off track',
  blocked: 'Blocked',
};
/** Codicons. */
export const HEALTH_ICONS: Readonly<Record<RoadmapHealth, string>> = {
  'on-track': 'pass',
  'at-risk': 'warning',
  'off-track': 'error',
  blocked: 'circle-slash',
};

/** `not-started` as `Not started`. */
export function titleOfValue(value: string): string {
  return `${value.charAt(0).toUpperCase()}${value.slice(1).replaceAll('-', ' ')}`;
}

/** Status and phase: `In progress: implementing, attempt 2`. */
export function standingText({ status, workflowState }: RoadmapBoardItem): string {
  const { phase, attempts = 0 } = workflowState ?? {};
  const isAtWork = phase !== undefined && phase !== 'not-started' && phase !== 'completed';
  const attempt = attempts > 1 ? `, attempt ${attempts}` : '';
  return `${titleOfValue(status)}${isAtWork ? `: ${phase}${attempt}` : ''}`;
}

/** Tasks of an item; `null` while it is not decomposed. */
export function tasksOf({ workflowState }: RoadmapBoardItem): { readonly done: number; readonly total: number } | null {
  const { tasksTotal: total = 0, tasksCompleted = 0 } = workflowState ?? {};
  return total > 0 ? { done: Math.min(Math.max(tasksCompleted, 0), total), total } : null;
}

/** `12 items: 3 completed, 2 in progress, 1 on hold`. */
export function summaryOf(items: readonly RoadmapBoardItem[]): string {
  const parts = (['completed', 'in-progress', 'on-hold'] as const).flatMap((wanted) => {
    const count = items.filter(({ status }) => status === wanted).length;
    return count === 0 ? [] : [`${count} ${wanted.replace('-', ' ')}`];
  });
  const total = `${items.length} ${items.length === 1 ? 'item' : 'items'}`;
  return parts.length === 0 ? total : `${total}: ${parts.join(', ')}`;
}
