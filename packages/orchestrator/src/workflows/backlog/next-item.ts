/** Rules of a backlog's loop: the item that comes next, and what follows when an attempt at it ended. Pure. */
import { type Backlog, type BacklogItem, byUrgency } from './backlog-table.ts';

/** Attempts of one run, at most, where nothing else is set. */
export const MAX_ITERATIONS = 20;

/** State of the loop beside the backlog, whose statuses are those of the latest text. */
export interface LoopState {
  /** Attempts that the run has begun. */
  readonly iterations: number;
  /** Default 20. */
  readonly maxIterations?: number;
  /** Go on with other items when one is blocked or waits for a person. Default: stop there. */
  readonly keepGoing?: boolean;
  /** Id of the one item that is taken; absent or `null`: all of them. */
  readonly only?: string | null;
  /** Ids of items at which the run has begun an attempt. */
  readonly begun: readonly string[];
  /** Ids of items that wait for a person. */
  readonly waiting: readonly string[];
  /** Ids of items with an attempt under way, which are not begun once more. Absent: none. */
  readonly underWay?: readonly string[];
}

export type NextItem =
  | { readonly kind: 'item'; readonly item: BacklogItem }
  /** Nothing is left to be done; items that were blocked before may be. */
  | { readonly kind: 'done' }
  /** The loop ends at a blocked item. `skipped`: open items that depend on a blocked one, by priority. */
  | { readonly kind: 'blocked'; readonly item: BacklogItem; readonly skipped: readonly BacklogItem[] }
  /** There are more items, and the run may begin no more attempts. */
  | { readonly kind: 'iterations' }
  /** Nothing can be begun before a person has decided about these. */
  | { readonly kind: 'waiting'; readonly items: readonly BacklogItem[] }
  /** The one item cannot be taken. The message is a sentence that names the item and the way out. */
  | { readonly kind: 'refused'; readonly message: string };

/**
 * The item that the loop takes next. An item in progress comes before queued ones; then the priority counts, then the order of
 * the file. An item is taken when all that it depends on is done.
 */
export function nextItem(backlog: Backlog, state: LoopState): NextItem {
  const loop = loopOf(backlog, state);
  if (state.only !== undefined && state.only !== null) return onlyItem(state.only, loop);
  const blockedNow = loop.items.find((item) => item.status === 'blocked' && loop.begun.has(item.id));
  if (!loop.keepGoing) {
    if (blockedNow !== undefined) return blocked(blockedNow, loop);
    if (loop.waitingItems.length > 0) return { kind: 'waiting', items: loop.waitingItems };
  }
  const open = loop.items.filter(({ id, ...item }) => isOpen(item) && !loop.waiting.has(id) && !loop.underWay.has(id));
  const ready = open.filter((item) => isReady(item, loop));
  const next = ready.find(({ status }) => status === 'in_progress') ?? ready[0];
  if (next !== undefined) return begin(next, loop);
  if (loop.waitingItems.length > 0) return { kind: 'waiting', items: loop.waitingItems };
  const end = blockedNow ?? blockerOf(open, loop);
  return end === undefined ? { kind: 'done' } : blocked(end, loop);
}

interface Loop {
  /** By priority, then in the order of the file. */
  readonly items: readonly BacklogItem[];
  readonly byId: ReadonlyMap<string, BacklogItem>;
  readonly begun: ReadonlySet<string>;
  readonly waiting: ReadonlySet<string>;
  readonly underWay: ReadonlySet<string>;
  /** Items that are open and wait for a person. */
  readonly waitingItems: readonly BacklogItem[];
  readonly keepGoing: boolean;
  readonly mayBegin: boolean;
}

function loopOf(backlog: Backlog, state: LoopState): Loop {
  const items = byUrgency(backlog.items);
  const waiting = new Set(state.waiting);
  return {
    items,
    byId: new Map(items.map((item) => [item.id, item])),
    begun: new Set(state.begun),
    waiting,
    underWay: new Set(state.underWay),
    waitingItems: items.filter((item) => isOpen(item) && waiting.has(item.id)),
    keepGoing: state.keepGoing ?? false,
    mayBegin: state.iterations < (state.maxIterations ?? MAX_ITERATIONS),
  };
}

function onlyItem(id: string, loop: Loop): NextItem {
  const item = loop.byId.get(id);
  if (item === undefined) return { kind: 'refused', message: `Item not found: ${id}` };
  if (item.status === 'blocked') return blocked(item, loop);
  if (item.status === 'done')
    return loop.begun.has(id) ? { kind: 'done' } : { kind: 'refused', message: doneAlready(id) };
  if (loop.waiting.has(id) || loop.underWay.has(id)) return { kind: 'waiting', items: [item] };
  const missing = dependenciesOf(item, loop).filter(({ status }) => status !== 'done');
  return missing.length > 0 ? { kind: 'refused', message: notReady(id, missing) } : begin(item, loop);
}

function doneAlready(id: string): string {
  return `Item ${id} is done already. Set its status to 'queued' to take it again.`;
}

function notReady(id: string, missing: readonly BacklogItem[]): string {
  const named = missing.slice(0, 5).map((item) => `${item.id} (${item.status})`);
  return `Item ${id} depends on ${named.join(', ')}. Do that first, or take the dependency out.`;
}

