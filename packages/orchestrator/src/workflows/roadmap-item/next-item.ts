/**
 * Chooses the item of a roadmap to work on next, and gives a reason for each item. Pure: the same answer for the same items in any order.
 */
import { mergeBlocker } from './awaiting-merge.ts';
import {
  circlesOf,
  circleText,
  compareText,
  dependenciesOf,
  type UnknownDependency,
  unknownDependencies,
  waitingCounts,
} from './item-dependencies.ts';
import { MOSCOW, type RoadmapItem, TIME_HORIZONS } from './roadmap-file.ts';

export interface JudgedItem {
  readonly id: string;
  readonly title: string;
  /** Whole sentences. */
  readonly rationale: string;
}

/** An item that ranks low, and that a higher one waits for. */
export interface PullIn extends JudgedItem {
  /** Id of the higher item. */
  readonly unblocks: string;
}

/** The reason of an item that is completed. */
export const COMPLETED = 'Completed.';

export interface NextItem {
  /** `null`: none can be started. */
  readonly selected: JudgedItem | null;
  /** Items under way, highest rank first. They come before any new one. */
  readonly inProgress: readonly JudgedItem[];
  /** Items that can be started, highest rank first. */
  readonly eligible: readonly JudgedItem[];
  /** All others, highest rank first, each with the reason why it cannot be started. */
  readonly others: readonly JudgedItem[];
  /** Circles of items that are not completed, as ids in order; the last depends on the first. */
  readonly circles: readonly (readonly string[])[];
  /** Of items that are not completed. */
  readonly unknownDependencies: readonly UnknownDependency[];
  /** Items to start first because one that ranks before the selected item waits for them. */
  readonly pullIns: readonly PullIn[];
}

/**
 * Chooses by MoSCoW priority, time horizon, health (at-risk and blocked first), number of items that wait for it, `createdAt` (older
 * first, absent last) and id. Eligible is an item that is `not-started` and whose dependencies are completed. One that is `on-hold` is
 * eligible when it has dependencies, all of them are completed and no blockers are recorded: without dependencies the file does not
 * tell why it is held, so that only a person can end it. `wont-have` is eligible only when it is named.
 * @param named id of the item that a person asks for; it is selected if it is eligible, whatever ranks before it
 */
export function chooseNextItem(items: readonly RoadmapItem[], named: string | null = null): NextItem {
  const open = items.filter(({ status }) => status !== 'completed');
  const openIds = new Set(open.map(({ id }) => id));
  const ranked = rankItems(items);
  const circles = circlesOf(open);
  const view: View = {
    byId: new Map(ranked.map((each) => [each.item.id, each])),
    unmet: unmetOf(ranked),
    circles,
    named,
  };
  const standings = new Map(ranked.map((each) => [each.item.id, standingOf(each.item, view)]));
  const having = (...kinds: readonly Standing['kind'][]) =>
    ranked.filter(({ item }) => kinds.includes(standings.get(item.id)?.kind ?? 'completed'));
  const eligible = having('eligible');
  const selected = eligible.find(({ item }) => named === null || item.id === named) ?? null;
  const ways = waysTo(
    having('waits').filter((each) => isWanted(each, selected, named)),
    view,
  );
  return {
    selected: selected && judged(selected, selectedRationale(selected, eligible, ways)),
    inProgress: having('in-progress').map((each) => judged(each, progressRationale(each.item))),
    eligible: eligible.map((each, index) => judged(each, eligibleRationale(each, eligible[index - 1]))),
    others: having('unmerged', 'waits', 'circle', 'held', 'wont-have', 'completed').map((each) =>
      judged(each, otherRationale(each.item, standings.get(each.item.id), view)),
    ),
    circles,
    unknownDependencies: unknownDependencies(items).filter(({ item }) => openIds.has(item)),
    pullIns: ways.filter(({ first }) => first !== selected).map((way) => pullInOf(way, selected)),
  };
}

// ---- rank

export interface Ranked {
  readonly item: RoadmapItem;
  /** Number of items that are not completed and wait for it. */
  readonly waiting: number;
}

/** Items by the criteria of `chooseNextItem`, highest rank first. */
export function rankItems(items: readonly RoadmapItem[]): readonly Ranked[] {
  const counts = waitingCounts(items);
  return items
    .map((item): Ranked => ({ item, waiting: counts.get(item.id) ?? 0 }))
    .toSorted((a, b) => decisive(a, b).order);
}

interface Criterion {
  readonly compare: (a: Ranked, b: Ranked) => number;
  /** The difference in words, where `a` comes before `b`. */
  readonly words: (a: Ranked, b: Ranked) => string;
}

