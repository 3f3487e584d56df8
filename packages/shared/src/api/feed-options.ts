/** Options and callbacks of a follower of the feed, for WebSocket and polling alike. */
import type { WorkflowEvent } from '../events.ts';
import type { Progress } from '../feed.ts';
import type { ForeseenConflictsChange } from '../review/foreseen-conflicts.ts';

/** How the connection is. */
export type FeedStatus =
  | { readonly state: 'connecting' }
  /**
   * `reset`: what was received before is void, all events come again from the beginning. `process`: another one each time
   * that the server is started.
   */
  | { readonly state: 'replaying'; readonly feedId: string; readonly reset: boolean; readonly process?: string }
  | { readonly state: 'live'; readonly feedId: string; readonly position: number }
  /** No WebSocket gets through, for this reason: the server is asked now and then, and there is no progress. */
  | { readonly state: 'polling'; readonly feedId: string; readonly position: number; readonly reason: string }
  | { readonly state: 'offline'; readonly reason: string; readonly retryInMs: number };

export interface FeedOptions {
  /** Position of the last event already seen; 0 when absent. `end`: only what comes from now on. */
  readonly after?: number | 'end' | undefined;
  /** Feed that `after` belongs to. */
  readonly feedId?: string | undefined;
  /** Absent means all runs. */
  readonly runIds?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  readonly onEvent: (event: WorkflowEvent) => void;
  readonly onProgress?: (progress: Progress) => void;
  /** With each status `replaying` those that were received before are void. */
  readonly onConflicts?: (change: ForeseenConflictsChange) => void;
  readonly onStatus?: (status: FeedStatus) => void;
}

/** A client's position in the feed. It must be moved when an event is delivered. */
export interface Cursor {
  feedId: string | undefined;
  position: number | 'end';
}

/** Before the server has said where its end is, everything is new. */
export function positionOf({ position }: Cursor): number {
  return position === 'end' ? 0 : position;
}
