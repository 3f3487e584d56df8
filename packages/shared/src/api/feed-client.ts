/** Follows the feed across lost connections, by WebSocket and else by asking: every event once, in order. */
import { FEED_PROTOCOL, type FeedMessage, type FeedSubscribe } from '../feed.ts';
import { ApiError } from './api-error.ts';
import { type Backoff, sleep, waitBefore } from './backoff.ts';
import { type Cursor, type FeedOptions, positionOf } from './feed-options.ts';
import { createPolling, type Polling, type PollingConnection } from './feed-polling.ts';

/** The part of a WebSocket that the feed uses; browsers, Node and `ws` have it. */
export interface WebSocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}
export type WebSocketConstructor = new (url: string) => WebSocketLike;

export interface FeedConnection {
  /** A fresh address with its one-time ticket. */
  readonly url: (signal: AbortSignal) => Promise<string>;
  readonly WebSocket: WebSocketConstructor;
  readonly backoff: Backoff;
  readonly polling: Omit<PollingConnection, 'backoff'>;
}

/** The server says that it is there every 30 seconds; a connection silent for longer than two of them is dead. */
const SILENCE_MS = 75_000;
const HANDSHAKE_MS = 15_000;
/** A server that is started again refuses once or twice. */
const FAILURES_BEFORE_POLLING = 2;

/**
 * Resolves when `signal` aborts.
 * @throws {ApiError} when trying again cannot help: not signed in, not allowed, another protocol
 */
export async function followFeed(options: FeedOptions, connection: FeedConnection): Promise<void> {
  const cursor: Cursor = { feedId: options.feedId, position: options.after ?? 0 };
  const broken = new AbortController();
  const signal = AbortSignal.any([options.signal, broken.signal]);
  const polled = { ...connection.polling, backoff: connection.backoff };
  let wake = (): void => undefined;
  const polling = createPolling(options, polled, cursor, {
    onBroken: (cause) => broken.abort(cause),
    // The server may have come back a moment ago: the WebSocket is tried once more before it is given up.
    onAnswer: () => wake(),
  });
  let failures = 0;
  try {
    while (!signal.aborted) {
      // While polling works, a new attempt at the WebSocket does not change the status.
      if (!polling.works) options.onStatus?.({ state: 'connecting' });
      const end = await followOnce({ ...options, signal }, connection, cursor, polling).catch(endOfFailedTry);
      if (signal.aborted) break;
      failures = end.wasLive ? 0 : failures + 1;
      const retryInMs = waitBefore(failures, connection.backoff);
      const woken = new AbortController();
      wake = () => woken.abort();
      if (failures >= FAILURES_BEFORE_POLLING) polling.start(end.reason);
      if (!polling.works) options.onStatus?.({ state: 'offline', reason: end.reason, retryInMs });
      await sleep(retryInMs, AbortSignal.any([signal, woken.signal]));
    }
  } finally {
    polling.stop();
  }
  if (broken.signal.aborted) throw broken.signal.reason;
}

interface End {
  readonly reason: string;
  readonly wasLive: boolean;
}

function endOfFailedTry(error: unknown): End {
  if (error instanceof ApiError && error.status < 500) throw error;
  if (error instanceof HandlerFailure) throw error.cause;
  return { reason: error instanceof Error ? error.message : String(error), wasLive: false };
}

/** A callback of the caller threw: that is the caller's to see, and no reason to connect again. */
class HandlerFailure extends Error {}