const CRITERIA: readonly Criterion[] = [
  {
    compare: (a, b) => MOSCOW.indexOf(a.item.moscow) - MOSCOW.indexOf(b.item.moscow),
    words: (a, b) => `${a.item.moscow} before ${b.item.moscow}`,
  },
  {
    compare: (a, b) => TIME_HORIZONS.indexOf(a.item.timeHorizon) - TIME_HORIZONS.indexOf(b.item.timeHorizon),
    words: (a, b) => `${a.item.timeHorizon} before ${b.item.timeHorizon}`,
  },
  {
    compare: (a, b) => Number(isUrgent(b.item)) - Number(isUrgent(a.item)),
    words: (a, b) => `${a.item.health} before ${b.item.health}`,
  },
  {
    compare: (a, b) => b.waiting - a.waiting,
    words: (a, b) => `more items wait for it (${a.waiting}, for the other ${b.waiting})`,
  },
  {
    compare: (a, b) => compareTimes(a.item.createdAt, b.item.createdAt),
    words: (a, b) => `created earlier (${a.item.createdAt ?? ''}, the other ${b.item.createdAt ?? 'without a date'})`,
  },
  { compare: (a, b) => compareText(a.item.id, b.item.id), words: () => 'the lower id' },
];

/** The first criterion in which two items differ. */
function decisive(a: Ranked, b: Ranked): { readonly order: number; readonly words: string } {
  for (const { compare, words } of CRITERIA) {
    const order = compare(a, b);
    if (order !== 0) return { order, words: order < 0 ? words(a, b) : words(b, a) };
  }
  return { order: 0, words: '' };
}

function isUrgent({ health }: RoadmapItem): boolean {
  return health === 'at-risk' || health === 'blocked';
}

/** Absent last. Parts of a second count beyond the milliseconds of `Date`. */
function compareTimes(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  return Date.parse(one) - Date.parse(other) || compareText(fractionOf(one), fractionOf(other));
}

function fractionOf(time: string): string {
  return (/\.(\d{1,20})/.exec(time)?.[1] ?? '').padEnd(20, '0');
}

// ---- standing

type Standing =
  | { readonly kind: 'eligible' | 'in-progress' | 'completed' | 'wont-have' }
  | { readonly kind: 'unmerged'; readonly blocker: string }
  | { readonly kind: 'held'; readonly blockers: readonly string[] }
  | { readonly kind: 'waits'; readonly unmet: readonly string[] }
  | { readonly kind: 'circle'; readonly circle: readonly string[] };

interface View {
  /** Highest rank first. */
  readonly byId: ReadonlyMap<string, Ranked>;
  /** By item: ids of its dependencies that are not completed, highest rank first, then of those that are not there. */
  readonly unmet: ReadonlyMap<string, readonly string[]>;
  readonly circles: readonly (readonly string[])[];
  readonly named: string | null;
}

function standingOf(item: RoadmapItem, view: View): Standing {
  if (item.status === 'completed') return { kind: 'completed' };
  const blocker = mergeBlocker(item);
  if (blocker !== null) return { kind: 'unmerged', blocker };
  if (isUnderWay(item)) return { kind: 'in-progress' };
  if (item.moscow === 'wont-have' && item.id !== view.named) return { kind: 'wont-have' };
  const circle = view.circles.find((ids) => ids.includes(item.id));
  if (circle !== undefined) return { kind: 'circle', circle };
  const unmet = view.unmet.get(item.id) ?? [];
  if (unmet.length > 0) return { kind: 'waits', unmet };
  const blockers = item.workflowState?.blockers ?? [];
  const isHeld = item.status === 'on-hold' && (blockers.length > 0 || dependenciesOf(item).length === 0);
  return isHeld ? { kind: 'held', blockers } : { kind: 'eligible' };
}

/** An item that a person has put on hold is not under way, whatever its phase. */
function isUnderWay({ status, workflowState }: RoadmapItem): boolean {
  const phase = workflowState?.phase ?? 'not-started';
  return status === 'in-progress' || (status === 'not-started' && phase !== 'not-started' && phase !== 'completed');
}

/** @param ranked highest rank first */
function unmetOf(ranked: readonly Ranked[]): ReadonlyMap<string, readonly string[]> {
  const places = new Map(ranked.map(({ item }, place) => [item.id, item.status === 'completed' ? null : place]));
  const placeOf = (id: string): number => places.get(id) ?? ranked.length;
  return new Map(
    ranked.map(({ item }) => {
      const ids = dependenciesOf(item).filter((id) => places.get(id) !== null);
      return [item.id, ids.toSorted((a, b) => placeOf(a) - placeOf(b) || compareText(a, b))];
    }),
  );
}

// ---- items that others wait for

interface Way {
  readonly higher: Ranked;
  /** Can be started, and `higher` waits for it. */
  readonly first: Ranked;
}

/** Is it asked for before everything that can be started? */
function isWanted(each: Ranked, selected: Ranked | null, named: string | null): boolean {
  if (named !== null) return each.item.id === named;
  return selected === null || decisive(each, selected).order < 0;
}

/**
 * For each item that can be started and that others wait for, directly or by way of each other, the highest of them. `wont-have` is no
 * hindrance here: a person may name it.
 * @param highers highest rank first
 */