function begin(item: BacklogItem, { mayBegin }: Loop): NextItem {
  return mayBegin ? { kind: 'item', item } : { kind: 'iterations' };
}

function blocked(item: BacklogItem, loop: Loop): NextItem {
  const blocks = blocksOf(loop);
  return { kind: 'blocked', item, skipped: loop.items.filter((each) => isOpen(each) && blocks.has(each.id)) };
}

/** The first blocked item that one of the open ones depends on, at any distance. */
function blockerOf(open: readonly BacklogItem[], loop: Loop): BacklogItem | undefined {
  const blocks = blocksOf(loop);
  const id = open.map((item) => blocks.get(item.id)).find((each) => each !== undefined);
  return id === undefined ? undefined : loop.byId.get(id);
}

/** Ids of blocked items and of those that depend on one, at any distance; each with the id of a blocked item that it depends on. */
function blocksOf({ items }: Loop): ReadonlyMap<string, string> {
  const dependants = new Map<string, string[]>(items.map(({ id }) => [id, []]));
  for (const { id, dependsOn } of items) for (const other of dependsOn) dependants.get(other)?.push(id);
  const blocks = new Map(items.filter(({ status }) => status === 'blocked').map(({ id }) => [id, id]));
  // A map gives entries that are added during the loop, too.
  for (const [id, by] of blocks)
    for (const dependant of dependants.get(id) ?? []) if (!blocks.has(dependant)) blocks.set(dependant, by);
  return blocks;
}

function isOpen({ status }: Pick<BacklogItem, 'status'>): boolean {
  return status === 'queued' || status === 'in_progress';
}

function isReady(item: BacklogItem, loop: Loop): boolean {
  return dependenciesOf(item, loop).every(({ status }) => status === 'done');
}

function dependenciesOf({ dependsOn }: BacklogItem, { byId }: Loop): readonly BacklogItem[] {
  return dependsOn.map((id) => byId.get(id)).filter((item) => item !== undefined);
}

// ---- after an attempt

/** An attempt at an item that ended. */
export interface Attempt {
  /** The agent's own words for the end: it asked a person, or a check of the result called for one (`escalated`). */
  readonly ended: 'done' | 'in_progress' | 'blocked' | 'asked' | 'escalated' | 'cancelled';
  /** Outcome of the checks that the engine ran on the result; `null`: it ran none. */
  readonly checks: 'green' | 'red' | null;
  /** The attempt committed changes. */
  readonly hasCommits: boolean;
}

export type AfterAttempt =
  | { readonly kind: 'done' }
  /** The same item once more. `handOver`: the next attempt gets a report of the work that this one left. */
  | { readonly kind: 'again'; readonly handOver: boolean }
  /** `why` is the reason in words, without the item. */
  | { readonly kind: 'blocked'; readonly reason: BlockReason; readonly why: string }
  | { readonly kind: 'waiting' };

export type BlockReason = 'agent' | 'unfinished' | 'no_progress' | 'cancelled';

/** Attempts that follow one with a hand-over, at most, for one item. */
export const MAX_HAND_OVERS = 2;
/** Attempts one after the other that changed nothing, at which an item is blocked. */
export const MAX_UNTOUCHED = 2;

/**
 * The step after an attempt. An item is done with green checks alone: "done" with others is work that is left in progress.
 * @param attempts at an item in this run, oldest first; the last one has just ended
 */
export function afterAttempt(attempts: readonly Attempt[]): AfterAttempt {
  const last = attempts.at(-1);
  if (last === undefined) return { kind: 'again', handOver: false };
  if (last.ended === 'asked' || last.ended === 'escalated') return { kind: 'waiting' };
  if (last.ended === 'blocked') return block('agent', 'its agent says that it cannot go on');
  if (last.ended === 'cancelled') return block('cancelled', 'its attempt was cancelled');
  if (last.ended === 'done' && last.checks === 'green') return { kind: 'done' };
  return last.hasCommits ? afterUnfinished(attempts) : afterUntouched(attempts);
}

function afterUnfinished(attempts: readonly Attempt[]): AfterAttempt {
  const count = attempts.filter((attempt) => isLeft(attempt) && attempt.hasCommits).length;
  if (count <= MAX_HAND_OVERS) return { kind: 'again', handOver: true };
  return block('unfinished', `${count} attempts left it unfinished`);
}

/** A hand-over of an earlier attempt still holds. */
function afterUntouched(attempts: readonly Attempt[]): AfterAttempt {
  const touched = attempts.findLastIndex((attempt) => !isLeft(attempt) || attempt.hasCommits);
  const count = attempts.length - 1 - touched;
  const handOver = attempts.some((attempt) => isLeft(attempt) && attempt.hasCommits);
  if (count < MAX_UNTOUCHED) return { kind: 'again', handOver };
  return block('no_progress', `${count} attempts one after the other changed nothing`);
}

/** Neither waiting for a person nor blocked: the item was left in progress, whatever the agent called it. */
function isLeft({ ended, checks }: Attempt): boolean {
  return ended === 'in_progress' || (ended === 'done' && checks !== 'green');
}

function block(reason: BlockReason, why: string): AfterAttempt {
  return { kind: 'blocked', reason, why };
}
