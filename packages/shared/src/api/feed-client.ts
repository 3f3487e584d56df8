/** Follows the WebSocket feed across lost connections: every event once, in order. */
import { FEED_PROTOCOL, type FeedMessage, type FeedSubscribe, type Progress } from '../feed.ts';
import type { WorkflowEvent } from '../events.ts';
import { ApiError } from './api-error.ts';

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

/** How the connection is. */
export type FeedStatus =
  | { readonly state: 'connecting' }
  /**
   * `reset`: what was received before is void, all events come again from the beginning. `process`: another one each time
   * that the server is started.
   */
  | { readonly state: 'replaying'; readonly feedId: string; readonly reset: boolean; readonly process?: string }
  | { readonly state: 'live'; readonly feedId: string; readonly position: number }
  | { readonly state: 'offline'; readonly reason: string; readonly retryInMs: number };

export interface FeedOptions {
  /** Position of the last event already seen; 0 when absent. `end`: only what comes from now on. */
  readonly after?: number | 'end' | undefined;
  /** Feed that `after` belongs to. */
  readonly feedId?: string | undefined;
  /** Absent means all runs. */
  readonly runIds?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  /** Its event `wake` ends the wait before the next try. */
  readonly wake?: EventTarget;
  readonly onEvent: (event: WorkflowEvent) => void;
  readonly onProgress?: (progress: Progress) => void;
  readonly onStatus?: (status: FeedStatus) => void;
}

export interface FeedConnection {
  /** A fresh address with its one-time ticket. */
  readonly url: (signal: AbortSignal) => Promise<string>;
  readonly WebSocket: WebSocketConstructor;
  readonly backoff: Backoff;
}

/** Waits between tries grow from `minMs` to `maxMs`. */
export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
}

/** The server says that it is there every 30 seconds; a connection silent for longer than two of them is dead. */
const SILENCE_MS = 75_000;
const HANDSHAKE_MS = 15_000;

/**
 * Resolves when `signal` aborts.
 * @throws {ApiError} when trying again cannot help: not signed in, not allowed, another protocol
 */
export async function followFeed(options: FeedOptions, connection: FeedConnection): Promise<void> {
  const cursor: Cursor = { feedId: options.feedId, position: options.after ?? 0 };
  let failures = 0;
  while (!options.signal.aborted) {
    options.onStatus?.({ state: 'connecting' });
    const end = await followOnce(options, connection, cursor).catch(endOfFailedTry);
    if (options.signal.aborted) return;
    failures = end.wasLive ? 0 : failures + 1;
    const retryInMs = waitBefore(failures, connection.backoff);
    options.onStatus?.({ state: 'offline', reason: end.reason, retryInMs });
    await waitForTry(retryInMs, options);
  }
}

/** Milliseconds before the try that follows `failures` failed ones: exponential, with jitter of one half. */
export function waitBefore(failures: number, { minMs, maxMs }: Backoff): number {
  return Math.min(maxMs, minMs * 2 ** Math.min(failures, 20)) * (0.5 + Math.random() / 2);
}

/** Resolves after `ms`, at once when `signal` aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener('abort', wake);
  });
}

async function waitForTry(ms: number, { signal, wake }: FeedOptions): Promise<void> {
  const woken = new AbortController();
  const onWake = (): void => woken.abort();
  wake?.addEventListener('wake', onWake);
  await sleep(ms, AbortSignal.any([signal, woken.signal]));
  wake?.removeEventListener('wake', onWake);
}

interface Cursor {
  feedId: string | undefined;
  position: number | 'end';
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
async function followOnce(options: FeedOptions, connection: FeedConnection, cursor: Cursor): Promise<End> {
  const url = await connection.url(options.signal);
  if (options.signal.aborted) return { reason: 'stopped', wasLive: false };
  const socket = new connection.WebSocket(url);
  let wasLive = false;
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  const { promise, resolve, reject } = Promise.withResolvers<End>();
  const finish = (reason: string) => resolve({ reason, wasLive });
  const stop = () => finish('stopped');
  const expectWord = (ms: number) => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => finish(`no word from the server for ${Math.round(ms / 1000)} seconds`), ms);
  };

  options.signal.addEventListener('abort', stop);
  expectWord(HANDSHAKE_MS);
  socket.onopen = () => {
    const { feedId, position } = cursor;
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
    expectWord(SILENCE_MS);
    try {
      // The server of this protocol version sends nothing else.
      const message = JSON.parse(String(data)) as FeedMessage;
      if (message.type === 'error') return reject(refusal(message.code, message.detail));
      receive(message, cursor, options, wasLive);
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
  wasLive: boolean,
) {
  switch (message.type) {
    case 'welcome':
      if (options.after === 'end' && (message.reset || cursor.position === 'end')) cursor.position = message.position;
      else if (message.reset) cursor.position = 0;
      cursor.feedId = message.feedId;
      options.onStatus?.({
        state: 'replaying',
        feedId: message.feedId,
        reset: message.reset,
        ...(message.process === undefined ? {} : { process: message.process }),
      });
      return;
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
    default:
      message satisfies never;
  }
}

/** Before the server has said where its end is, everything is new. */
function positionOf({ position }: Cursor): number {
  return position === 'end' ? 0 : position;
}

/** What the server says before it closes a connection that it cannot serve. */
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