function waysTo(highers: readonly Ranked[], view: View): readonly Way[] {
  const seen = new Set<string>();
  const ways: Way[] = [];
  for (const higher of highers) {
    const queue = new Set([higher.item.id]);
    for (const id of queue) {
      const first = view.byId.get(id);
      if (first === undefined || seen.has(id)) continue;
      seen.add(id);
      const { kind } = standingOf(first.item, { ...view, named: id });
      if (kind === 'eligible') ways.push({ higher, first });
      if (kind === 'waits') for (const next of view.unmet.get(id) ?? []) queue.add(next);
    }
  }
  return ways;
}

function pullInOf({ higher, first }: Way, selected: Ranked | null): PullIn {
  const before = selected === null ? '' : `ranks before ${nameOf(selected.item)} and `;
  const rationale = `${fullNameOf(higher.item)} ${before}waits for ${fullNameOf(first.item)}. Pull that in to get to it.`;
  return { ...judged(first, rationale), unblocks: higher.item.id };
}

// ---- rationale

function judged({ item: { id, title } }: Ranked, rationale: string): JudgedItem {
  return { id, title, rationale };
}

function selectedRationale(selected: Ranked, eligible: readonly Ranked[], ways: readonly Way[]): string {
  const others = eligible.filter((each) => each !== selected);
  const before = others.find((each) => decisive(each, selected).order < 0);
  const [second] = others;
  const place =
    before !== undefined
      ? `It is the one that was asked for; ${nameOf(before.item)} ranks before it: ${decisive(before, selected).words}.`
      : second === undefined
        ? 'Nothing else can be started.'
        : `It comes before ${nameOf(second.item)}: ${decisive(selected, second).words}.`;
  const wanted = ways
    .filter(({ first }) => first === selected)
    .map(({ higher: { item } }) => `${nameOf(item)}, which ranks before it, waits for it.`);
  return [factsOf(selected), place, ...wanted].join(' ');
}

function eligibleRationale(each: Ranked, before: Ranked | undefined): string {
  const place = before === undefined ? [] : [`It comes after ${nameOf(before.item)}: ${decisive(before, each).words}.`];
  return [factsOf(each), ...place].join(' ');
}

function factsOf({ item, waiting }: Ranked): string {
  const facts = `${standOf(item)}; ${waiting} ${waiting === 1 ? 'item waits' : 'items wait'} for it.`;
  const held = item.status === 'on-hold' ? ['It is on hold, and its dependencies are completed.'] : [];
  return [facts, ...held, ...blockerText(item)].join(' ');
}

function progressRationale(item: RoadmapItem): string {
  const { phase, tasksTotal, tasksCompleted = 0 } = item.workflowState ?? {};
  const tasks = tasksTotal === undefined ? '' : `, ${tasksCompleted} of ${tasksTotal} tasks`;
  const at = phase === undefined ? '' : ` (${phase}${tasks})`;
  return [`In progress${at}: go on with it.`, ...blockerText(item)].join(' ');
}

function blockerText({ workflowState }: RoadmapItem): readonly string[] {
  const blockers = workflowState?.blockers ?? [];
  return blockers.length === 0 ? [] : [`Blocked by: ${blockers.map(oneLine).join('; ')}.`];
}

function otherRationale(item: RoadmapItem, standing: Standing | undefined, { byId }: View): string {
  switch (standing?.kind) {
    case 'waits': {
      const names = standing.unmet.map((id) => {
        const other = byId.get(id)?.item;
        return other === undefined
          ? `'${oneLine(id)}', which is not in the roadmap`
          : `${nameOf(other)}, which is ${mergeBlocker(other) === null ? other.status : 'done on a branch that is not merged'}`;
      });
      return `Waits for ${names.join('; ')}.`;
    }
    case 'unmerged':
      return `Done. ${standing.blocker} To do without that result, set the item back with the command: roadmap reset ${item.id}`;
    case 'circle':
      return `Depends on itself: ${circleText(standing.circle)}. Take one of these dependencies out.`;
    case 'held':
      return standing.blockers.length > 0
        ? ['On hold.', ...blockerText(item)].join(' ')
        : "On hold, and it has no dependencies that would end that. Set its status to 'not-started' to take it up.";
    case 'wont-have':
      return 'wont-have: chosen only when it is named.';
    case 'completed':
      return COMPLETED;
    default:
      throw new Error(`item '${item.id}' needs no reason`);
  }
}

/** `must-have, now, at-risk`. */
function standOf({ moscow, timeHorizon, health }: RoadmapItem): string {
  return `${moscow}, ${timeHorizon}, ${health}`;
}

/** Title and id, for sentences. */
function nameOf({ id, title }: RoadmapItem): string {
  return `'${oneLine(title)}' (${id})`;
}

function fullNameOf(item: RoadmapItem): string {
  return `'${oneLine(item.title)}' (${item.id}; ${standOf(item)})`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
