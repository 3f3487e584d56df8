/**
 * The feed for where no WebSocket gets through: the same log, asked for page by page over HTTP. It moves the same cursor,
 * so that whichever of the two brings an event first delivers it, and the other drops it.
 */
import type { FeedPage, FeedPageRequest } from '../feed.ts';
import type { ForeseenConflict } from '../review/foreseen-conflicts.ts';
import { type Backoff, sleep, waitBefore } from './backoff.ts';
import { type Cursor, type FeedOptions, positionOf } from './feed-options.ts';

export interface PollingConnection {
  readonly page: (request: FeedPageRequest, signal: AbortSignal) => Promise<FeedPage>;
  /** Foreseen conflicts of all runs; asked for when an answer says that they are others. */
  readonly conflicts: (signal: AbortSignal) => Promise<readonly ForeseenConflict[]>;
  /** Wait between two requests in ms; grows by `backoff` while the server does not answer. */
  readonly intervalMs: number;
  readonly backoff: Backoff;
}

export interface Polling {
  /** The last question was answered: what is shown is as new as that. */
  readonly works: boolean;
  /** Asks at once and from then on. Said again where it asks already, the WebSocket does not work although HTTP does. */
  start(reason: string): void;
  stop(): void;
}

export interface PollingHandlers {
  /** Hears of what a callback of the caller threw; nothing is asked any more then. */
  readonly onBroken: (cause: unknown) => void;
  /** HTTP has answered for the first time since the start. */
  readonly onAnswer: () => void;
}

export function createPolling(
  options: FeedOptions,
  connection: PollingConnection,
  cursor: Cursor,
  { onBroken, onAnswer }: PollingHandlers,
): Polling {
  let reason = '';
  let works = false;
  /** All that there was at the last answer has been delivered. */
  let hasAnswered = false;
  let attempt: AbortController | null = null;
  let conflictsRevision: string | undefined;
  const runIds = options.runIds === undefined ? null : new Set(options.runIds);

  const take = (page: FeedPage, asked: FeedPageRequest): void => {
    const isNewHere = cursor.feedId !== page.feedId || cursor.position === 'end';
    // Another feed than the one asked for, which nobody has noticed meanwhile, or a past that is not there any more.
    const reset = page.reset && (asked.feedId === page.feedId || cursor.feedId !== page.feedId);
    if (reset) cursor.position = options.after === 'end' ? page.position : 0;
    else if (cursor.position === 'end') cursor.position = page.position;
    cursor.feedId = page.feedId;
    if (reset || isNewHere) {
      conflictsRevision = undefined;
      options.onStatus?.({ state: 'replaying', feedId: page.feedId, reset });
    }
    for (const event of page.events) {
      if (event.position <= positionOf(cursor)) continue;
      if (runIds === null || runIds.has(event.workflowRunId)) options.onEvent(event);
      cursor.position = event.position;
    }
  };

  /** Others than those asked for are left as they are; a failure is tried again with the next answer. */
  const takeConflicts = async ({ conflictsRevision: now }: FeedPage, signal: AbortSignal): Promise<void> => {
    if (now === undefined || now === conflictsRevision || options.onConflicts === undefined) return;
    const all = await connection.conflicts(signal).catch(() => null);
    if (all === null || signal.aborted) return;
    conflictsRevision = now;
    options.onConflicts({ conflicts: all.filter(({ runId }) => runIds === null || runIds.has(runId)) });
  };

  const follow = async (signal: AbortSignal): Promise<void> => {
    let failures = 0;
    conflictsRevision = undefined;
    while (!signal.aborted) {
      const asked: FeedPageRequest = {
        after: cursor.position,
        ...(cursor.feedId === undefined ? {} : { feedId: cursor.feedId }),
      };
      const page = await connection.page(asked, signal).catch((error: unknown) => error);
      if (signal.aborted) return;
      if (!isPage(page)) {
        failures += 1;
        const { minMs, maxMs } = connection.backoff;
        const retryInMs = waitBefore(failures, { minMs: Math.max(minMs, connection.intervalMs / 4), maxMs });
        // Before it ever worked, the WebSocket's own failure says what is wrong.
        if (works) options.onStatus?.({ state: 'offline', reason: messageOf(page), retryInMs });
        works = false;
        hasAnswered = false;
        await sleep(retryInMs, signal);
        continue;
      }
      failures = 0;
      try {
        take(page, asked);
        if (page.hasMore) continue;
        if (!hasAnswered) {
          hasAnswered = true;
          onAnswer();
        }
        await takeConflicts(page, signal);
      } catch (cause) {
        return onBroken(cause);
      }
      // A thousand clients that lost the same proxy do not ask in step.
      await sleep(connection.intervalMs * (0.75 + Math.random() / 2), signal);
    }
  };

  return {
    get works() {
      return works;
    },
    start(why) {
      reason = why;
      if (hasAnswered && !works) {
        works = true;
        options.onStatus?.({ state: 'polling', feedId: cursor.feedId ?? '', position: positionOf(cursor), reason });
      }
      if (attempt !== null) return;
      attempt = new AbortController();
      void follow(AbortSignal.any([attempt.signal, options.signal]));
    },
    stop() {
      works = false;
      hasAnswered = false;
      attempt?.abort();
      attempt = null;
    },
  };
}

function isPage(answer: unknown): answer is FeedPage {
  // The server of this API answers with nothing else; a proxy's own page is no JSON and was thrown.
  return typeof answer === 'object' && answer !== null && !(answer instanceof Error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
