/** Facts that the machine of a backlog emits, their lines in a timeline, and the progress log that they make. */
import type { EventInfo, JsonObject, WorkflowEvent } from '@autonomous/shared';
import type { ItemStatus } from './backlog-table.ts';

export type BacklogFact =
  | { readonly type: 'BACKLOG_READ'; readonly file: string; readonly total: number; readonly done: number }
  | {
      readonly type: 'ITEM_CHANGED';
      readonly item: string;
      readonly status: ItemStatus;
      /** Attempt, counted over all items from 1. Absent: the status follows from none. */
      readonly iteration?: number;
      /** Empty where the status says all. */
      readonly reason: string;
    }
  | { readonly type: 'ITEM_WAITS'; readonly item: string; readonly reason: string }
  | { readonly type: 'BACKLOG_STOPPED'; readonly kind: 'done' | 'blocked' | 'iterations'; readonly summary: string }
  | { readonly type: 'ITEM_SKIPPED'; readonly item: string; readonly reason: string };

export const BACKLOG_EVENTS: Readonly<Record<BacklogFact['type'], EventInfo>> = {
  BACKLOG_READ: { text: 'Backlog {file}: {done} of {total} items are done' },
  ITEM_CHANGED: { text: '{item}: {status}[, attempt {iteration}][: {reason}]' },
  ITEM_WAITS: { text: '{item} waits for you: {reason}' },
  BACKLOG_STOPPED: { text: '{summary}' },
  ITEM_SKIPPED: { text: '{item} is skipped: {reason}' },
};

/** The engine stores what the machine emitted; its types have checked each payload. */
export function factOf(type: string, payload: JsonObject): BacklogFact[] {
  return Object.hasOwn(BACKLOG_EVENTS, type) ? [{ type, ...payload } as unknown as BacklogFact] : [];
}

/** Items that a run has changed, with their last status. */
export function itemsOf(
  events: readonly WorkflowEvent[],
): ReadonlyMap<string, Extract<BacklogFact, { type: 'ITEM_CHANGED' }>> {
  const facts = events.flatMap(({ type, payload }) => factOf(type, payload));
  return new Map(facts.flatMap((fact) => (fact.type === 'ITEM_CHANGED' ? [[fact.item, fact] as const] : [])));
}
