/** The WebSocket feed: one stream of all events, resumable by position, with progress beside it. */
import type { WorkflowEvent } from './events.ts';
import type { ForeseenConflict } from './review/foreseen-conflicts.ts';
import type { JsonObject } from './json.ts';

export const FEED_PROTOCOL = 1;

/** Report of a running activity. It has no position in the feed and is not stored as an event. */
export interface Progress {
  readonly runId: string;
  readonly activity: string;
  /**
   * `prompt` is the first line of an agent's call: what it was given. `message` is what a person said to it. `pulse` says every
   * two seconds what the activity is at; it replaces the activity's last one and is in no transcript.
   */
  readonly kind:
    | 'prompt'
    | 'message'
    | 'text'
    | 'tool_call'
    | 'tool_result'
    | 'command'
    | 'output'
    | 'usage'
    | 'note'
    | 'pulse';
  /** A line a person can read. */
  readonly text: string;
  readonly role?: string;
  readonly model?: string;
  readonly scripted?: boolean;
  readonly data?: JsonObject;
  /** Of a `pulse`: the command or step, the milliseconds since it began, and the last line that it wrote, if it wrote one. */
  readonly what?: string;
  readonly elapsedMs?: number;
  readonly lastLine?: string;
  /** Of a `pulse`: bytes and files that were written, copied or checked out so far, where they are known. */
  readonly bytes?: number;
  readonly files?: number;
  readonly at: string;
}

/** First message of a client. `after` 0 asks for everything, `end` for what is new; another `feedId` than the server's means start afresh. */
export interface FeedSubscribe {
  readonly type: 'subscribe';
  readonly protocol: number;
  readonly feedId?: string;
  readonly after: number | 'end';
  /** Absent means all runs. */
  readonly runIds?: readonly string[];
}

/** The same question over HTTP, for where no WebSocket gets through. */
export interface FeedPageRequest {
  readonly after: number | 'end';
  readonly feedId?: string | undefined;
}

export interface FeedPage {
  readonly feedId: string;
  /** Position of the log's last event when it was asked. */
  readonly position: number;
  /** `after` or `feedId` do not fit this log: the events begin at its beginning. */
  readonly reset: boolean;
  readonly events: readonly WorkflowEvent[];
  /** There are events after these. */
  readonly hasMore: boolean;
  /** Differs from that of another answer if a foreseen conflict has changed in between. Absent: the server foresees none. */
  readonly conflictsRevision?: string | undefined;
}

export type FeedMessage =
  | {
      readonly type: 'welcome';
      readonly protocol: number;
      readonly feedId: string;
      readonly position: number;
      readonly reset: boolean;
      /** Another one each time that the server is started; absent from servers that do not say it. */
      readonly process?: string;
    }
  | { readonly type: 'event'; readonly event: WorkflowEvent }
  /** All stored events up to `position` were sent; what follows is live. */
  | { readonly type: 'caught_up'; readonly position: number }
  | { readonly type: 'progress'; readonly progress: Progress }
  /**
   * All foreseen conflicts of a run from now on. After `welcome` there is one for each run that has any.
   */
  | { readonly type: 'conflicts'; readonly runId: string; readonly conflicts: readonly ForeseenConflict[] }
  | { readonly type: 'error'; readonly code: string; readonly detail: string };