/** One connection from its handshake to its end; moves `cursor` as events arrive. */
async function followOnce(
  options: FeedOptions,
  connection: FeedConnection,
  cursor: Cursor,
  polling: Polling,
): Promise<End> {
  const url = await connection.url(options.signal);
  if (options.signal.aborted) return { reason: 'stopped', wasLive: false };
  const socket = new connection.WebSocket(url);
  let wasLive = false;
  let askedFeedId: string | undefined;
  let hasSpoken = false;
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  const { promise, resolve, reject } = Promise.withResolvers<End>();
  const finish = (reason: string) => resolve({ reason, wasLive });
  const stop = () => finish('stopped');
  let lastWordAt = 0;
  const expectWord = (ms: number) => {
    lastWordAt = performance.now();
    clearTimeout(watchdog);
    watchdog = setTimeout(() => lookForWord(ms), ms);
  };
  // Hundreds of messages a second move no timer: it looks, when it is due, whether there was one.
  const lookForWord = (ms: number) => {
    const left = lastWordAt + ms - performance.now();
    if (left > 0) watchdog = setTimeout(() => lookForWord(ms), left);
    else finish(`no message from the server for ${Math.round(ms / 1000)} seconds`);
  };

  options.signal.addEventListener('abort', stop);
  expectWord(HANDSHAKE_MS);
  socket.onopen = () => {
    const { feedId, position } = cursor;
    askedFeedId = feedId;
    const subscribe: FeedSubscribe = {
      type: 'subscribe',
      protocol: FEED_PROTOCOL,
      after: position,
      ...(feedId === undefined ? {} : { feedId }),
      ...(options.runIds ? { runIds: options.runIds } : {}),
    };
    socket.send(JSON.stringify(subscribe));
  };
  socket.onmessage = ({ data }) => {
    if (hasSpoken) lastWordAt = performance.now();
    else expectWord(SILENCE_MS);
    hasSpoken = true;
    try {
      // The server of this protocol version sends nothing else.
      const message = JSON.parse(String(data)) as FeedMessage;
      if (message.type === 'error') return reject(refusal(message.code, message.detail));
      if (message.type === 'welcome') polling.stop();
      receive(message, cursor, options, { wasLive, askedFeedId });
      wasLive ||= message.type === 'caught_up';
    } catch (cause) {
      reject(new HandlerFailure('a feed callback failed', { cause }));
    }
  };
  socket.onclose = ({ code, reason }) => finish(`the connection was closed (${reason ? `${code}: ${reason}` : code})`);
  socket.onerror = () => {};

  try {
    return await promise;
  } finally {
    clearTimeout(watchdog);
    options.signal.removeEventListener('abort', stop);
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }
}

function receive(
  message: Exclude<FeedMessage, { type: 'error' }>,
  cursor: Cursor,
  options: FeedOptions,
  { wasLive, askedFeedId }: { readonly wasLive: boolean; readonly askedFeedId: string | undefined },
) {
  switch (message.type) {
    case 'welcome': {
      // Polling may have begun afresh on this feed since it was asked for with the old one's position.
      const reset = message.reset && (askedFeedId === message.feedId || cursor.feedId !== message.feedId);
      if (options.after === 'end' && (reset || cursor.position === 'end')) cursor.position = message.position;
      else if (reset) cursor.position = 0;
      cursor.feedId = message.feedId;
      options.onStatus?.({
        state: 'replaying',
        feedId: message.feedId,
        reset,
        ...(message.process === undefined ? {} : { process: message.process }),
      });
      return;
    }
    case 'event':
      if (message.event.position <= positionOf(cursor)) return;
      options.onEvent(message.event);
      cursor.position = message.event.position;
      return;
    case 'caught_up':
      cursor.position = Math.max(positionOf(cursor), message.position);
      if (!wasLive) {
        options.onStatus?.({ state: 'live', feedId: cursor.feedId ?? '', position: cursor.position });
      }
      return;
    case 'progress':
      options.onProgress?.(message.progress);
      return;
    case 'conflicts':
      options.onConflicts?.({ runId: message.runId, conflicts: message.conflicts });
      return;
    default:
      message satisfies never;
  }
}

/** Converts the message that the server sends before it closes a connection that it cannot serve. */
function refusal(code: string, detail: string): Error {
  if (code === 'unavailable') return new Error(detail);
  return new ApiError({
    type: 'urn:autonomous:problem:invalid_request',
    title: 'FeedRefused',
    status: 400,
    detail,
    code: 'invalid_request',
    feedCode: code,
  });
}
